"""What the cluster autoscaler decides: which pools grow for which pods, which nodes go. Sentences are those of real events."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from hypothesis import given, settings, strategies as st

from localazure.kubernetes import autoscaler_views
from localazure.kubernetes.autoscaler import Cluster, Increase, PoolView, removable, scale_up, started
from localazure.kubernetes.autoscaler_views import GPU, NodeView, PodView, Profile, against
from localazure.kubernetes.node_templates import scale_set, template
from tests.localazure.kubernetes.gpu_world import CLUSTER, pool as pool_shape
from tests.support.examples import examples
from tests.support.tables import of_table

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
GPU_TAINT = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}
TOLERATION = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}
PLAIN = autoscaler_views.profile({})


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


def pods_of(rows: list[dict[str, Any]], nodes: Sequence[NodeView]) -> list[PodView]:
    """`node`: the number of that one which it runs on. `requests`: in place of all others."""
    found: list[PodView] = []
    for said in rows:
        row = dict(said)
        if "node" in row:
            row["node"] = nodes[row["node"]].name
        if "requests" in row:
            row["requests"] = {name: Fraction(amount) for name, amount in row["requests"].items()}
        found += [pod(name, **row) for name in str(row.pop("names")).split()]
    return found


@of_table("what", "case")
def test_what_grows_for_which_pods_and_what_others_are_told(what: str, case: dict[str, Any]) -> None:
    """Pools are of T4 where they say nothing, with the taint that the pods tolerate."""
    pools = []
    for name, said in case["pools"].items():
        row = dict(said or {})
        backoff = NOW + timedelta(1) if row.pop("backoff", False) else None
        pools.append(pool(name, **row)._replace(backoff_until=backoff))
    by_name = {one.name: one for one in pools}
    nodes = [
        node_of(by_name[row["pool"]], number, gpus=row.get("gpus"), created=NOW - timedelta(minutes=row.get("minutes", 60)))
        for number, row in enumerate(case.get("nodes", ()))
    ]
    more = {"daemons": pods_of(case.get("daemons", []), nodes)}
    profile = autoscaler_views.profile(case.get("profile", {}))
    grown, told = decided(pods_of(case["pods"], nodes), pools, nodes, profile, **more)
    assert grown == [f"{by_name[name].vmss} {grows}" for name, grows in case.get("grown", {}).items()], what
    assert told == case.get("told", {}), what


def test_a_gpu_node_without_gpus_isnt_taken_for_ready_whatever_its_resources_are_called() -> None:
    view = pool(target=1)
    node = node_of(view, 0, gpus=0)
    assert not started(node)
    assert not started(node._replace(allocatable={**node.allocatable, "nvidia.com/gpu.shared": Fraction(4)}))
    assert started(node_of(view, 0, gpus=1))
    assert started(node_of(pool("cpu", "Standard_D4s_v5"), 0))


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
    said = {"scan-interval": timedelta(seconds=20), "scale-down-unneeded-time": timedelta(minutes=5), "max-empty-bulk-delete": 3}
    assert read == {**PLAIN, **said}


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
