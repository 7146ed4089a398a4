"""What AKS refuses of clusters and pools, in the words that its users quote; where none are known, by code and property."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.managed_clusters import CLUSTER, GROUP, SYSTEM, ArmHarness, cluster, pool, refusal

NAMING = "Please see https://aka.ms/aks-naming-rules for more details."
VERSIONS = (
    "Please use [az aks get-versions] command to get the supported version list in this region. For more information, please "
    "check https://aka.ms/supported-version-list"
)


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmHarness]:
    """With a cluster that nobody changes."""
    found = ArmHarness(tmp_path_factory.mktemp("arm"))
    found.succeeded(found.put(CLUSTER, cluster()))
    yield found
    found.close()


def system(**changed: Any) -> dict[str, Any]:
    return cluster(agentPoolProfiles=[{**SYSTEM, **changed}])


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        # Azure/ARO-HCP pull request 629
        (cluster(agentPoolProfiles=None), "InvalidParameter", "Required parameter agentPoolProfiles is missing (null)."),
        # Azure/AKS issue 1602
        (system(mode="User"), "InvalidParameter", "Must define at least one system pool."),
        (cluster(dnsPrefix=None), "InvalidParameter", "Required parameter dnsPrefix is missing (null)."),
        (
            {**cluster(), "identity": {"type": "None"}},
            "InvalidParameter",
            "Required parameter servicePrincipalProfile is missing (null).",
        ),
        # cilium/cilium pull request 48265
        (
            cluster(disableLocalAccounts=True),
            "BadRequest",
            "Since kubernetes version 1.25, disableLocalAccounts can only be set on Azure AD integration enabled cluster.",
        ),
        # dspace-group/simphera-reference-architecture-azure issue 29
        (
            cluster(kubernetesVersion="1.31"),
            "AgentPoolK8sVersionNotSupported",
            f"Version 1.31 is not supported in this region. {VERSIONS}",
        ),
        # Azure/azure-cli pull request 22442
        (system(count=0), "InvalidParameter", f"The value of parameter agentPoolProfile.count is invalid. {NAMING}"),
        # kubernetes-sigs/cluster-api-provider-azure issue 3968
        (system(name="with-hyphen"), "InvalidParameter", f"The value of parameter agentPoolProfile.name is invalid. {NAMING}"),
        (system(scaleSetPriority="Spot"), "InvalidParameter", "A Spot pool can't be the cluster's system pool"),
        (cluster(kubernetesVersion="v1.35"), "InvalidParameter", "'v1.35' isn't a version"),
        (cluster(aadProfile={"managed": False}), "InvalidParameter", "aadProfile.managed"),
        (cluster(aadProfile={"managed": True, "serverAppID": "a"}), "BadRequest", "AAD-legacy"),
        (cluster(apiServerAccessProfile={"authorizedIPRanges": ["203.0.113.0/33"]}), "InvalidParameter", "'203.0.113.0/33'"),
        (cluster(supportPlan="AKSLongTermSupport"), "InvalidParameter", "the premium tier"),
        (
            cluster(identityProfile={"other": {"resourceId": "x"}}),
            "InvalidParameter",
            "the only key is kubeletidentity".capitalize(),
        ),
        (cluster(agentPoolProfiles=[SYSTEM, SYSTEM]), "InvalidParameter", "Two pools have the same name"),
        (cluster(nodeProvisioningProfile={"mode": "Auto"}), "NotImplemented", "node auto provisioning"),
    ],
    ids=lambda each: each if isinstance(each, str) and " " not in each else "",
)
def test_a_new_cluster_is_refused(arm: ArmHarness, body: dict[str, Any], code: str, message: str) -> None:
    status, found, said = refusal(arm.put(CLUSTER.replace("/gpu", "/refused"), body))
    assert found == code
    assert message in said
    assert status == (501 if code == "NotImplemented" else 400)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"dnsPrefix": "other"}, "dnsPrefix"),
        ({"nodeResourceGroup": "other"}, "nodeResourceGroup"),
        ({"enableRBAC": False}, "enableRBAC"),
        ({"networkProfile": {"podCidr": "10.9.0.0/16"}}, "networkProfile.podCidr"),
        ({"networkProfile": {"networkPlugin": "kubenet"}}, "networkProfile.networkPlugin"),
        ({"apiServerAccessProfile": {"enablePrivateCluster": True}}, "apiServerAccessProfile.enablePrivateCluster"),
    ],
)
def test_what_a_cluster_keeps_for_good(arm: ArmHarness, changed: dict[str, Any], what: str) -> None:
    """The form of kubernetes/autoscaler issue 1051."""
    found = refusal(arm.put(CLUSTER, cluster(**changed)))
    assert found == (400, "PropertyChangeNotAllowed", f"Changing property '{what}' is not allowed.")


@pytest.mark.parametrize(
    ("name", "body", "code", "message"),
    [
        ("thirteenchars", pool(), "InvalidParameter", f"The value of parameter agentPoolProfile.name is invalid. {NAMING}"),
        ("UPPER", pool(), "InvalidParameter", f"The value of parameter agentPoolProfile.name is invalid. {NAMING}"),
        # Azure/bicep issue 14517
        (
            "spot",
            pool(scaleSetPriority="Spot", upgradeSettings={"maxSurge": "33%"}),
            "InvalidParameter",
            "The value of parameter agentPoolProfile.upgrade.maxSurge is invalid. Error details: Spot pools can't set max surge. "
            + NAMING,
        ),
        # pulumi/pulumi-azure-native issue 2943
        (
            "auto",
            {"properties": {"vmSize": "Standard_NC4as_T4_v3", "enableAutoScaling": True, "minCount": 0, "maxCount": 1}},
            "InvalidParameter",
            "Required parameter properties.count is missing (null).",
        ),
        # kubernetes-sigs/cluster-api-provider-azure issue 5947
        (
            "auto",
            pool(count=0, enableAutoScaling=True, minCount=1, maxCount=1000),
            "InvalidParameter",
            "agentPoolProfile.count was 0. It must be greater or equal to minCount:1 and less than or equal to maxCount:1000.",
        ),
        # rancher/rancher issue 33426
        (
            "newer",
            pool(orchestratorVersion="1.36"),
            "NodePoolMcVersionIncompatible",
            "Node pool version 1.36.0 and control plane version 1.35.0 are incompatible. Minor version of node pool version 36 "
            "is bigger than control plane version 35. For more information, please check https://aka.ms/version-skew-policy",
        ),
        ("spot", pool(scaleSetPriority="Spot", spotMaxPrice=0.123456), "InvalidParameter", "agentPoolProfile.spotMaxPrice"),
        ("mig", pool(gpuInstanceProfile="MIG1g"), "InvalidParameter", "AKS can't partition a T4"),
        (
            "v100",
            pool(vmSize="Standard_NC6s_v3"),
            "BadRequest",
            "The VM size of Standard_NC6s_v3 is not allowed in your subscription",
        ),
        ("none", pool(vmSize="Nonsense"), "BadRequest", "The VM size of Nonsense is not allowed"),
        ("amd", pool(vmSize="Standard_ND96isr_MI300X_v5"), "InvalidParameter", "agentPoolProfile.gpuProfile.driver"),
        ("taint", pool(nodeTaints=["sku=gpu"]), "InvalidParameter", "agentPoolProfile.nodeTaints"),
        ("many", pool(count=1001), "InvalidParameter", "agentPoolProfile.count"),
        ("tag", pool(tags={"SkipGPUDriverInstall": "true"}), "InvalidParameter", "agentPoolProfile.tags"),
        ("win", pool(osType="Windows", vmSize="Standard_D4s_v5"), "NotImplemented", "Windows nodes"),
        ("vms", pool(type="VirtualMachines"), "NotImplemented", "VirtualMachines"),
    ],
    ids=lambda each: each if isinstance(each, str) and " " not in each else "",
)
def test_a_new_pool_is_refused(arm: ArmHarness, name: str, body: dict[str, Any], code: str, message: str) -> None:
    status, found, said = refusal(arm.put(f"{CLUSTER}/agentPools/{name}", body))
    assert found == code
    assert message in said
    assert status == (501 if code == "NotImplemented" else 400)
    assert arm.get(f"{CLUSTER}/agentPools/{name}").status_code == 404


@pytest.mark.parametrize(
    ("name", "window", "code", "message"),
    [
        # Azure/ARO-HCP pull request 3260
        (
            "weekly",
            {},
            "InvalidParameter",
            "Only 'default', 'aksManagedAutoUpgradeSchedule' and 'aksManagedNodeOSUpgradeSchedule' are allowed configNames for "
            "maintenance configuration.",
        ),
        # Azure/AgentBaker pull request 6529
        (
            "default",
            {"schedule": {"daily": {"intervalDays": 1}}},
            "InvalidParameter",
            "Only weekly schedule is supported for control plane upgrade maintenance configuration: default.",
        ),
        ("aksManagedNodeOSUpgradeSchedule", {"durationHours": 3}, "InvalidParameter", "maintenanceWindow.durationHours"),
        ("aksManagedNodeOSUpgradeSchedule", {"schedule": {}}, "InvalidParameter", "exactly one of"),
    ],
)
def test_a_time_for_maintenance_is_refused(arm: ArmHarness, name: str, window: dict[str, Any], code: str, message: str) -> None:
    weekly = {"schedule": {"weekly": {"intervalWeeks": 1, "dayOfWeek": "Sunday"}}, "durationHours": 4, "startTime": "02:00"}
    found = refusal(
        arm.put(f"{CLUSTER}/maintenanceConfigurations/{name}", {"properties": {"maintenanceWindow": {**weekly, **window}}})
    )
    assert found[:2] == (400, code)
    assert message in found[2]


def test_a_time_for_maintenance_is_kept_as_it_was_given(arm: ArmHarness) -> None:
    schedule = {"weekly": {"intervalWeeks": 1, "dayOfWeek": "Sunday"}}
    window = {"schedule": schedule, "durationHours": 4, "startTime": "02:00"}
    # Names in any letter case, the day of the request, and the deletion's 200: Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24)
    path = f"{CLUSTER}/maintenanceConfigurations/aksmanagednodeosupgradeschedule"
    assert arm.put(path, {"properties": {"maintenanceWindow": window}}).status_code == 200
    found = arm.get(path).json()
    assert found["properties"] == {"maintenanceWindow": {"utcOffset": "+00:00", "startDate": "2026-11-21", **window}}
    assert [each["name"] for each in arm.get(f"{CLUSTER}/maintenanceConfigurations").json()["value"]] == [found["name"]]


def test_an_identity_takes_one_credential_for_each_issuer_and_subject(arm: ArmHarness) -> None:
    version = "2023-01-31"
    identity = f"{GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/train"
    assert arm.put(identity, {"location": "westeurope"}, version).status_code == 201
    given = {
        "issuer": "https://localhost:1/oidc/",
        "subject": "system:serviceaccount:a:b",
        "audiences": ["api://AzureADTokenExchange"],
    }

    def put(name: str, **changed: Any) -> Any:
        return arm.put(f"{identity}/federatedIdentityCredentials/{name}", {"properties": {**given, **changed}}, version)

    assert put("first").status_code == 201
    assert put("first").status_code == 200
    assert arm.get(f"{identity}/federatedIdentityCredentials/first", version).json()["properties"] == given
    assert refusal(put("second"))[0] == 409
    assert refusal(put("second", subject="system:serviceaccount:a:c", audiences=["a", "b"]))[0] == 400
    assert refusal(put("second", issuer="http://localhost:1/oidc/"))[0] == 400
    assert put("second", subject="system:serviceaccount:a:c").status_code == 201


def test_what_is_not_imitated_is_refused_by_name(arm: ArmHarness) -> None:
    for action in ("rotateClusterCertificates", "resetAADProfile", "runCommand", "agentPools/system/abort"):
        assert refusal(arm.post(f"{CLUSTER}/{action}"))[:2] == (501, "NotImplemented")
