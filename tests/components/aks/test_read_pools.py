"""The pools that a cluster declares: those that a refresh left in its inputs if all are as declared, else its system pool."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest
from pulumi_azure_native import containerservice

from azure_gpu.aks import read_pools
from azure_gpu.aks.cluster import hash_of
from azure_gpu.aks.read_pools import NOT_THERE, InState
from azure_gpu.shared import own_state, sdk_types
from azure_gpu.shared.own_state import OwnResource
from localazure.plugin import projection

SENT = {"name": "system", "count": 1, "vmSize": "Standard_D4s_v5", "mode": "System"}
SYSTEM = {**SENT, "osDiskType": "Managed", "maxPods": 250, "powerState": {"code": "Running"}}
T4 = {
    "name": "t4ad26",
    "count": 2,
    "maxCount": 4,
    "mode": "User",
    "maxPods": 30,
    "osDiskType": "Managed",
    "nodeLabels": {"azure-gpu/pool": "t4"},
    "nodeTaints": ["sku=gpu:NoSchedule"],
    "powerState": {"code": "Running"},
    "upgradeSettings": {"maxSurge": "10%", "maxUnavailable": "0"},
    "tags": {"stack": "dev"},
}
A100 = {**T4, "name": "a100f00d", "nodeLabels": {"azure-gpu/pool": "a100"}}
OF_AZURE = {"eTag": "1", "provisioningState": "Succeeded", "nodeImageVersion": "2"}

DECLARED_SYSTEM = containerservice.ManagedClusterAgentPoolProfileArgs(
    name="system", count=1, vm_size="Standard_D4s_v5", mode=containerservice.AgentPoolMode.SYSTEM, enable_auto_scaling=None
)
SCALED_SYSTEM = containerservice.ManagedClusterAgentPoolProfileArgs(
    name="system", count=1, vm_size="Standard_D4s_v5", mode=containerservice.AgentPoolMode.SYSTEM, enable_auto_scaling=True
)
DECLARED: dict[str, Any] = {
    "count": 0,
    "max_count": 4,
    "mode": containerservice.AgentPoolMode.USER,
    "node_labels": {"azure-gpu/pool": "t4"},
    "node_taints": ["sku=gpu:NoSchedule"],
    "upgrade_settings": containerservice.AgentPoolUpgradeSettingsArgs(max_surge="10%"),
    "vnet_subnet_id": None,
    "tags": {"stack": "dev"},
}


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`looked_up(record, shown)`: what is found where the state has these."""

    def run(record: Mapping[str, Any] | None, shown: list[dict[str, Any]] | None) -> InState:
        component = OwnResource(type=read_pools.COMPONENT, outputs={read_pools.RECORD: record})
        cluster = OwnResource(type=read_pools.CLUSTER, outputs={"agentPoolProfiles": shown, "name": "gpu"})
        state = {"urn:pulumi:s::p::a::shared": component, "urn:pulumi:s::p::a$b::shared-cluster": cluster}
        monkeypatch.setattr(own_state, "resources", lambda of_stack_file: state)
        return read_pools.look_up(["shared"])["shared"]

    return run


def test_a_stack_that_was_not_refreshed_has_what_it_sent(looked_up: Any) -> None:
    record = {"sent": [SENT], "shown": [SYSTEM, T4]}
    assert looked_up(record, [{**SYSTEM, **OF_AZURE}, {**T4, "count": 2.0, "orchestratorVersion": None}]) == InState(
        (SENT,), (SYSTEM, T4), {"shared-cluster": ""}, "gpu"
    )


def test_a_refresh_that_found_another_pool_has_put_it_into_the_inputs(looked_up: Any) -> None:
    found = looked_up({"sent": [SENT], "shown": [SYSTEM]}, [SYSTEM, {**T4, **OF_AZURE}])
    assert (found.listed, found.shown) == ((SENT, T4), (SYSTEM, T4))
    again = looked_up({"sent": list(found.listed), "shown": list(found.shown)}, [SYSTEM, {**T4, "count": 3}])
    assert again.listed == (SENT, {**T4, "count": 3})


@pytest.mark.parametrize("now", [[SYSTEM, T4], [A100, SYSTEM, T4], [A100, SYSTEM], [{**SYSTEM, "count": 3}], [T4]])
def test_the_inputs_are_those_that_the_provider_leaves(looked_up: Any, now: list[dict[str, Any]]) -> None:
    before = {"agentPoolProfiles": [SYSTEM]}
    left = projection.refreshed_inputs({"agentPoolProfiles": [SENT]}, before, {"agentPoolProfiles": now})
    assert list(looked_up({"sent": [SENT], "shown": [SYSTEM]}, now).listed) == left["agentPoolProfiles"]


@pytest.mark.parametrize(("record", "shown"), [(None, [SYSTEM, T4]), ({"sent": [], "shown": []}, None)])
def test_nothing_is_known_of_a_state_of_another_version_or_of_no_cluster(looked_up: Any, record: Any, shown: Any) -> None:
    assert looked_up(record, shown) == InState(hashes={"shared-cluster": ""}, name="gpu")


def test_a_resource_changes_if_the_record_has_another_hash_of_it_or_none(looked_up: Any) -> None:
    found = looked_up({"sent": [SENT], "shown": [SYSTEM], "hashes": {"shared-cluster": "1"}}, [SYSTEM])
    assert [found.changes("shared-cluster", each) for each in ("1", "2")] == [False, True]
    assert not found.changes("shared-pool-new", "1")
    assert looked_up({"sent": [SENT], "shown": [SYSTEM]}, [SYSTEM]).changes("shared-cluster", "1")


def test_the_hash_depends_on_all_inputs_but_the_nodes() -> None:
    def hashed(**changed: Any) -> str:
        return hash_of(sdk_types.as_inputs(containerservice.AgentPoolArgs, {**DECLARED, **changed}))

    assert hashed() == hashed(count=3) == hashed(max_pods=None)
    assert hashed() != hashed(max_count=5)
    assert hashed() != hashed(vnet_subnet_id=pulumi.Output.from_input("subnet"))


def test_an_autoscaled_pool_that_changes_gets_the_nodes_that_it_has() -> None:
    scaled = {**SENT, "enableAutoScaling": True, "count": 1}
    pools = read_pools.Declared([scaled, {**T4, "enableAutoScaling": True}, SENT], ["agentPoolProfiles[0].powerState", "a.count"])
    found = SimpleNamespace(agent_pool_profiles=[SimpleNamespace(name="system", count=4.0)])
    read: Any = SimpleNamespace(apply=lambda then: then(found))
    changed = read_pools.as_scaled(pools, read)
    assert [each["count"] for each in changed.profiles] == [4, 2, 1]
    assert changed.left_alone == ["agentPoolProfiles[0].powerState"]


def test_pools_are_listed_whatever_their_nodes() -> None:
    assert read_pools.is_listed([SENT, {**T4, "count": 5}], InState((SENT, T4)))
    assert not read_pools.is_listed([SENT], InState((SENT, T4)))
    assert not read_pools.is_listed([{**SENT, "vmSize": "other"}], InState((SENT,)))


def declared(in_state: InState, *own: Mapping[str, Any], system: Any = DECLARED_SYSTEM) -> Any:
    as_listed = len(in_state.listed) > 1 and read_pools.all_match(in_state, system, own)
    return read_pools.declared(in_state, system, as_listed=as_listed)


def test_a_new_cluster_has_its_system_pool_whose_state_and_scaled_nodes_are_left_alone() -> None:
    assert declared(NOT_THERE, DECLARED) == ([DECLARED_SYSTEM], ["agentPoolProfiles[0].powerState"])
    assert declared(NOT_THERE, DECLARED, system=SCALED_SYSTEM).left_alone == [
        "agentPoolProfiles[0].powerState",
        "agentPoolProfiles[0].count",
    ]


def test_pools_stay_in_the_inputs_while_each_is_as_declared() -> None:
    both = InState((SENT, T4), (SYSTEM, T4))
    assert declared(both, DECLARED).profiles == [SENT, T4]
    assert "agentPoolProfiles[1].count" in declared(both, DECLARED).left_alone
    three = InState((A100, SENT, T4), (A100, SYSTEM, T4))
    a100 = {**DECLARED, "node_labels": {"azure-gpu/pool": "a100"}}
    assert declared(three, DECLARED, a100).profiles == [A100, SENT, T4]
    assert declared(both, DECLARED, a100).profiles == [SENT, T4], "one is to come"
    later: Any = object.__new__(pulumi.Output)  # a real one needs a running program
    assert declared(both, {**DECLARED, "vnet_subnet_id": later, "tags": {"stack": later}}).profiles == [SENT, T4]
    without = {key: value for key, value in T4.items() if key != "nodeTaints"}
    assert declared(InState((SENT, without), (SYSTEM, without)), {**DECLARED, "node_taints": []}).profiles == [SENT, without]


@pytest.mark.parametrize(
    "own",
    [
        [],
        [{**DECLARED, "max_count": 5}],
        [{**DECLARED, "node_taints": []}],
        [{**DECLARED, "upgrade_settings": containerservice.AgentPoolUpgradeSettingsArgs(max_surge="20%")}],
        [{**DECLARED, "node_labels": {"azure-gpu/pool": "t4", "team": "vision"}}],
        [{**DECLARED, "node_labels": {}}],
        [{**DECLARED, "vm_size": "Standard_NC8as_T4_v3"}],
        [{**DECLARED, "tags": {"stack": "dev", "cost": "7"}}],
        [{**DECLARED, "tags": {}}],
    ],
    ids=["gone", "larger", "a taint less", "surge", "a label more", "a label less", "another size", "a tag more", "a tag less"],
)
def test_a_pool_that_is_declared_otherwise_leaves_all_to_their_own_resources(own: list[dict[str, Any]]) -> None:
    assert declared(InState((SENT, T4), (SYSTEM, T4)), *own).profiles == [DECLARED_SYSTEM]


def test_a_system_pool_that_is_declared_otherwise_is_sent_alone() -> None:
    now = {**SYSTEM, "count": 3}
    assert declared(InState((now, T4), (now, T4)), DECLARED).profiles == [DECLARED_SYSTEM]
    assert declared(InState((now, T4), (now, T4)), DECLARED, system=SCALED_SYSTEM).profiles == [SCALED_SYSTEM]
    scaled = {**now, "enableAutoScaling": True}
    assert declared(InState((scaled, T4), (scaled, T4)), DECLARED, system=SCALED_SYSTEM).profiles == [scaled, T4]


def test_where_another_pool_is_first_in_the_inputs_the_system_pool_keeps_its_own_number_of_nodes() -> None:
    now = {**SYSTEM, "count": 3, "enableAutoScaling": True}
    found = declared(InState((A100, now), (A100, now)), system=SCALED_SYSTEM)
    assert found.left_alone == []
    [profile] = found.profiles
    assert (profile["name"], profile["count"], profile["vmSize"]) == ("system", 3, "Standard_D4s_v5")
