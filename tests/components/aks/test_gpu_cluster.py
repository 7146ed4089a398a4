"""Resources of a cluster, beyond the inputs in the cases."""

import asyncio
import json
import re
from typing import Any

import pulumi
import pytest

from azure_gpu.aks import gpu_pools
from azure_gpu.aks.args import GpuClusterSettings, GpuClusterWiring, GpuPoolArgs, Login
from azure_gpu.aks.cluster import GpuCluster
from azure_gpu.aks.immutable import REPLACING_CLUSTER, REPLACING_POOL, digest
from azure_gpu.aks.login import login_from, with_login
from azure_gpu.aks.resolve import resolve
from azure_gpu.aks.spec import GpuClusterSpec
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.kubernetes import api_server
from azure_gpu.kubernetes.api_server import NotAllowedError, NotReachedError
from azure_gpu.shared import retry_hooks
from azure_gpu.shared.context import RegistryArgs, resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.recording import DEPLOYER, KEYS, PROJECT, STACK, Recorded, Registration, declare, readable
from tests.components.settings_of import STACK_ARGS, args_of

CLUSTER = "azure-native:containerservice:ManagedCluster"
POOL = "azure-native:containerservice:AgentPool"
ROLE = "azure-native:authorization:RoleAssignment"
PROVIDER = "pulumi:providers:kubernetes"
SUBNET = "/subscriptions/a/resourceGroups/b/providers/Microsoft.Network/virtualNetworks/c/subnets/d"
T4: dict[str, Any] = {"size": "Standard_NC4as_T4_v3"}
GPU_POOLS: dict[str, GpuPoolArgs] = {"t4": {"size": "Standard_NC4as_T4_v3"}}
ARGS: GpuClusterWiring = {
    "stack": {**STACK_ARGS, "location": "eastus", "as_of": "2026-11-21"},
    "resource_group_name": "group",
    "resource_group": "group",
    "gpu_pools": GPU_POOLS,
    "expires_after": "2026-12-31",
}


def declared(*, preview: bool = False, **changed: Any) -> Recorded:
    return declare(lambda: GpuCluster("gpus", Wired(args_of(GpuClusterWiring, ARGS, changed))), preview=preview)


def pool(**changed: Any) -> Registration:
    return declared(gpu_pools={"t4": {**T4, **changed}}).one(POOL)


def resolved(**changed: Any) -> GpuClusterSpec:
    return _resolved(changed)[0]


def problems(**changed: Any) -> list[Problem]:
    return _resolved(changed)[1]


def _resolved(changed: dict[str, Any]) -> tuple[GpuClusterSpec, list[Problem]]:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    settings = args_of(GpuClusterSettings, {"gpu_pools": GPU_POOLS, "expires_after": "2026-12-31"}, changed)
    return resolve("gpus", settings, context)


def name_of(**changed: Any) -> str:
    """The agent pool's name in Azure."""
    return resolved(gpu_pools={"t4": {**T4, **changed}}).pools["t4"].azure_name("")


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_clusters_in_one_program_share_no_urn_and_no_name(preview: bool) -> None:
    def build() -> None:
        GpuCluster("one", Wired(ARGS))
        GpuCluster("two", Wired(ARGS))

    recorded = declare(build, preview=preview)
    urns = [registration.urn for registration in recorded.registrations]
    assert len(urns) == len(set(urns))
    assert len({registration.inputs["resourceName"] for registration in recorded.of_type(CLUSTER)}) == 2
    assert len(recorded.of_type(POOL)) == 2


# What AKS changes on a pool that exists, with its properties beside it; all else is in REPLACING_POOL.
IN_PLACE: dict[str, Any] = {
    "max_nodes": 5,
    "min_nodes": 1,
    "labels": {"a": "b"},
    "max_surge": "2",
    "drain_minutes": 45,
    "tags": {"a": "b"},
    "sharing": {"strategy": "time-slicing", "replicas": 2},
}
REPLACES: dict[str, Any] = {
    "size": "Standard_NC8as_T4_v3",
    "driver": "none",
    "spot": {"enabled": True},
    "taints": ["a=b:NoSchedule"],
    "zones": ["1"],
    "os_sku": "AzureLinux",
    "os_disk_gb": 200,
    "max_pods": 60,
}


@pytest.mark.parametrize("key", IN_PLACE)
def test_what_aks_changes_in_place_keeps_the_pools_name(key: str) -> None:
    assert name_of() == name_of(**{key: IN_PLACE[key]})


@pytest.mark.parametrize("key", REPLACES)
def test_what_aks_does_not_change_gives_the_pool_another_name(key: str) -> None:
    after = name_of(**{key: REPLACES[key]})
    assert name_of() != after
    assert re.fullmatch(r"t4[0-9a-f]{4}", after)


def test_the_new_pool_is_there_before_the_old_one_goes() -> None:
    declared_pool = pool()
    assert declared_pool.inputs["agentPoolName"] == name_of()
    assert not declared_pool.delete_before_replace
    assert declared_pool.replace_on_changes == REPLACING_POOL


def test_a_name_with_no_room_for_a_hash_is_kept_and_the_old_pool_goes_first() -> None:
    recorded = declared(gpu_pools={"traininggpus": T4, "training": T4})
    first, beside = sorted(recorded.of_type(POOL), key=lambda each: not each.delete_before_replace)
    assert (first.inputs["agentPoolName"], first.delete_before_replace) == ("traininggpus", True)
    assert (len(beside.inputs["agentPoolName"]), beside.delete_before_replace) == (12, False)
    other = resolved(gpu_pools={"traininggpus": {"size": "Standard_NC8as_T4_v3"}})
    assert other.pools["traininggpus"].azure_name("") == "traininggpus"


def test_the_same_written_otherwise_is_the_same_pool() -> None:
    one = pool(zones=["1", "2"], labels={"a": "1", "b": "2"}, driver="install", sharing={"strategy": "none"})
    other = pool(size="standard_nc4as_t4_V3", zones=["2", "1"], labels={"b": "2", "a": "1"})
    assert one.inputs == other.inputs


def test_a_subnet_is_part_of_a_pools_name_also_where_another_resource_gives_it() -> None:
    plain = declared(subnet_id=SUBNET).one(POOL).inputs["agentPoolName"]

    def wired() -> None:
        GpuCluster("gpus", Wired({**ARGS, "subnet_id": pulumi.Output.from_input(SUBNET)}))

    assert declare(wired).one(POOL).inputs["agentPoolName"] == plain != name_of()


def test_no_gpu_pool_is_inside_the_cluster_and_each_goes_with_it() -> None:
    recorded = declared(gpu_pools={"t4": T4, "more": T4})
    cluster = recorded.one(CLUSTER)
    assert [each["name"] for each in cluster.inputs["agentPoolProfiles"]] == ["system"]
    assert cluster.delete_before_replace
    assert cluster.replace_on_changes == REPLACING_CLUSTER
    assert not any("vmSize" in path for path in REPLACING_CLUSTER)  # a cluster never goes for another size of its system pool
    assert {each.deleted_with for each in recorded.of_type(POOL)} == {cluster.urn}


def test_pools_start_with_their_least_number_of_nodes_and_leave_it_to_the_autoscaler() -> None:
    assert (pool().inputs["count"], pool(min_nodes=1).inputs["count"]) == (0, 1)
    assert pool().ignore_changes == ["count", "powerState"]
    [fixed] = declared(system_pool={"nodes": 2}).one(CLUSTER).inputs["agentPoolProfiles"]
    cluster = declared(system_pool={"nodes": 2, "max_nodes": 4}).one(CLUSTER)
    assert fixed["count"] == cluster.inputs["agentPoolProfiles"][0]["count"] == 2
    assert cluster.ignore_changes == ["agentPoolProfiles[0].powerState", "agentPoolProfiles[0].count"]
    assert declared().one(CLUSTER).ignore_changes == ["agentPoolProfiles[0].powerState"]


def test_pools_come_one_after_another_and_the_system_pool_is_upgraded_with_them() -> None:
    recorded = declared(gpu_pools={"a": T4, "b": T4, "c": T4}, kubernetes_version="1.34")
    first, second, third = recorded.of_type(POOL)
    assert first.on_error == recorded.one(CLUSTER).on_error == ["GpuCluster-gpus-again"]
    assert recorded.error_hooks.keys() == {"GpuCluster-gpus-again"}
    assert first.urn in second.dependencies
    assert second.urn in third.dependencies
    [system] = recorded.one(CLUSTER).inputs["agentPoolProfiles"]
    assert {system["orchestratorVersion"], first.inputs["orchestratorVersion"]} == {"1.34"}


def test_the_provider_waits_for_the_role_and_a_new_kubeconfig_replaces_nothing() -> None:
    recorded = declared()
    cluster, role, provider = recorded.one(CLUSTER), recorded.one(ROLE), recorded.one(PROVIDER)
    assert provider.inputs["clusterIdentifier"] == "/id-of/gpus-cluster"
    assert provider.replace_with == [cluster.urn]
    assert {provider.inputs[key] for key in ("deleteUnreachable", "upsertExistingObjects")} <= {True, "true"}
    assert {role.urn, recorded.one(POOL).urn} <= set(provider.dependencies)
    assert role.after_create == ["GpuCluster-gpus-admins-assigned"]
    [noted] = [recorded.hooks[hook] for hook in role.after_create]
    assert not asyncio.iscoroutinefunction(noted.callback), "while it runs, the engine saves no state"
    assert not any("waiting" in line for line in recorded.log), "no role is new"
    of_kubernetes = [each for each in recorded.registrations if each.type.startswith("kubernetes:")]
    assert of_kubernetes
    assert all(each.provider.startswith(provider.urn) for each in of_kubernetes)


_MAY_FAIL = "Creating objects on the cluster may fail; the next `pulumi up` continues."


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, []),
        (
            NotAllowedError("the cluster still refuses"),
            [f"clusters.gpus: the cluster still refuses. {_MAY_FAIL}"],
        ),
    ],
    ids=["allowed", "denied"],
)
def test_objects_wait_until_a_new_role_works(answer: Exception | None, told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _new_roles(answer, monkeypatch)
    recorded = declared()
    assert asked == [("create", 15 * 60)], "once, however many administrators there are"
    assert [line for line in recorded.log if "role assignment" in line] == [
        "waiting until the new role assignment takes effect, up to 15 minutes"
    ]
    assert [line for line in recorded.log if "may fail" in line] == told
    assert recorded.one(PROVIDER)


def test_a_cluster_that_does_not_answer_ends_the_run_before_any_object(monkeypatch: pytest.MonkeyPatch) -> None:
    _new_roles(NotReachedError("https://127.0.0.1 doesn't answer"), monkeypatch)
    with pytest.raises(pulumi.RunError, match=r"^cluster azure-gpu-vision-test-gpus: https://127.0.0.1 doesn't answer$"):
        declared()


def _new_roles(answer: Exception | None, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """A run that assigns the administrators' roles, and the cluster's answer; what it is asked."""
    asked: list[tuple[str, float]] = []

    class Assigned(retry_hooks.NewRoles):
        def __init__(self, component: pulumi.Resource, of: str = "") -> None:
            super().__init__(component, of)
            self.assigned = True

    def wait(config: str, permission: api_server.Permission, seconds: float) -> None:
        assert config
        asked.append((permission.verb, seconds))
        if answer is not None:
            raise answer

    monkeypatch.setattr(retry_hooks, "NewRoles", Assigned)
    monkeypatch.setattr(api_server, "wait_until_allowed", wait)
    return asked


@pytest.mark.parametrize(
    ("login", "arguments"),
    [
        ("azurecli", ["--login", "azurecli", "--use-azurerm-env-vars"]),
        ("spn", ["--login", "spn", "--use-azurerm-env-vars"]),
        ("workloadidentity", ["--login", "workloadidentity"]),
        ("oidc", ["--login", "workloadidentity", "--use-azurerm-env-vars"]),
    ],
    ids=["azurecli", "spn", "workloadidentity", "oidc"],
)
def test_the_kubeconfig_runs_kubelogin_and_holds_no_secret(login: str, arguments: list[str]) -> None:
    recorded = declared(access={"login": login})
    provider = recorded.one(PROVIDER)
    config = json.loads(provider.inputs["kubeconfig"])
    [cluster], [user] = config["clusters"], config["users"]
    assert cluster["cluster"] == {
        "server": "https://theirs.hcp.westeurope.azmk8s.io:443",
        "certificate-authority-data": "Y2E=",
    }
    run = user["user"]["exec"]
    assert run["command"] == "kubelogin"
    assert run["args"] == ["get-token", *arguments, "--server-id", "6dae42f8-4368-4678-94ff-3960e28e3630"]
    assert run["interactiveMode"] == "Never"
    assert "kubelogin" in readable(provider.wire)  # nothing of it is secret
    assert recorded.one(ROLE).inputs["principalId"] == DEPLOYER
    # In a pipeline the Azure CLI's login is a program's, and Azure refuses an assignment that calls it a person.
    assert "principalType" not in recorded.one(ROLE).inputs
    assert recorded.one(ROLE).ignore_changes == ["principalId", "principalType", "roleAssignmentName"]


def test_the_kubeconfig_of_a_cluster_without_entra_is_a_secret_and_no_role_is_assigned() -> None:
    existing = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/platform/providers"
    answers = {**KEYS, "azure-native:containerservice:getManagedCluster": {"location": "eastus"}}
    args: GpuClusterWiring = {
        "stack": ARGS["stack"],
        "resource_group_name": "group",
        "existing": f"{existing}/Microsoft.ContainerService/managedClusters/theirs",
        "expires_after": "2026-12-31",
    }
    recorded = declare(lambda: GpuCluster("theirs", Wired(args)), lookups=answers)
    assert recorded.of_type(CLUSTER) == recorded.of_type(POOL) == recorded.of_type(ROLE) == []
    provider = recorded.one(PROVIDER)
    # What is on it stays there, so that neither a refresh nor a destroy may forget it, and nothing of others is taken over.
    assert {provider.inputs.get(key) for key in ("deleteUnreachable", "upsertExistingObjects")} <= {False, "false"}
    assert "theirs.hcp" in provider.inputs["kubeconfig"]
    assert "theirs.hcp" not in readable(provider.wire)


def test_without_the_right_to_assign_roles_the_commands_are_printed() -> None:
    recorded = declared(assign_roles=False, preview=True)
    assert recorded.of_type(ROLE) == []
    [settings] = [line for line in recorded.log if "an administrator has to run" in line]
    assert f"--assignee-object-id {DEPLOYER} --role" in settings
    assert "--role 'Azure Kubernetes Service RBAC Cluster Admin'" in settings
    assert "/resourceGroups/group/providers/Microsoft.ContainerService/managedClusters/azure-gpu-vision-test-gpus" in settings


def test_the_commands_are_for_every_role_that_is_not_assigned() -> None:
    recorded = declared(assign_roles=False, subnet_id=SUBNET, registry=REGISTRY)
    assert recorded.roles == []
    [settings] = [line for line in recorded.log if "an administrator has to run" in line]
    admin, pull, network = settings.splitlines()[1:]
    assert f"--role '{ADMIN}'" in admin
    assert "identityProfile.kubeletidentity.objectId" in pull
    assert "--role AcrPull " in pull
    assert "az acr show --name r " in pull
    assert "/userAssignedIdentities/azure-gpu-vision-test-cluster-gpus --query principalId" in network
    assert f"--role 'Network Contributor' --scope {SUBNET}" in network


def test_a_preview_says_what_the_cluster_costs_while_nothing_runs() -> None:
    log = "\n".join(declared(preview=True).log)
    assert "cost while idle: 0.192 USD/hour" in log
    assert "2023-12-18" in log
    assert declared().log == []


def test_costs_count_the_nodes_that_stay_and_those_that_there_can_be() -> None:
    spec = resolved(tier="standard", gpu_pools={"t4": {**T4, "min_nodes": 1, "max_nodes": 3}})
    # East US: 0.10 for the tier, 0.192 for the system node, 0.526 for each T4 node.
    assert spec.idle_hourly_cost == pytest.approx(0.10 + 0.192 + 0.526)
    assert spec.hourly_cost == pytest.approx(0.10 + 0.192 + 3 * 0.526)
    assert resolved(system_pool={"size": "Standard_D8lds_v5"}).idle_hourly_cost is None
    assert "Standard_D8lds_v5 in eastus" in resolved(system_pool={"size": "Standard_D8lds_v5"}).idle_cost.text(
        resolved().context.day
    )


def test_security_patches_that_azure_linux_gets_none_of_are_warned_of() -> None:
    maintenance = {"node_images": "SecurityPatch"}
    [warned] = problems(gpu_pools={"t4": {**T4, "os_sku": "AzureLinux"}}, maintenance=maintenance)
    assert (warned.path, warned.severity) == ("clusters.gpus.maintenance.node_images", Severity.WARNING)
    assert problems(maintenance=maintenance) == []


def test_a_zone_of_ones_own_needs_the_network_that_it_is_linked_to() -> None:
    access = {"network": "private", "private_dns_zone": ZONE, "reachable": True}
    [refused] = problems(access=access)
    assert (refused.path, refused.code) == ("clusters.gpus.access.private_dns_zone", Code.IMPOSSIBLE)
    assert problems(access=access, subnet_id=SUBNET) == []


def test_a_program_that_logs_in_by_oidc_gets_into_the_cluster_likewise() -> None:
    settings = {"azure-native:clientId": "x", "azure-native:useOidc": "true"}
    assert with_login({}, settings).get("access") == {"login": Login.OIDC}
    # Who that is follows the file alone; where Entra is, the environment may say.
    environment = {"ARM_CLIENT_ID": "x", "ARM_USE_OIDC": "TRUE", "ARM_METADATA_HOSTNAME": "localhost:1"}
    assert with_login({}, login_from(environment)).get("access") == {"authority_host": "https://localhost:1/"}
    assert with_login({}, {**settings, "azure-native:useOidc": "false"}).get("access") == {"login": Login.SERVICE_PRINCIPAL}


def test_nothing_is_put_onto_a_cluster_that_is_to_stay_empty() -> None:
    recorded = declared(on_cluster=False)
    assert recorded.of_type(PROVIDER) == []
    assert recorded.one(ROLE).after_create == [], "nothing needs the role at once, and the cluster may not answer from here"
    assert not [each for each in recorded.registrations if each.type.startswith("kubernetes:")]


def test_a_cluster_that_cannot_be_had_raises_before_anything_is_declared() -> None:
    with pytest.raises(Refused) as refused:
        declared(system_pool={"size": "Standard_NC4as_T4_v3"})
    assert [problem.path for problem in refused.value.problems] == ["clusters.gpus.system_pool.size"]


def test_gpu_pools_say_by_what_their_nodes_are_selected() -> None:
    outputs = next(each for urn, each in declared().outputs.items() if "GpuCluster" in urn)
    [(name, settings)] = outputs["gpu_pools"].items()
    assert (name, settings["label"], settings["resource"]) == ("t4", f"{gpu_pools.NODE_POOL}=t4", "nvidia.com/gpu")
    assert settings["tolerates"] == ["sku=gpu:NoSchedule"]
    assert settings["name"].startswith("t4")


ZONE = "/subscriptions/a/resourceGroups/b/providers/Microsoft.Network/privateDnsZones/privatelink.eastus.azmk8s.io"
REGISTRY: RegistryArgs = {"name": "r", "id": "/registry", "server": "r.azurecr.io", "workload_images": {}}
ADMIN = "Azure Kubernetes Service RBAC Cluster Admin"
IDENTITY = "/subscriptions/a/resourceGroups/b/providers/Microsoft.ManagedIdentity/userAssignedIdentities/c"


def private() -> Recorded:
    """A cluster with a subnet, a private DNS zone and an existing registry."""
    access = {"network": "private", "private_dns_zone": ZONE, "reachable": True}
    return declared(subnet_id=SUBNET, access=access, registry=REGISTRY)


def test_each_identity_of_a_cluster_has_its_roles_and_no_other() -> None:
    assert private().roles == [
        ("deployer", ADMIN, "gpus-cluster", "GpuCluster::gpus"),
        ("gpus-identity", "Network Contributor", SUBNET.partition("/subnets/")[0], "GpuCluster::gpus"),
        ("gpus-identity", "Network Contributor", SUBNET, "GpuCluster::gpus"),
        ("gpus-identity", "Private DNS Zone Contributor", ZONE, "GpuCluster::gpus"),
        ("kubelet of azure-gpu-vision-test-gpus", "AcrPull", "/registry", "GpuCluster::gpus"),
    ]


def test_a_cluster_waits_for_the_roles_of_its_identity_in_the_network() -> None:
    recorded = private()
    roles = {recorded.named(f"gpus-{which}-role").urn for which in ("network", "zone-network", "dns")}
    assert roles <= set(recorded.one(CLUSTER).dependencies)
    assert recorded.named("gpus-identity").urn in recorded.one(CLUSTER).dependencies


def test_what_is_on_a_cluster_waits_for_the_right_to_pull() -> None:
    recorded = private()
    assert recorded.named("gpus-pull-role").urn in recorded.one(PROVIDER).dependencies


def test_nodes_of_an_existing_cluster_pull_as_its_kubelet() -> None:
    existing = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/platform/providers"
    answer = {"location": "eastus", "identityProfile": {"kubeletidentity": {"objectId": "kubelet-of-theirs"}}}
    args: Any = {
        "stack": ARGS["stack"],
        "resource_group_name": "group",
        "registry": REGISTRY,
        "existing": f"{existing}/Microsoft.ContainerService/managedClusters/theirs",
        "expires_after": "2026-12-31",
    }
    answers = {**KEYS, "azure-native:containerservice:getManagedCluster": answer}
    recorded = declare(lambda: GpuCluster("theirs", Wired(args)), lookups=answers)
    assert recorded.roles == [("kubelet of theirs", "AcrPull", "/registry", "GpuCluster::theirs")]


def test_azure_gets_the_credentials_of_one_identity_one_after_another() -> None:
    wired = args_of(GpuClusterWiring, ARGS, {"identity_id": IDENTITY, "identity_client_id": "client", "identity_is_own": True})

    def build() -> None:
        for name in ("one", "two", "three"):
            GpuCluster(name, Wired(wired))

    recorded = declare(build)
    credentials = recorded.of_type("azure-native:managedidentity:FederatedIdentityCredential")
    before = [{each.name for each in credentials if each.urn in one.dependencies} for one in credentials]
    assert before == [set(), {"one-credential"}, {"two-credential"}]


def test_the_stacks_identity_is_lent_to_one_service_account_in_the_namespace_of_jobs() -> None:
    recorded = declared(identity_id=IDENTITY, identity_client_id="client", identity_is_own=True, namespace={"name": "team-a"})
    credential = recorded.one("azure-native:managedidentity:FederatedIdentityCredential")
    account = recorded.named("gpus-service-account-stack-identity").inputs["metadata"]
    assert credential.inputs["subject"] == f"system:serviceaccount:team-a:{account['name']}"
    assert (account["namespace"], account["name"]) == ("team-a", "stack-identity")
    assert account["annotations"] == {"azure.workload.identity/client-id": "client"}
    assert credential.inputs["issuer"] == "https://issuer.example/azure-gpu-vision-test-gpus/"
    assert credential.inputs["audiences"] == ["api://AzureADTokenExchange"]
    assert (credential.inputs["resourceName"], credential.inputs["resourceGroupName"]) == ("c", "b")


def test_a_workspace_finds_a_cluster_once_everything_on_it_is_there() -> None:
    found: list[GpuCluster] = []

    def build() -> None:
        found.append(GpuCluster("gpus", Wired({**ARGS, "registry": REGISTRY})))
        pulumi.CustomResource("test:index:Waiting", "waiting", {"id": found[0].of_workspace["id"]})

    recorded = declare(build)
    waiting = recorded.named("waiting")
    assert waiting.inputs["id"] == "/id-of/gpus-cluster"
    of_cluster = [recorded.one(POOL), *recorded.of_type(ROLE)]
    of_kubernetes = [each for each in recorded.registrations if each.type.startswith("kubernetes:")]
    assert of_kubernetes
    assert {each.urn for each in (*of_cluster, *of_kubernetes)} <= set(waiting.dependencies)


def test_the_order_of_its_properties_makes_no_new_pool() -> None:
    assert digest({"a": 1, "b": 2}, "") == digest({"b": 2, "a": 1}, "") != digest({"a": 1, "b": 3}, "")
