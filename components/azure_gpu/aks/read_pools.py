"""The agent pools in a cluster's inputs, as a refresh leaves them, so that a preview after it is empty.

AKS lists every pool in the body of the cluster, including those that are separate resources. When that list changes, a refresh
merges it into the cluster's inputs, element by element (pulumi/pulumi-azure-native, provider/pkg/provider/diff.go, applyDiff). So
the program declares what the state has if every pool is as declared, and only the system pool otherwise: a PUT of the cluster
changes only the pools that it names.

A program can't read inputs in its state; the component's output RECORD holds what was sent last, and what AKS returned then.

AKS rejects every number of nodes of an autoscaled pool but the current one (hashicorp/terraform-provider-azurerm pull request
4543, 2019-10-07), while the inputs in the state have the number of the last update. So a cluster or pool that changes gets the
number that is read right before its update, and one that doesn't change keeps the number of its inputs, so that it isn't updated.
A hash of the other inputs, which RECORD holds too, tells the two apart.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, NotRequired, TypedDict, cast

import pulumi
from pulumi_azure_native import containerservice

from azure_gpu.shared import own_state, sdk_types

COMPONENT = "azuregpu:index:GpuCluster"
CLUSTER = "azure-native:containerservice:ManagedCluster"
POOL = "azure-native:containerservice:AgentPool"
RECORD = "agent_pools"
SYSTEM_POOL = "system"
_LEFT_ALONE = ("count", "powerState")  # set by the autoscaler, and by stopping the cluster
_MAPS = ("nodeLabels", "tags")

Profile = Mapping[str, Any]


class Record(TypedDict):
    """What the next run needs from this one."""

    sent: list[Profile]
    """The pools in the inputs of the cluster."""
    shown: list[Profile]
    """All pools that AKS returned then, as inputs."""
    hashes: NotRequired[Mapping[str, str]]
    """Of the inputs of each resource, by its logical name."""


class InState(NamedTuple):
    """The pools of a cluster in the state; empty without a cluster, or with one of another version."""

    listed: tuple[Profile, ...] = ()
    """Those in its inputs."""
    shown: tuple[Profile, ...] = ()
    """Those in Azure, when the state was last written."""
    hashes: Mapping[str, str] = {}
    """Of the inputs of the cluster and of GPU pools that are in the state; empty where another version declared them."""
    name: str = ""
    """The cluster's name in Azure."""

    def changes(self, resource: str, hashed: str) -> bool:
        """Whether a resource of this logical name is in the state with other inputs."""
        return self.hashes.get(resource, hashed) != hashed


NOT_THERE = InState()


class Declared(NamedTuple):
    """The pools to declare."""

    profiles: list[Any]
    """The cluster's `agent_pool_profiles`."""
    left_alone: list[str]
    """Paths for `ignore_changes`."""


def look_up(names: Sequence[str], *, of_stack_file: bool = True) -> dict[str, InState]:
    """The pools in the state, by the names of the components."""
    state = own_state.resources(of_stack_file=of_stack_file) if names else None
    return {name: _of_cluster(name, state or {}) for name in names}


def _of_cluster(name: str, state: Mapping[str, own_state.OwnResource]) -> InState:
    record = cast(Record, own_state.named(state, COMPONENT, name).get(RECORD) or {})
    cluster = own_state.named(state, CLUSTER, f"{name}-cluster")
    there = (urn.rsplit("::", 1)[-1] for urn, each in state.items() if each["type"] in (CLUSTER, POOL))
    hashes = {each: record.get("hashes", {}).get(each, "") for each in there if each.startswith(f"{name}-")}
    shown = cluster.get("agentPoolProfiles")
    found = NOT_THERE._replace(hashes=hashes, name=str(cluster.get("name") or ""))
    if not record or not shown:
        return found
    before, now = _as_inputs(record["shown"]), _as_inputs(shown)
    sent = _as_inputs(record["sent"])
    return found._replace(listed=tuple(sent if now == before else refreshed(sent, before, now)), shown=tuple(now))


def refreshed(inputs: Any, before: Any, now: Any) -> Any:
    """Inputs after a refresh that found `now` instead of `before`."""
    if inputs is None or now == before:
        return now if inputs is None else inputs
    if all(isinstance(each, Mapping) for each in (inputs, before, now)):
        kept = {name: value for name, value in inputs.items() if name not in before or name in now}
        changed = {name: value for name, value in now.items() if name not in before or value != before[name]}
        return {**kept, **{name: refreshed(inputs.get(name), before.get(name), value) for name, value in changed.items()}}
    if all(isinstance(each, list) for each in (inputs, before, now)):
        known = min(len(inputs), len(before))
        return [refreshed(inputs[index], before[index], value) if index < known else value for index, value in enumerate(now)]
    return now


def declared(in_state: InState, system: Any, *, as_listed: bool) -> Declared:
    """The pools that a cluster declares. `system`: its system pool; `as_listed`: those in the state are as declared."""
    scaled = bool(system.enable_auto_scaling)
    if as_listed:
        left_alone = [f"agentPoolProfiles[{index}].{key}" for index in range(len(in_state.listed)) for key in _LEFT_ALONE]
        return Declared(list(in_state.listed), left_alone)
    now = next((each for each in in_state.shown if each.get("name") == SYSTEM_POOL), None)
    if now is not None and in_state.listed[0].get("name") != SYSTEM_POOL:  # the index in the path would select another pool
        return Declared([{**_profile(system), "count": now["count"]} if scaled and "count" in now else system], [])
    left_alone = ["agentPoolProfiles[0].powerState", *(["agentPoolProfiles[0].count"] if scaled else [])]
    return Declared([system], left_alone)


def all_match(in_state: InState, system: Any, own: Sequence[Mapping[str, Any]]) -> bool:
    """Whether Azure has exactly the declared pools. `own`: the inputs of those beside the system pool, without their names in
    Azure."""
    left, scaled = [_profile(each) for each in own], bool(system.enable_auto_scaling)
    for now in in_state.shown:
        if now.get("name") == SYSTEM_POOL:
            if not _matches(now, _profile(system), but=_LEFT_ALONE if scaled else _LEFT_ALONE[1:]):
                return False
            continue
        same = next((each for each in left if _matches(now, each, but=_LEFT_ALONE)), None)
        if same is None:
            return False
        left.remove(same)
    return True


def _matches(now: Profile, expected: Profile, *, but: Sequence[str] = ()) -> bool:
    return all(_property_matches(name, now.get(name), each) for name, each in expected.items() if name not in but)


def _property_matches(name: str, now: object, expected: object) -> bool:
    """Whether a property is as declared; unknown values count as equal, and a missing value as an empty list or map."""
    if isinstance(expected, pulumi.Output):
        return True
    if isinstance(expected, Mapping):
        actual, declared = cast(Profile, now or {}), cast(Profile, expected)
        # AKS adds properties to objects, but not to maps.
        return _matches(actual, declared) and (name not in _MAPS or actual.keys() == declared.keys())
    return now == expected or (not now and expected in ([], {}))


def is_listed(profiles: Sequence[Any], in_state: InState) -> bool:
    """Whether the inputs in the state have these pools, whatever their numbers of nodes."""
    ours, listed = ([{**each, "count": 0} for each in _as_inputs(pools)] for pools in (profiles, in_state.listed))
    return len(ours) == len(listed) and all(_matches(then, now) for then, now in zip(listed, ours, strict=True))


def as_scaled(pools: Declared, found: "pulumi.Output[containerservice.GetManagedClusterResult]") -> Declared:
    """The same pools, with the nodes that each autoscaled one has in the cluster `found`."""
    profiles = [
        {**each, "count": found.apply(partial(nodes_of, pool=each["name"], initial=each.get("count", 1)))}
        if each.get("enableAutoScaling")
        else each
        for each in _as_inputs(pools.profiles)
    ]
    return Declared(profiles, [path for path in pools.left_alone if not path.endswith(".count")])


def nodes_of(found: "containerservice.GetManagedClusterResult", pool: str, initial: int) -> int:
    """The nodes of a pool; the initial number where AKS has no such pool."""
    counts = {each.name: each.count for each in found.agent_pool_profiles or []}
    now = counts.get(pool)
    return initial if now is None else int(now)


def record(sent: Sequence[Any], shown: pulumi.Input[Any], hashes: Mapping[str, str]) -> pulumi.Output[Any]:
    """The component's output RECORD."""
    return pulumi.Output.all(sent=_as_inputs(sent), shown=shown).apply(
        lambda found: Record(sent=found["sent"], shown=_as_inputs(found["shown"] or []), hashes=hashes)
    )


def by_name(profiles: Sequence[Any]) -> dict[str, Profile]:
    """The input properties of each pool, by its name, without those that others change."""
    return {
        str(each.get("name") or ""): {key: value for key, value in each.items() if key not in (*_LEFT_ALONE, "name")}
        for each in _as_inputs(profiles)
    }


def _as_inputs(profiles: Sequence[Any]) -> list[Profile]:
    return [_profile(each) for each in profiles]


def _profile(value: Any) -> Profile:
    return sdk_types.as_inputs(containerservice.ManagedClusterAgentPoolProfileArgs, value)
