"""What the cluster autoscaler decides: which pools grow for which pods, which nodes go. Sentences are those of real events."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from localazure.kubernetes import autoscaler_views
from localazure.kubernetes.autoscaler import Cluster, Increase, PoolView, removable, scale_up, started
from localazure.kubernetes.autoscaler_views import GPU, NodeView, PodView, Profile, against
from localazure.kubernetes.model import Taint
from localazure.kubernetes.node_templates import scale_set, template
from tests.localazure.kubernetes.gpu_world import CLUSTER, pool as pool_shape
from tests.support.examples import examples
from tests.support.tables import of_table

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
GPU_TAINT = Taint("sku", "gpu", "NoSchedule")
TOLERATION = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
PLAIN = Profile()


def pool(
    name: str = "t4", size: str = "Standard_NC4as_T4_v3", *, most: int = 3, target: int = 0, least: int = 0, **shape: Any
) -> PoolView:
    taints = shape.pop("taints", (GPU_TAINT,) if size.startswith("Standard_N") else ())
    asked = pool_shape(name, size, taints=taints, **shape)
    view = autoscaler_views.of_template(template(asked, CLUSTER))
    return PoolView(name, scale_set(CLUSTER.key, asked), least, most, target, view)


def pod(name: str, *, gpus: int = 0, cpu: str = "1", node: str = "", waits: bool = True, **changed: Any) -> PodView:
    requests = {"cpu": Fraction(cpu), "pods": Fraction(1), **({GPU: Fraction(gpus)} if gpus else {})}
    since = NOW - timedelta(seconds=5) if waits and not node else None
    one = PodView(name, "default", name, requests, node=node, pending_since=since, tolerations=(TOLERATION,), owner="Job")
    return one._replace(**changed)


def node_of(view: PoolView, number: int, *, gpus: int | None = None, **changed: Any) -> NodeView:
    amounts = dict(view.template.allocatable)
    if gpus is not None:
        amounts[GPU] = Fraction(gpus)
    made = view.template._replace(name=f"{view.vmss}00000{number}", allocatable=amounts, created=NOW - timedelta(hours=1))
    return made._replace(**changed)


def first(options: Sequence[Increase]) -> Increase:
    return options[0]


def decided(
    pods: Sequence[PodView], pools: Sequence[PoolView], nodes: Sequence[NodeView] = (), profile: Profile = PLAIN, **more: Any
) -> tuple[list[str], dict[str, str]]:
    cluster = Cluster(nodes=nodes, pods=pods, pools=pools, now=NOW, **more)
    increases, refusals = scale_up(cluster, profile, first)
    return [str(one) for one in increases], {one.pod.name: str(one) for one in refusals}


def test_a_pending_pod_brings_the_first_node_of_a_pool_at_zero() -> None:
    view = pool()
    assert decided([pod("a", gpus=1)], [view]) == ([f"{view.vmss} 0->1 (max: 3)"], {})


def test_from_zero_a_pool_is_known_by_whole_gpus_alone() -> None:
    """Azure/AKS issue 5161: neither instances by their own names nor renamed resources bring a first node."""
    view = pool("mig", "Standard_NC24ads_A100_v4", mig_profile="MIG1g")
    mixed = pod("a")._replace(requests={"nvidia.com/mig-1g.10gb": Fraction(1)})
    renamed = pod("b")._replace(requests={"nvidia.com/gpu.shared": Fraction(1)})
    assert decided([mixed, renamed], [view]) == (
        [],
        {"a": "1 Insufficient nvidia.com/mig-1g.10gb", "b": "1 Insufficient nvidia.com/gpu.shared"},
    )
    four = [pod(name, gpus=1) for name in "abcd"]
    assert decided(four, [pool(most=9)])[0] == [f"{pool().vmss} 0->4 (max: 9)"]  # it doesn't know that they'd share one


def test_a_node_that_is_there_tells_what_the_next_will_be() -> None:
    view = pool(target=1, most=9)
    shared = node_of(view, 0, gpus=4)
    running = [pod(f"r{n}", gpus=1, cpu="1/10", node=shared.name) for n in range(4)]
    waiting = [pod(f"w{n}", gpus=1, cpu="1/10") for n in range(5)]
    assert decided([*running, *waiting], [view], [shared])[0] == [f"{view.vmss} 1->3 (max: 9)"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"tolerations": ()}, "1 node(s) had untolerated taint {sku: gpu}"),
        ({"selector": {"agentpool": "other"}}, "1 node(s) didn't match Pod's node affinity/selector"),
        ({"requests": {GPU: Fraction(2)}}, "1 Insufficient nvidia.com/gpu"),
        ({"requests": {"cpu": Fraction(4)}}, "1 Insufficient cpu"),
    ],
    ids=["taint", "selector", "gpus", "cpu"],
)
def test_a_pod_that_no_new_node_would_help_is_told_why(changed: dict[str, Any], why: str) -> None:
    assert decided([pod("a", gpus=1, **changed)], [pool()]) == ([], {"a": why})


def test_reasons_of_several_pools_are_counted() -> None:
    full = pool("full", most=2, target=2)
    views = [
        pool(),
        pool("second"),
        pool("cpu", "Standard_D4s_v5"),
        full,
        pool("failed")._replace(backoff_until=NOW + timedelta(1)),
    ]
    nodes = [node_of(full, number) for number in range(2)]
    busy = [pod(f"r{one.name}", gpus=1, node=one.name) for one in nodes]
    _, refusals = decided([*busy, pod("a", gpus=2)], views, nodes)
    assert refusals["a"] == ("3 Insufficient nvidia.com/gpu, 1 in backoff after failed scale-up, 1 max node group size reached")


def test_what_one_pool_can_no_longer_take_another_gets() -> None:
    grown, refused = decided([pod(f"p{n}", gpus=1) for n in range(3)], [pool(most=2), pool("more")])
    assert grown == [f"{pool().vmss} 0->2 (max: 2)", f"{pool('more').vmss} 0->1 (max: 3)"]
    assert refused == {}


def test_a_node_on_its_way_is_waited_for() -> None:
    view = pool(target=1)
    assert decided([pod("a", gpus=1)], [view]) == ([], {})
    young = node_of(view, 0, gpus=0, created=NOW - timedelta(minutes=2))  # Ready, and its device plugin isn't there yet
    assert decided([pod("a", gpus=1)], [view], [young]) == ([], {})
    old = young._replace(created=NOW - timedelta(minutes=16))
    assert decided([pod("a", gpus=1)], [view], [old])[0] == [f"{view.vmss} 1->2 (max: 3)"]


def test_a_gpu_node_without_gpus_isnt_taken_for_ready_whatever_its_resources_are_called() -> None:
    view = pool(target=1)
    node = node_of(view, 0, gpus=0)
    assert not started(node)
    assert not started(node._replace(allocatable={**node.allocatable, "nvidia.com/gpu.shared": Fraction(4)}))
    assert started(node_of(view, 0, gpus=1))
    assert started(node_of(pool("cpu", "Standard_D4s_v5"), 0))


def test_pods_that_the_scheduler_has_room_for_bring_nothing() -> None:
    view = pool(target=1)
    assert decided([pod("a", gpus=1)], [view], [node_of(view, 0)]) == ([], {})
    assert decided([pod("a", gpus=1, waits=False)], [view]) == ([], {})
    assert decided([pod("a", gpus=1, owner="DaemonSet")], [view]) == ([], {})
    delayed = autoscaler_views.profile({"new-pod-scale-up-delay": "1m"})
    assert decided([pod("a", gpus=1)], [pool()], profile=delayed) == ([], {})


def test_daemons_of_a_new_node_take_their_part() -> None:
    daemon = pod("daemon", cpu="1/2", waits=False, tolerations=({"operator": "Exists"},))
    elsewhere = daemon._replace(selector={"agentpool": "other"})
    for daemons, nodes in (((), 1), ((daemon,), 2), ((elsewhere,), 1)):
        grown, _ = decided([pod(n, cpu="19/10") for n in "ab"], [pool()], daemons=daemons)
        assert grown == [f"{pool().vmss} 0->{nodes} (max: 3)"]


# What goes


def gone(cluster: Cluster, profile: Profile = PLAIN, *, minutes: int = 60, added: datetime | None = None) -> list[str]:
    since = {one.name: NOW - timedelta(minutes=minutes) for one in cluster.nodes}
    return [one.name for one in removable(cluster, profile, since, added, None)]


def test_an_empty_node_goes_after_its_time_and_never_below_the_least() -> None:
    view = pool(target=2, least=1)
    cluster = Cluster(nodes=[node_of(view, 0), node_of(view, 1)], pods=[], pools=[view], now=NOW)
    assert gone(cluster) == [f"{view.vmss}000000"]
    assert gone(cluster, minutes=9) == []
    assert gone(cluster, added=NOW - timedelta(minutes=9)) == []
    assert gone(cluster._replace(pools=[view._replace(least=2)])) == []
    kept = node_of(view, 0, annotations={"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"})
    assert gone(cluster._replace(nodes=[kept], pools=[view._replace(target=1, least=0)])) == []


def test_a_node_with_a_pod_stays_and_daemons_keep_none() -> None:
    view = pool(target=2)
    nodes = [node_of(view, number) for number in range(2)]
    pods = [pod("a", cpu="1/10", node=nodes[0].name), pod("d", node=nodes[1].name, owner="DaemonSet")]
    assert gone(Cluster(nodes=nodes, pods=pods, pools=[view], now=NOW)) == [nodes[1].name]


def test_the_profile_is_read_as_arm_spells_it() -> None:
    read = autoscaler_views.profile(
        {
            "scale-down-unneeded-time": "5m",
            "scan-interval": "20s",
            "max-empty-bulk-delete": "3",
        }
    )
    assert read == Profile(
        scan=timedelta(seconds=20),
        unneeded=timedelta(minutes=5),
        max_empty=3,
    )
    assert autoscaler_views.profile({}) == Profile()


@of_table("expression", "fits")
def test_required_affinity_to_nodes_counts(expression: dict[str, Any], fits: bool) -> None:
    one = pod("a", gpus=1, affinity=({"matchExpressions": [expression]},))
    assert bool(decided([one], [pool()])[0]) is fits


def test_what_a_pod_asks_for_is_what_the_scheduler_counts() -> None:
    spec = {
        "containers": [
            {"resources": {"requests": {"cpu": "500m"}, "limits": {GPU: "1"}}},
            {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "250m"}}},
        ],
        "initContainers": [
            {"resources": {"requests": {"cpu": "2"}}},
            {"restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}},
        ],
    }
    assert autoscaler_views.requests(spec) == {"pods": 1, "cpu": Fraction(2), GPU: 1}


# Whatever is asked

PODS = st.lists(
    st.builds(
        lambda number, gpus, cpu, tolerates: pod(f"p{number}", gpus=gpus, cpu=cpu)._replace(
            uid=f"u{number}", tolerations=(TOLERATION,) if tolerates else ()
        ),
        st.integers(0, 999),
        st.integers(0, 5),
        st.sampled_from(["1/10", "1", "3", "30"]),
        st.booleans(),
    ),
    max_size=25,
    unique_by=lambda one: one.uid,
)
POOLS = st.lists(
    st.builds(
        lambda number, size, most, target: pool(f"p{number}", size, most=most, target=min(target, most)),
        st.integers(0, 9),
        st.sampled_from(["Standard_NC4as_T4_v3", "Standard_NC96ads_A100_v4", "Standard_D4s_v5"]),
        st.integers(0, 6),
        st.integers(0, 3),
    ),
    max_size=4,
    unique_by=lambda one: one.name,
)


@settings(max_examples=examples(60), deadline=None)
@given(PODS, POOLS)
def test_every_pod_is_helped_or_told_and_no_pool_grows_too_far(pods: list[PodView], pools: list[PoolView]) -> None:
    cluster = Cluster(nodes=[], pods=pods, pools=pools, now=NOW)
    increases, refusals = scale_up(cluster, PLAIN, first)
    for one in increases:
        assert 0 < one.nodes <= one.pool.most - one.pool.target
        node = one.pool.template
        assert all(not against(helped, node, node.allocatable) for helped in one.pods)
        for name in ("cpu", GPU):
            asked = sum((helped.requests.get(name, Fraction(0)) for helped in one.pods), Fraction(0))
            assert asked <= node.allocatable.get(name, Fraction(0)) * one.nodes
    helped_by = [helped.uid for one in increases for helped in one.pods]
    told = [one.pod.uid for one in refusals]
    assert len(set(helped_by)) == len(helped_by)
    assert not set(helped_by) & set(told)
    coming = any(view.target for view in pools)
    assert coming or set(helped_by) | set(told) == {one.uid for one in pods}
