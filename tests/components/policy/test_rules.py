"""What each policy finds in resources of programs that don't use the components, and what it leaves alone."""

from typing import Any

import pytest

from azure_gpu_policies.known import UNKNOWN
from azure_gpu_policies.machines import machines_of
from azure_gpu_policies.page import CONFIGURED
from azure_gpu_policies.policies import ALL
from azure_gpu_policies.resources import Resource, renamed
from tests.components.policy.resources import (
    ENDS,
    agent_pool,
    batch_pool,
    cluster,
    deployment,
    environment,
    group,
    judged,
    ml_compute,
    paths,
    pod,
    resource,
    scaled,
    vm,
)
from tests.support.rows import each_row

GPU = "nvidia.com/gpu"
GPU_GROUP = {
    "name": "c",
    "image": "x.io/a:1",
    "resources": {"requests": {"cpu": 1, "memoryInGB": 4, "gpu": {"count": 1, "sku": "V100"}}},
}
PENDING = "$TargetDedicatedNodes = min(2, $PendingTasks.GetSample(1));"
IMAGE = {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2012-Datacenter"}


def storage(**said: Any) -> Resource:
    return resource("azure-native:storage:StorageAccount", said)


def registry(**said: Any) -> Resource:
    return resource("azure-native:containerregistry:Registry", said)


def batch_account(**said: Any) -> Resource:
    return resource("azure-native:batch:BatchAccount", said)


def endpoint(**said: Any) -> Resource:
    return resource("azure-native:machinelearningservices:OnlineEndpoint", {"properties": said}, "digits")


def app(**ingress: Any) -> Resource:
    return resource("azure-native:app:ContainerApp", {"configuration": {"ingress": {"external": True, **ingress}}})


def allow(*ranges: str, action: str = "Allow") -> dict[str, Any]:
    return {"ipSecurityRestrictions": [{"action": action, "ipAddressRange": each} for each in ranges]}


def job(*env: dict[str, Any]) -> Resource:
    template = {"containers": [{"name": "c", "env": list(env)}]}
    return resource("azure-native:app:Job", {"template": template, "workloadProfileName": "gpu"}, "tonight")


def in_machine(**said: Any) -> dict[str, Any]:
    return {"deploymentConfiguration": {"virtualMachineConfiguration": said}}


NODES: dict[str, Any] = {"podCidr": "10.244.0.0/16", "networkPlugin": "azure"}
NO_KEYS: dict[str, Any] = {"disableLocalAccounts": True}

FOUND: list[tuple[str, Resource, list[str]]] = [
    ("gpu-retired", vm("standard_nc6"), ["hardwareProfile.vmSize"]),
    ("gpu-retired", batch_pool("Standard_NC6"), ["vmSize"]),
    ("gpu-retired", batch_pool(targetNodeCommunicationMode="Classic"), ["targetNodeCommunicationMode"]),
    (
        "gpu-retired",
        batch_pool(**in_machine(nodeAgentSkuId="batch.node.ubuntu 18.04")),
        ["deploymentConfiguration.virtualMachineConfiguration.nodeAgentSkuId"],
    ),
    (
        "gpu-retired",
        batch_pool(**in_machine(imageReference=IMAGE)),
        ["deploymentConfiguration.virtualMachineConfiguration.imageReference"],
    ),
    (
        "gpu-retired",
        batch_pool(deploymentConfiguration={"cloudServiceConfiguration": {"osFamily": "5"}}),
        ["deploymentConfiguration.cloudServiceConfiguration"],
    ),
    ("gpu-retired", agent_pool("Standard_NC6s_v2"), ["vmSize"]),
    ("gpu-retired", agent_pool(osSKU="CBLMariner"), ["osSKU"]),
    ("gpu-retired", cluster(agentPoolProfiles=[{"vmSize": "Standard_NV6"}]), ["agentPoolProfiles[0].vmSize"]),
    ("gpu-retired", cluster(kubernetesVersion="1.29.4"), ["kubernetesVersion"]),
    ("gpu-retired", ml_compute(vmSize="Standard_NC6"), ["properties.properties.vmSize"]),
    ("gpu-retired", deployment(instanceType="Standard_NC6s_v2"), ["properties.instanceType"]),
    ("gpu-retired", group(GPU_GROUP, osType="Linux"), ["containers[0].resources.requests.gpu.sku"]),
    (
        "gpu-retired",
        resource("azure-native:machinelearningservices:Compute", {"properties": {"computeType": "AKS"}}),
        ["properties.computeType"],
    ),
    ("gpu-not-offered", vm("Standard_NC4sa_T4_v3"), ["hardwareProfile.vmSize"]),  # a slip of a known name
    ("gpu-not-offered", agent_pool("Standard_NG32ads_V620_v1"), ["vmSize", "vmSize"]),  # Windows, and of AMD
    ("public-address", group(ipAddress={"type": "Public"}), ["ipAddress.type"]),
    (
        "public-address",
        ml_compute(remoteLoginPortPublicAccess="Enabled"),
        ["properties.properties.remoteLoginPortPublicAccess"],
    ),
    ("public-address", ml_compute(), ["properties.properties.remoteLoginPortPublicAccess"]),
    (
        "public-address",
        ml_compute(remoteLoginPortPublicAccess="NotSpecified"),
        ["properties.properties.remoteLoginPortPublicAccess"],
    ),
    ("public-address", app(), ["configuration.ingress.external"]),
    ("public-address", app(ipSecurityRestrictions=[]), ["configuration.ingress.external"]),
    ("public-address", app(**allow("203.0.113.0/24", "0.0.0.0/0")), ["configuration.ingress.external"]),
    ("public-address", app(**allow("203.0.113.0/24", action="Deny")), ["configuration.ingress.external"]),
    ("anonymous-read", storage(allowBlobPublicAccess=True), ["allowBlobPublicAccess"]),
    ("anonymous-read", resource("azure-native:storage:BlobContainer", {"publicAccess": "Blob"}), ["publicAccess"]),
    ("anonymous-read", registry(anonymousPullEnabled=True), ["anonymousPullEnabled"]),
    ("public-endpoint", endpoint(authMode="Key"), ["properties.publicNetworkAccess"]),
    ("public-endpoint", storage(), ["publicNetworkAccess"]),
    ("public-endpoint", registry(adminUserEnabled=True), ["publicNetworkAccess"]),
    ("public-endpoint", batch_account(), ["publicNetworkAccess"]),
    ("public-kubernetes-api", cluster(), ["apiServerAccessProfile.authorizedIPRanges"]),
    (
        "public-kubernetes-api",
        cluster(**NO_KEYS, apiServerAccessProfile={"authorizedIPRanges": ["203.0.113.0/24", "0.0.0.0/0"]}),
        ["apiServerAccessProfile.authorizedIPRanges[1]"],
    ),
    ("registry-admin-user", registry(adminUserEnabled=True), ["adminUserEnabled"]),
    ("storage-shared-key", storage(), ["allowSharedKeyAccess"]),
    ("storage-shared-key", storage(allowSharedKeyAccess=True), ["allowSharedKeyAccess"]),
    ("ml-endpoint-keys", endpoint(authMode="key"), ["properties.authMode"]),
    ("aks-local-accounts", cluster(), ["disableLocalAccounts"]),
    ("batch-shared-key", batch_account(), ["allowedAuthenticationModes"]),
    ("batch-shared-key", batch_account(allowedAuthenticationModes=["AAD", "SharedKey"]), ["allowedAuthenticationModes"]),
    ("passwords", group(imageRegistryCredentials=[{"password": "p"}]), ["imageRegistryCredentials[0].password"]),
    (
        "passwords",
        resource("azure-native:app:Job", {"configuration": {"registries": [{"server": "x.io", "passwordSecretRef": "p"}]}}),
        ["configuration.registries[0].passwordSecretRef"],
    ),
    (
        "passwords",
        vm("Standard_D2s_v5", osProfile={"adminPassword": "p", "linuxConfiguration": {"disablePasswordAuthentication": False}}),
        ["osProfile.linuxConfiguration.disablePasswordAuthentication"],
    ),
    (
        "plain-text-secret",
        group({"environmentVariables": [{"name": "A", "value": "1"}, {"name": "DB_PASSWORD", "value": "p"}]}),
        ["containers[0].environmentVariables[1].value"],
    ),
    (
        "plain-text-secret",
        group({"environmentVariables": [{"name": "URL", "value": "https://me:secret@host/db"}]}),
        ["containers[0].environmentVariables[0].value"],
    ),
    ("plain-text-secret", job({"name": "HF_TOKEN", "value": "hf_x"}), ["template.containers[0].env[0].value"]),
    (
        "plain-text-secret",
        deployment(environmentVariables={"API_KEY": "k", "MODEL": "m"}),
        ["properties.environmentVariables.API_KEY"],
    ),
    (
        "plain-text-secret",
        batch_pool(startTask={"environmentSettings": [{"name": "STORAGE_KEY", "value": "k"}]}),
        ["startTask.environmentSettings[0].value"],
    ),
    (
        "plain-text-secret",
        pod({"initContainers": [{"env": [{"name": "ApiToken", "value": "t"}]}]}),
        ["spec.initContainers[0].env[0].value"],
    ),
    ("gpu-scale-to-zero", agent_pool(count=2), ["count"]),
    ("gpu-scale-to-zero", agent_pool(enableAutoScaling=True, minCount=1, maxCount=4), ["minCount"]),
    ("gpu-scale-to-zero", ml_compute(scaleSettings={"minNodeCount": 1, "maxNodeCount": 2}), [
        "properties.properties.scaleSettings.minNodeCount"
    ]),
    ("gpu-scale-to-zero", batch_pool(scaleSettings={"fixedScale": {"targetDedicatedNodes": 1}}), ["scaleSettings.fixedScale"]),
    ("gpu-scale-to-zero", batch_pool(**scaled("$TargetDedicatedNodes = 1;")), ["scaleSettings.autoScale.formula"]),
    ("gpu-scale-maximum", batch_pool(**scaled("$TargetDedicatedNodes = $PendingTasks.GetSample(1);")), [
        "scaleSettings.autoScale.formula"
    ]),
    ("gpu-scale-maximum", ml_compute(scaleSettings={}), ["properties.properties.scaleSettings.maxNodeCount"]),
    ("gpu-scale-maximum", agent_pool(enableAutoScaling=True, minCount=0, maxCount=100), ["maxCount"]),
    ("kubernetes-privileged", pod({"hostPID": True, "containers": [{"securityContext": {"privileged": True}}]}), [
        "spec.hostPID",
        "spec.containers[0].securityContext.privileged",
    ]),
    ("kubernetes-host-path", pod({"volumes": [{}, {"hostPath": {"path": "/etc"}}]}), ["spec.volumes[1].hostPath.path"]),
    ("kubernetes-gpu-limits", pod({"containers": [{"resources": {"requests": {GPU: 1}}}]}), [
        f"spec.containers[0].resources.limits.{GPU}"
    ]),
    (
        "kubernetes-gpu-limits",
        pod({"containers": [{"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}]}),
        ["spec.containers[0].env[0].value"],
    ),
]  # fmt: skip


@each_row(("policy", "declared", "where"), FOUND, ids=lambda each: getattr(each, "kind", None))
def test_a_fault_is_found_where_it_is_written_and_told_with_its_fix(policy: str, declared: Resource, where: list[str]) -> None:
    problems = judged(policy, declared)
    assert [each.path for each in problems] == [declared.path(each) for each in where]
    assert all(each.fix for each in problems)


CLEAN: list[tuple[str, Resource]] = [
    ("gpu-retired", vm("Standard_NC4as_T4_v3")),
    ("gpu-retired", vm("Standard_NC6s_v3", location="usgovvirginia")),  # it ends there a year later
    ("gpu-retired", vm("Standard_NC6s_v3")),  # and where this one is isn't known
    ("gpu-retired", vm("Standard_NC4as_T4_v9")),  # newer than the catalog
    ("gpu-retired", vm("Standard_NC6", tags={"as-of": "2019-06-01"})),
    ("gpu-retired", cluster(kubernetesVersion="1.35", networkProfile=NODES)),
    ("gpu-retired", cluster(kubernetesVersion="1.33", supportPlan="AKSLongTermSupport")),
    ("gpu-retired", group({"name": "c", "resources": {"requests": {"cpu": 1, "memoryInGB": 1.5}}})),
    ("gpu-not-offered", agent_pool()),
    ("gpu-not-offered", vm("Standard_D4s_v5")),
    ("public-address", group(ipAddress={"type": "Private"})),
    ("public-address", group()),
    ("public-address", app(**allow("203.0.113.0/24"))),
    ("public-address", app(**allow("0.0.0.0/0", action="Deny"))),
    ("public-address", app(ipSecurityRestrictions=[UNKNOWN])),
    ("public-address", app(clientCertificateMode="require")),
    ("public-address", app(clientCertificateMode=UNKNOWN)),
    ("public-address", ml_compute(remoteLoginPortPublicAccess="Disabled")),
    ("public-address", ml_compute(subnet={"id": UNKNOWN})),
    ("public-address", ml_compute(enableNodePublicIp=False)),
    ("public-address", ml_compute(remoteLoginPortPublicAccess=UNKNOWN)),
    ("anonymous-read", storage(allowBlobPublicAccess=False)),
    ("public-endpoint", endpoint(authMode="AADToken")),
    ("public-endpoint", endpoint(authMode="Key", publicNetworkAccess="Disabled")),
    ("public-endpoint", storage(allowSharedKeyAccess=False)),
    ("public-endpoint", storage(networkRuleSet={"defaultAction": "Deny"})),
    ("public-endpoint", storage(publicNetworkAccess="disabled")),
    ("public-endpoint", registry()),
    ("public-endpoint", batch_account(networkProfile={"accountAccess": {"defaultAction": "Deny"}})),
    ("public-kubernetes-api", cluster(**NO_KEYS)),
    ("public-kubernetes-api", cluster(apiServerAccessProfile={"enablePrivateCluster": True})),
    ("public-kubernetes-api", cluster(apiServerAccessProfile={"authorizedIPRanges": ["203.0.113.0/24"]})),
    ("aks-local-accounts", cluster(**NO_KEYS)),
    ("batch-shared-key", batch_account(allowedAuthenticationModes=["AAD"])),
    ("batch-shared-key", batch_account(poolAllocationMode="UserSubscription")),
    ("batch-shared-key", batch_account(poolAllocationMode=UNKNOWN)),
    ("public-kubernetes-api", cluster(**NO_KEYS, apiServerAccessProfile={"authorizedIPRanges": "203.0.113.0/24"})),
    ("passwords", group(imageRegistryCredentials=[{"server": "x.io", "identity": "/id"}])),
    ("plain-text-secret", group({"environmentVariables": [{"name": "DB_PASSWORD", "secureValue": "p"}]})),
    ("plain-text-secret", job({"name": "HF_TOKEN", "secretRef": "hf"})),
    ("plain-text-secret", deployment(environmentVariables={"API_KEY": "${{keyvault:https://x/secrets/y}}"})),
    ("plain-text-secret", deployment(environmentVariables={"API_KEY": ""})),
    ("plain-text-secret", deployment(environmentVariables={"API_KEY": UNKNOWN})),  # it may name a vault that isn't there yet
    ("plain-text-secret", pod({"containers": [{"env": [{"name": "PASSWORD_FILE", "value": "/run/secrets/db"}]}]})),
    ("gpu-scale-to-zero", agent_pool(enableAutoScaling=True, minCount=0, maxCount=4)),
    ("gpu-scale-to-zero", agent_pool("Standard_D4s_v5", count=3)),
    ("gpu-scale-to-zero", cluster(agentPoolProfiles=[{"mode": "System", "vmSize": "Standard_NC4as_T4_v3", "count": 1}])),
    ("gpu-scale-to-zero", batch_pool(**scaled(PENDING))),
    ("gpu-scale-to-zero", batch_pool(scaleSettings={"fixedScale": {"targetDedicatedNodes": "two"}})),
    ("gpu-scale-to-zero", deployment()),
    ("gpu-scale-maximum", batch_pool(**scaled(PENDING))),
    ("kubernetes-privileged", pod({"hostPID": True}, "gpu-resources")),
    ("kubernetes-host-path", pod({"volumes": [{"hostPath": {"path": "/run/nvidia/mps/pipe"}}]})),
    ("kubernetes-gpu-limits", pod({"containers": [{"resources": {"limits": {GPU: "1"}, "requests": {GPU: 1}}}]})),
    ("kubernetes-gpu-limits", pod({"containers": [{"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]}]})),
]


@each_row(("policy", "declared"), CLEAN, ids=lambda each: getattr(each, "kind", None))
def test_what_is_as_it_should_be_is_left_alone(policy: str, declared: Resource) -> None:
    assert judged(policy, declared) == []


def _opened(value: Any) -> Any:
    """Every value an output that a preview can't tell; lists and objects stay."""
    if isinstance(value, dict):
        return {key: _opened(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_opened(each) for each in value]
    return UNKNOWN


OPEN = [
    (policy, declared)
    for policy, declared, _ in FOUND
    if declared.properties.keys() - {"properties"} or "properties" in declared.properties
]


# Whatever its value is, that it is there is the fault.
THERE = ("cloudServiceConfiguration", "password", "startTask", "value")


@each_row("declared", [each for _, each, _ in FOUND], ids=lambda each: each.kind)
def test_nothing_is_said_of_values_that_only_the_update_knows(declared: Resource) -> None:
    written = {key: UNKNOWN for key in ("allowSharedKeyAccess", "disableLocalAccounts", "allowedAuthenticationModes")}
    access: dict[str, Any] = {"publicNetworkAccess": UNKNOWN, "apiServerAccessProfile": UNKNOWN, "tags": UNKNOWN}
    opened = {**written, **access, **_opened(declared.properties)}
    if "scaleSettings" in str(declared.properties) and opened.get("properties"):
        opened["properties"]["properties"]["scaleSettings"] = UNKNOWN
    if declared.type.endswith(":OnlineEndpoint"):
        opened["properties"]["publicNetworkAccess"] = UNKNOWN
    told = [path for policy in ALL for path in paths(policy.name, declared._replace(properties=opened))]
    assert [path for path in told if not path.endswith(THERE)] == []


def test_keys_are_no_fault_of_a_private_endpoint_and_a_public_one_is_a_fault_where_identities_are_not_enough() -> None:
    for declared in (
        endpoint(authMode="AADToken", publicNetworkAccess="Enabled"),
        storage(allowSharedKeyAccess=False),
        registry(),
        batch_account(allowedAuthenticationModes=["AAD"]),
        resource("azure-native:machinelearningservices:Workspace", {"publicNetworkAccess": "Enabled"}),
    ):
        assert judged("public-endpoint", declared) == []
        assert len(judged("public-endpoint", declared, identity_is_enough=False)) == 1
    assert len(judged("public-kubernetes-api", cluster(**NO_KEYS), identity_is_enough=False)) == 1


def test_an_end_is_told_as_early_as_the_setting_asks() -> None:
    nvv3 = vm("Standard_NV12s_v3", location="uaenorth")  # until 2027-01-31
    [near] = judged("gpu-retiring", nvv3)
    assert "2027-01-31" in near.message
    assert judged("gpu-retiring", nvv3, days=30) == []
    nvv4 = vm("Standard_NV4as_v4", as_of="")
    assert judged("gpu-retiring", nvv4, as_of="2025-01-01") == []
    [far] = judged("gpu-retiring", nvv4, as_of="2025-01-01", days=3000)
    assert far.code.value == "RETIRING"


def test_the_tag_as_of_tells_the_day_unless_that_is_switched_off() -> None:
    old = vm("Standard_NC6", tags={"as-of": "2019-06-01"})
    assert paths("gpu-retired", old) == []
    assert paths("gpu-retired", old, as_of_tag=False) == ["hardwareProfile.vmSize"]
    assert paths("gpu-retired", old, as_of="2026-01-01") == ["hardwareProfile.vmSize"]


def test_exceptions_are_patterns_of_urns() -> None:
    declared = storage()
    assert paths("storage-shared-key", declared, exceptions=["*:StorageAccount::it"]) == []
    assert paths("storage-shared-key", declared, exceptions=["*::other"]) == ["allowSharedKeyAccess"]
    assert paths("gpu-end-date", vm("Standard_NC4as_T4_v3"), exceptions=["*::it"]) == []


def test_the_pages_own_exception_fits_a_pool() -> None:
    urn = "urn:pulumi:prod::shop::azuregpu:index:BatchPool$azure-native:batch:Pool::legacy"
    exceptions = CONFIGURED["gpu-retired"]["exceptions"]
    declared = batch_pool("Standard_NC6")
    assert paths("gpu-retired", declared, exceptions=exceptions) == ["vmSize"]
    assert paths("gpu-retired", declared._replace(urn=urn), exceptions=exceptions) == []


@pytest.mark.parametrize("policy", ["gpu-retired", "gpu-end-date"])
def test_a_day_that_the_calendar_does_not_have_is_told(policy: str) -> None:
    [problem] = judged(policy, vm("Standard_NC4as_T4_v3", tags=ENDS), as_of="2026-13-45")
    assert (problem.path, problem.value) == ("the setting as_of", "2026-13-45")


@pytest.mark.parametrize("priority", ["Spot", "Low", "low"])
def test_spot_has_older_names(priority: str) -> None:
    [machines] = machines_of(vm("Standard_NC4as_T4_v3", priority=priority))
    assert machines.spot is True


@pytest.mark.parametrize("named", ["properties", "onlineEndpointProperties"])
def test_an_ml_endpoint_of_version_2_of_the_provider_is_judged_as_one_of_today(named: str) -> None:
    declared = endpoint(authMode="Key")
    written = {named: declared.properties["properties"], "endpointName": "digits"}
    judged_as = declared._replace(properties=renamed(declared.type, written))
    assert paths("ml-endpoint-keys", judged_as) == ["properties.authMode"]


def test_regions_are_the_organizations_where_it_names_some() -> None:
    declared = vm("Standard_D4s_v5", location="West Europe")
    assert paths("allowed-regions", declared) == []
    assert paths("allowed-regions", declared, regions=["westeurope"]) == []
    assert paths("allowed-regions", declared, regions=["Sweden Central"]) == ["location"]
    anywhere = resource("azure-native:network:FrontDoor", {"location": "global"})
    assert paths("allowed-regions", anywhere, regions=["westeurope"]) == []


@pytest.mark.parametrize(
    "token",
    [
        "azure-native:storage:StorageAccount",
        "azure-native:storage/v20230101:StorageAccount",
        "azure-native_storage_v20240101:storage:StorageAccount",
        "azure-native_storage_v20240101:storage/v20240101:StorageAccount",
    ],
)
def test_each_api_version_of_a_resource_is_the_same_to_a_policy(token: str) -> None:
    assert paths("storage-shared-key", resource(token, {})) == ["allowSharedKeyAccess"]


@pytest.mark.parametrize(
    ("token", "keys"),
    [
        ("kubernetes:core/v1:Pod", ["spec"]),
        ("kubernetes:core/v1:PodPatch", ["spec"]),
        ("kubernetes:apps/v1:Deployment", ["spec", "template", "spec"]),
        ("kubernetes:apps/v1beta2:StatefulSet", ["spec", "template", "spec"]),
        ("kubernetes:batch/v1:CronJob", ["spec", "jobTemplate", "spec", "template", "spec"]),
    ],
)
def test_pods_are_found_wherever_they_are_made(token: str, keys: list[str]) -> None:
    properties: dict[str, Any] = {"hostNetwork": True}
    for key in reversed(keys):
        properties = {key: properties}
    assert paths("kubernetes-privileged", resource(token, properties)) == [f"{'.'.join(keys)}.hostNetwork"]


def test_a_resource_of_another_provider_is_nobodys_business() -> None:
    other = resource("aws:s3/bucket:Bucket", {"tags": {}, "vmSize": "Standard_NC6", "adminUserEnabled": True})
    for policy in ALL:
        assert judged(policy.name, other, **({"regions": ["eastus"]} if policy.name == "allowed-regions" else {})) == []


def test_a_value_is_never_shown_where_it_is_likely_to_be_a_secret() -> None:
    [problem] = judged("plain-text-secret", group({"environmentVariables": [{"name": "DB_PASSWORD", "value": "hunter2"}]}))
    assert "hunter2" not in str(problem)


def test_profiles_of_container_apps_are_judged_as_the_catalog_knows_them() -> None:
    assert judged("gpu-retired", environment(("gpu", "Consumption-GPU-NC8as-T4"))) == []
    nowhere = environment(("gpu", "NC24-A100"), location="eastus", tags=ENDS)
    assert paths("gpu-region", nowhere) == ["location"]
