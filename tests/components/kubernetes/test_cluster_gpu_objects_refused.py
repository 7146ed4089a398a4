"""Invalid objects on a cluster with GPU pools: each problem is reported once, before anything is declared."""

from typing import Any

import pytest

from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services.gpu_sharing import Strategy
from azure_gpu.kubernetes.gpu_objects.args import ClusterObjectsSettings
from azure_gpu.kubernetes.gpu_objects.declare import missing_images
from azure_gpu.kubernetes.gpu_objects.resolve import resolve_objects
from azure_gpu.kubernetes.gpu_objects.spec import GpuPool
from azure_gpu.kubernetes.sharing_args import SharingArgs, sharing_request
from azure_gpu.shared.workloads import Workload

T4, A100 = "Standard_NC4as_T4_v3", "Standard_NC24ads_A100_v4"
SHARING = "clusters.c.gpu_pools.p.sharing"


def pool(size: str, sharing: SharingArgs | None = None, **more: Any) -> GpuPool:
    path = "clusters.c.gpu_pools.p"
    return GpuPool("p", path, size, sharing_request(sharing or {}, f"{path}.sharing"), **more)


def problems_of(settings: ClusterObjectsSettings, *pools: GpuPool, severity: Severity = Severity.ERROR) -> list[Problem]:
    _, problems = resolve_objects(settings, pools, "clusters.c")
    return [problem for problem in problems if problem.severity is severity]


@pytest.mark.parametrize(
    ("size", "sharing", "path", "part"),
    [
        (T4, {"strategy": "mig", "profile": "MIG1g"}, f"{SHARING}.profile", "can't be partitioned into MIG instances"),
        (A100, {"strategy": "mig", "profile": "MIG9g"}, f"{SHARING}.profile", "unknown MIG profile"),
        (A100, {"strategy": "mps", "replicas": 2, "profile": "MIG1g"}, f"{SHARING}.profile", "don't support MPS"),
        (T4, {"strategy": "time-slicing"}, f"{SHARING}.replicas", "at least two replicas"),
        (T4, {"strategy": "time-slicing", "replicas": 1}, f"{SHARING}.replicas", "at least two replicas"),
        (T4, {"strategy": "mps"}, f"{SHARING}.replicas", "requires the number of replicas"),
        (
            T4,
            {"strategy": "time-slicing", "replicas": 2, "active_thread_percentage": 20},
            f"{SHARING}.active_thread_percentage",
            "only MPS can limit",
        ),
        (
            T4,
            {"strategy": "mps", "replicas": 2, "pinned_memory_limit": "17G"},
            f"{SHARING}.pinned_memory_limit",
            "not a valid amount",
        ),
        ("Standard_ND96isr_MI300X_v5", {}, "clusters.c.gpu_pools.p.size", "doesn't support AMD's MI300X"),
    ],
    ids=[
        "mig-on-t4",
        "unknown-profile",
        "mps-with-mig",
        "no-replicas",
        "one-replica",
        "mps-without-replicas",
        "fraction-without-mps",
        "more-memory-than-the-gpu-has",
        "amd-with-the-nvidia-plugin",
    ],
)
def test_sharing_that_the_gpus_cant_do_is_refused_once(size: str, sharing: SharingArgs, path: str, part: str) -> None:
    [problem] = problems_of({}, pool(size, sharing))
    assert problem.path == path
    assert part in problem.message
    assert problem.fix


def test_an_amd_pool_is_taken_where_the_plugin_is_somebody_elses() -> None:
    assert problems_of({"device_plugin": {"enabled": False}}, pool("Standard_ND96isr_MI300X_v5")) == []


def test_sharing_by_a_plugin_that_isnt_declared_is_refused() -> None:
    [problem] = problems_of({"device_plugin": {"enabled": False}}, pool(T4, {"strategy": Strategy.TIME_SLICING, "replicas": 4}))
    assert problem.path == f"{SHARING}.strategy"


@pytest.mark.parametrize(
    "sharing",
    [
        {"strategy": "mig", "profile": "MIG1g", "mig_strategy": "mixed"},
        {"strategy": "time-slicing", "replicas": 2, "rename": True},
    ],
    ids=["mixed", "renamed"],
)
def test_names_that_the_autoscaler_doesnt_know_are_warned_about_from_zero_nodes_alone(sharing: SharingArgs) -> None:
    [warning] = problems_of({}, pool(A100, sharing), severity=Severity.WARNING)
    assert warning.path == "clusters.c.gpu_pools.p.min_nodes"
    assert "knows only nvidia.com/gpu" in warning.message
    assert problems_of({}, pool(A100, sharing, min_nodes=1), severity=Severity.WARNING) == []


@pytest.mark.parametrize("strategy", [Strategy.TIME_SLICING, Strategy.MPS])
def test_shared_gpus_from_zero_nodes_to_several_are_warned_about(strategy: Strategy) -> None:
    def of_nodes(sharing: SharingArgs | None, **nodes: int) -> list[Problem]:
        warnings = problems_of({}, pool(T4, sharing, **nodes), severity=Severity.WARNING)
        return [one for one in warnings if one.path == "clusters.c.gpu_pools.p.min_nodes"]

    shared: SharingArgs = {"strategy": strategy, "replicas": 4}
    [warning] = of_nodes(shared, max_nodes=2)
    assert "start up to 2 nodes" in warning.message
    assert warning.source.startswith("Azure/AKS issue 3427")
    assert of_nodes(shared, max_nodes=1) == of_nodes(shared, min_nodes=1, max_nodes=2) == of_nodes(None, max_nodes=2) == []


@pytest.mark.parametrize(
    ("job", "sharing", "path", "part"),
    [
        ({}, {}, "image", "set exactly one of `image` and `workload`"),
        ({"image": "a/b:1", "workload": "mnist"}, {}, "image", "set exactly one of `image` and `workload`"),
        ({"image": "a/b:1", "gpus": 0}, {}, "gpus", "too small"),
        ({"image": "a/b:1", "gpus": 2}, {}, "gpus", "fewer of nvidia.com/gpu"),
        ({"image": "a/b:1", "gpus": 2}, {"strategy": "time-slicing", "replicas": 4}, "gpus", "use only one share"),
        ({"image": "a/b:1", "pool": "other"}, {}, "pool", "no GPU pool of this name"),
        ({"image": "a/b:1", "active_thread_percentage": 20}, {}, "active_thread_percentage", "only MPS"),
        (
            {"image": "a/b:1", "active_thread_percentage": 120},
            {"strategy": "mps", "replicas": 2},
            "active_thread_percentage",
            "percentage",
        ),
        ({"image": "a/b:1", "retries": -1}, {}, "retries", "too small"),
        ({"image": "a/b:1", "timeout_minutes": 0}, {}, "timeout_minutes", "too small"),
        ({"image": "a/b:1", "memory_in_gib": 0}, {}, "memory_in_gib", "greater than 0"),
        (
            {"image": "a/b:1", "environment": {"NVIDIA_VISIBLE_DEVICES": "all"}},
            {},
            "environment.NVIDIA_VISIBLE_DEVICES",
            "set by the component",
        ),
        (
            {"image": "a/b:1", "environment": {"A": "1"}, "secret_environment": {"A": "2"}},
            {},
            "environment.A",
            "`secret_environment`",
        ),
        ({"image": "a/b:1", "environment": {"1A": "1"}}, {}, "environment.1A", "variable name"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value.replace(" ", "-"),
)
def test_a_job_that_cant_run_is_refused_at_its_key(job: Any, sharing: SharingArgs, path: str, part: str) -> None:
    [problem] = problems_of({"jobs": {"train": job}}, pool(T4, sharing))
    assert problem.path == f"clusters.c.jobs.train.{path}"
    assert part in problem.message


def test_more_than_a_node_has_is_refused_with_how_much_that_is() -> None:
    job: Any = {"image": "a/b:1", "gpus": 5}
    [problem] = problems_of({"jobs": {"train": job}}, pool("Standard_NC64as_T4_v3"))
    assert problem.allowed == "1 to 4"


def test_a_job_says_its_pool_where_there_are_several() -> None:
    two = [pool(T4)._replace(name=name, path=f"clusters.c.gpu_pools.{name}") for name in ("one", "two")]
    [problem] = problems_of({"jobs": {"train": {"image": "a/b:1"}}}, *two)
    assert problem.path == "clusters.c.jobs.train.pool"
    assert problem.allowed == "one, two"


@pytest.mark.parametrize("name", ["Train", "a_b", "-a", "x" * 64, "ä"])
def test_a_name_that_kubernetes_doesnt_take_is_refused(name: str) -> None:
    [problem] = problems_of({"jobs": {name: {"image": "a/b:1"}}}, pool(T4))
    assert problem.path == f"clusters.c.jobs.{name}"


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"namespace": {"name": "kube-system"}}, "namespace.name"),
        ({"namespace": {"name": "gpu-resources"}}, "namespace.name"),
        ({"namespace": {"name": "A"}}, "namespace.name"),
        ({"namespace": {"max_gpus": 0}}, "namespace.max_gpus"),
        ({"metrics": {"counters": ["DCGM_FI_DEV_SM_UTIL"]}}, "metrics.counters"),
        ({"metrics": {"counters": []}}, "metrics.counters"),
        ({"device_plugin": {"image": "not an image"}}, "device_plugin.image"),
    ],
    ids=["the-clusters-own", "the-plugins-own", "bad-name", "no-gpu", "not-in-the-default-set", "no-counter", "no-image"],
)
def test_settings_of_the_cluster_are_refused_at_their_key(settings: ClusterObjectsSettings, path: str) -> None:
    [problem] = problems_of(settings, pool(T4))
    assert problem.path == f"clusters.c.{path}"


def test_jobs_that_ask_for_more_than_their_namespace_may_are_warned_about() -> None:
    jobs: Any = {name: {"image": "a/b:1", "parallelism": 2} for name in ("one", "two")}
    sliced = pool(T4, {"strategy": Strategy.TIME_SLICING, "replicas": 4})
    [warning] = problems_of({"namespace": {"max_gpus": 3}, "jobs": jobs}, sliced, severity=Severity.WARNING)
    assert warning.path == "clusters.c.namespace.max_gpus"
    assert "4 of nvidia.com/gpu" in warning.message
    assert problems_of({"namespace": {"max_gpus": 4}, "jobs": jobs}, sliced, severity=Severity.WARNING) == []


def test_a_workload_that_no_registry_has_built_is_named() -> None:
    spec, _ = resolve_objects({"jobs": {"train": {"workload": Workload.MNIST}}}, [pool(T4)], "clusters.c")
    [problem] = missing_images(spec, {})
    assert problem.path == "clusters.c.jobs.train.workload"
    assert missing_images(spec, {"mnist": "registry/mnist:1"}) == []
