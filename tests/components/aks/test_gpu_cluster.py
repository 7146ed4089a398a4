"""Resources of a cluster, beyond the inputs in the cases."""

import asyncio
import re
from typing import Any

import pulumi
import pytest

from azure_gpu.aks.args import GpuClusterSettings, GpuClusterWiring, GpuPoolArgs
from azure_gpu.aks.cluster import GpuCluster
from azure_gpu.aks.gpu_pools import digest
from azure_gpu.aks.login import of_provider
from azure_gpu.aks.resolve import resolve
from azure_gpu.aks.spec import GpuClusterSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.kubernetes import api_server
from azure_gpu.kubernetes.api_server import NotAllowedError, NotReachedError
from azure_gpu.shared import retry_hooks
from azure_gpu.shared.context import RegistryArgs, resolve_stack
from azure_gpu.shared.provider_keys import cloud_from
from azure_gpu.shared.wired import Wired
from tests.components.recording import PROJECT, STACK, Recorded, Registration, declare
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


def test_the_same_written_otherwise_is_the_same_pool() -> None:
    one = pool(zones=["1", "2"], labels={"a": "1", "b": "2"}, driver="install", sharing={"strategy": "none"})
    other = pool(size="standard_nc4as_t4_V3", zones=["2", "1"], labels={"b": "2", "a": "1"})
    assert one.inputs == other.inputs


def test_a_subnet_is_part_of_a_pools_name_also_where_another_resource_gives_it() -> None:
    plain = declared(subnet_id=SUBNET).one(POOL).inputs["agentPoolName"]

    def wired() -> None:
        GpuCluster("gpus", Wired({**ARGS, "subnet_id": pulumi.Output.from_input(SUBNET)}))

    assert declare(wired).one(POOL).inputs["agentPoolName"] == plain != name_of()


def test_the_engine_saves_the_state_while_roles_are_noted_and_waits_for_none_that_is_there() -> None:
    recorded = declared()
    [noted] = [recorded.hooks[hook] for hook in recorded.one(ROLE).after_create]
    assert not asyncio.iscoroutinefunction(noted.callback), "while it runs, the engine saves no state"
    assert not any("waiting" in line for line in recorded.log), "no role is new"


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


def test_a_program_that_logs_in_by_oidc_gets_into_the_cluster_likewise() -> None:
    settings = {"azure-native:clientId": "x", "azure-native:useOidc": "true"}
    assert of_provider(settings) == {"login": "oidc"}
    # Who that is follows the file alone; where Entra is, the environment may say.
    environment = {"ARM_CLIENT_ID": "x", "ARM_USE_OIDC": "TRUE", "ARM_METADATA_HOSTNAME": "localhost:1"}
    assert of_provider(cloud_from(environment)) == {"authority_host": "https://localhost:1/"}
    assert of_provider({**settings, "azure-native:useOidc": "false"}) == {"login": "spn"}


REGISTRY: RegistryArgs = {"name": "r", "id": "/registry", "server": "r.azurecr.io", "workload_images": {}}


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
