"""Sharing a GPU. Expectations are literals of NVIDIA's device plugin, its DCGM exporter and Microsoft's pages."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services import gpu_sharing, gpu_sharing_yield
from azure_gpu.catalog.services.aks import dcgm, device_plugin
from azure_gpu.catalog.services.gpu_sharing import Share, SharingRequest, check
from azure_gpu.catalog.services.gpu_sharing_yield import from_zero, yields
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Gpu
from tests.support.rows import each_row


def gpu(size_name: str) -> Gpu:
    size = SIZES.find(size_name)
    assert size is not None
    assert size.gpu is not None
    return size.gpu


K80 = gpu("Standard_NC6")
T4 = gpu("Standard_NC4as_T4_v3")
A100 = gpu("Standard_NC24ads_A100_v4")
A100_40 = gpu("Standard_ND96asr_v4")
MI300X = gpu("Standard_ND96isr_MI300X_v5")


def sharing(strategy: str, **changed: Any) -> SharingRequest:
    return SharingRequest(path="pool.sharing", strategy=strategy, **changed)


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


@pytest.mark.parametrize(
    ("request_", "on"),
    [
        (sharing("none"), T4),
        (sharing("none"), MI300X),
        (sharing("time-slicing", replicas=4), T4),
        (sharing("time-slicing", replicas=2, profile="MIG1g"), A100),
        (sharing("mps", replicas=10), T4),
        (sharing("mps", active_thread_percentage=20), T4),
        (sharing("mps", replicas=4, active_thread_percentage=25, pinned_memory_limit="4G"), T4),
        (sharing("mig", profile="MIG3g"), A100),
        (sharing("mig", profile="MIG1g", mig_strategy="mixed"), None),
    ],
)
def test_what_can_be_asked_for(request_: SharingRequest, on: Gpu | None) -> None:
    assert check(request_, on) == []


@each_row(
    ("request_", "on", "path"),
    [
        (sharing("mps", replicas=2, profile="MIG1g"), A100, "profile"),  # MPS doesn't work on MIG
        (sharing("mig", profile="MIG1g", replicas=2), A100, "replicas"),
        (sharing("mig"), A100, "profile"),
        (sharing("mig", profile="MIG1g"), T4, "profile"),
        (sharing("mig", profile="MIG5g"), A100, "profile"),
        (sharing("time-slicing", replicas=4, active_thread_percentage=25), T4, "active_thread_percentage"),
        (sharing("none", active_thread_percentage=25), T4, "active_thread_percentage"),
        (sharing("mig", profile="MIG1g", active_thread_percentage=25), A100, "active_thread_percentage"),
        (sharing("time-slicing", replicas=4, pinned_memory_limit="4G"), T4, "pinned_memory_limit"),
        (sharing("none", replicas=4), T4, "replicas"),
        (sharing("time-slicing"), T4, "replicas"),
        (sharing("time-slicing", replicas=1), T4, "replicas"),
        (sharing("mps", replicas=0), T4, "replicas"),
        (sharing("mps", active_thread_percentage=0), T4, "active_thread_percentage"),
        (sharing("mps", active_thread_percentage=101), T4, "active_thread_percentage"),
        (sharing("mps", active_thread_percentage=float("nan")), T4, "active_thread_percentage"),
        (sharing("mps", pinned_memory_limit="32G"), T4, "pinned_memory_limit"),
        (sharing("mps", pinned_memory_limit="half"), T4, "pinned_memory_limit"),
        (sharing("mps", replicas=2), MI300X, "strategy"),
    ],
)
def test_what_is_impossible(request_: SharingRequest, on: Gpu, path: str) -> None:
    problem = only(check(request_, on))
    assert (problem.code, problem.severity, problem.path) == (Code.IMPOSSIBLE, Severity.ERROR, f"pool.sharing.{path}")
    assert yields(request_, on) is None


def test_misspelt_words_are_named() -> None:
    assert only(check(sharing("timeslicing"), T4)).allowed == "none, time-slicing, mps, mig"
    assert only(check(sharing("mig", profile="MIG1g", mig_strategy="Mixed"), A100)).allowed == "single, mixed"


def test_the_nodes_gpus_are_shared_in_one_way() -> None:
    same = [sharing("time-slicing", replicas=4), sharing("time-slicing", replicas=4)]
    assert list(gpu_sharing.one_strategy_a_node(same)) == []
    for other in (sharing("mps", replicas=4), sharing("time-slicing", replicas=2)):
        assert only(list(gpu_sharing.one_strategy_a_node([same[0], other]))).code is Code.IMPOSSIBLE
    assert list(gpu_sharing.one_strategy_a_node([])) == []


def test_the_device_plugin_has_mps_as_an_experiment_with_replicas() -> None:
    warning = only(list(gpu_sharing.with_device_plugin(sharing("mps", replicas=4))))
    assert (warning.severity, "v0.15.0" in warning.message) == (Severity.WARNING, True)
    missing = list(gpu_sharing.with_device_plugin(sharing("mps", active_thread_percentage=20)))
    assert errors(missing)[0].path == "pool.sharing.replicas"
    assert list(gpu_sharing.with_device_plugin(sharing("time-slicing", replicas=4))) == []


def test_more_than_a_whole_gpu_is_a_warning() -> None:
    shares = [
        Share(gpu="0", percentage=60, path="a"),
        Share(gpu="0", percentage=40, path="b"),
        Share(gpu="1", percentage=90, path="c"),
    ]
    assert list(gpu_sharing.totals(shares)) == []
    problem = only(list(gpu_sharing.totals([*shares, Share(gpu="0", percentage=0.5, path="d")])))
    assert (problem.severity, problem.path) == (Severity.WARNING, "d")
    assert "100.5 %" in problem.message


@pytest.mark.parametrize(
    ("request_", "on", "resource", "each", "memory"),
    [
        (sharing("none"), T4, "nvidia.com/gpu", 1, 16),
        (sharing("time-slicing", replicas=4), T4, "nvidia.com/gpu", 4, 16),
        (sharing("time-slicing", replicas=4, rename=True), T4, "nvidia.com/gpu.shared", 4, 16),
        (sharing("mps", replicas=10), T4, "nvidia.com/gpu", 10, Fraction(8, 5)),
        (sharing("mig", profile="MIG1g"), A100, "nvidia.com/gpu", 7, 10),
        (sharing("mig", profile="MIG1g", mig_strategy="mixed"), A100, "nvidia.com/mig-1g.10gb", 7, 10),
        (sharing("mig", profile="MIG1g", mig_strategy="mixed"), A100_40, "nvidia.com/mig-1g.5gb", 7, 5),
        (sharing("mig", profile="MIG3g", mig_strategy="mixed"), A100_40, "nvidia.com/mig-3g.20gb", 2, 20),
        (
            sharing("time-slicing", replicas=2, profile="MIG2g", mig_strategy="mixed", rename=True),
            A100_40,
            "nvidia.com/mig-2g.10gb.shared",
            6,
            10,
        ),
    ],
)
def test_what_one_gpu_yields(request_: SharingRequest, on: Gpu, resource: str, each: int, memory: int | Fraction) -> None:
    found = yields(request_, on)
    assert found is not None
    assert (found.resource, found.each, found.memory_gib) == (resource, each, memory)


def test_a_yield_says_itself_and_its_labels() -> None:
    found = yields(sharing("time-slicing", replicas=4), T4)
    assert str(found) == "one GPU yields 4 x nvidia.com/gpu, 16 GiB each, memory not isolated"
    assert found is not None
    assert found.labels == {"nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/gpu.replicas": "4"}
    assert found.product_suffix == "-SHARED"
    renamed = yields(sharing("mps", replicas=4, rename=True), T4)
    assert renamed is not None
    assert renamed.labels == {"nvidia.com/gpu.sharing-strategy": "mps", "nvidia.com/gpu.replicas": "4"}
    assert renamed.product_suffix == ""
    alone = yields(sharing("none"), T4)
    assert alone is not None
    assert alone.labels == {"nvidia.com/gpu.sharing-strategy": "none"}


def test_from_zero_only_whole_gpus_bring_a_node() -> None:
    for request in (
        sharing("mig", profile="MIG1g", mig_strategy="mixed"),
        sharing("time-slicing", replicas=4, rename=True),
        sharing("mps", replicas=4, rename=True),
    ):
        problem = only(list(from_zero(request, "pool.min_count")))
        assert (problem.severity, problem.path) == (Severity.WARNING, "pool.min_count")
        assert problem.source.startswith("Azure/AKS issue 5161")
    for request in (sharing("none"), sharing("mig", profile="MIG1g"), sharing("time-slicing", replicas=4)):
        assert list(from_zero(request, "pool.min_count")) == []


# NVIDIA's device plugin, v0.20.0


def config(sharing_: dict[str, object] | None = None, **flags: object) -> dict[str, object]:
    return {"version": "v1", "flags": flags, "sharing": sharing_ or {}}


def resources(name: str = "nvidia.com/gpu", replicas: object = 4, **more: object) -> dict[str, object]:
    return {"resources": [{"name": name, "replicas": replicas, **more}]}


@pytest.mark.parametrize(
    "good",
    [
        config(),
        config({"timeSlicing": {"renameByDefault": True, "failRequestsGreaterThanOne": True, **resources()}}),
        config({"timeSlicing": resources("nvidia.com/mig-1g.5gb", 2)}, migStrategy="mixed"),
        config({"mps": resources()}),
        config(migStrategy="single", plugin={"deviceListStrategy": ["envvar", "cdi-cri"], "deviceIDStrategy": "index"}),
    ],
)
def test_configurations_that_the_plugin_takes(good: dict[str, object]) -> None:
    assert list(device_plugin.check(good, "config")) == []


@pytest.mark.parametrize(
    ("bad", "path"),
    [
        ({"sharing": {}}, "version"),
        (config({"timeSlicing": resources(), "mps": resources()}), "sharing"),
        (config({"mps": resources("nvidia.com/mig-1g.5gb")}), "sharing.mps.resources[0].name"),
        (config({"timeSlicing": resources("amd.com/gpu")}), "sharing.timeSlicing.resources[0].name"),
        (config({"timeSlicing": resources(replicas=1)}), "sharing.timeSlicing.resources[0].replicas"),
        (config({"timeSlicing": resources(replicas="4")}), "sharing.timeSlicing.resources[0].replicas"),
        (config(migStrategy="both"), "flags.migStrategy"),
        (config(plugin={"deviceListStrategy": "file"}), "flags.plugin.deviceListStrategy"),
    ],
)
def test_configurations_that_the_plugin_refuses(bad: dict[str, object], path: str) -> None:
    problem = only(list(device_plugin.check(bad, "config")))
    assert (problem.severity, problem.path) == (Severity.ERROR, f"config.{path}")


def test_what_the_plugin_ignores_and_what_nobody_knows_are_warnings() -> None:
    ignored = list(device_plugin.check(config({"timeSlicing": resources(rename="a", devices=[0])}), "config"))
    assert [(problem.severity, problem.path[-6:]) for problem in ignored] == [
        (Severity.WARNING, "rename"),
        (Severity.WARNING, "evices"),
    ]
    unknown = only(list(device_plugin.check(config({"mps": {"failRequestsGreaterThanOne": True, **resources()}}), "config")))
    assert (unknown.code, unknown.severity) == (Code.UNKNOWN, Severity.WARNING)


def test_pinned_versions_and_names_of_the_plugin() -> None:
    assert device_plugin.PINNED_IMAGE.startswith("nvcr.io/nvidia/k8s-device-plugin:v0.18.0@sha256:")
    assert facts.one("aks.device_plugin", "latest release").value == "v0.20.0"
    assert device_plugin.CONFIG_LABEL == "nvidia.com/device-plugin.config"


# NVIDIA's DCGM exporter


def test_counters_of_the_default_set_are_taken_and_those_of_the_page_are_not() -> None:
    assert list(dcgm.check(["DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_PROF_DRAM_ACTIVE"], T4, "alerts")) == []
    for name in ("DCGM_FI_DEV_SM_UTIL", "DCGM_FI_DEV_TEMPERATURE", "DCGM_FI_DEV_MEMORY_UTIL"):
        problem = only(list(dcgm.check([name], T4, "alerts")))
        assert (problem.code, problem.severity) == (Code.NOT_OFFERED, Severity.ERROR)
        assert list(dcgm.check(problem.instead, T4, "alerts")) == []
    assert only(list(dcgm.check(["DCGM_FI_DEV_NOISE"], None, "alerts"))).code is Code.UNKNOWN


def test_profiling_counters_need_volta() -> None:
    assert only(list(dcgm.check(["DCGM_FI_PROF_GR_ENGINE_ACTIVE"], K80, "alerts"))).code is Code.IMPOSSIBLE
    assert list(dcgm.check(["DCGM_FI_DEV_GPU_UTIL"], K80, "alerts")) == []
    assert list(dcgm.check(["DCGM_FI_PROF_GR_ENGINE_ACTIVE"], gpu("Standard_NC6s_v3"), "alerts")) == []
    assert [fact.value for fact in facts.about("aks.dcgm")[:2]] == ["9400", "19400"]


TEXT = st.text(max_size=8)


@given(
    st.builds(
        SharingRequest,
        path=st.just("s"),
        strategy=st.sampled_from(["none", "time-slicing", "mps", "mig"]) | TEXT,
        replicas=st.none() | st.integers(-2, 50),
        profile=st.sampled_from(["", "MIG1g", "MIG7g", "x"]),
        mig_strategy=st.sampled_from(["single", "mixed", ""]),
        rename=st.booleans(),
        active_thread_percentage=st.none() | st.floats(),
        pinned_memory_limit=st.sampled_from(["", "4G", "512M", "x"]),
    ),
    st.sampled_from([T4, A100, MI300X, K80]),
)
def test_whatever_is_asked_either_yields_something_or_has_a_problem(request: SharingRequest, on: Gpu) -> None:
    found = yields(request, on)
    assert (found is None) == bool(check(request, on))
    if found is not None:
        assert found.each >= 1
        assert found.memory_gib is not None
        assert 0 < found.memory_gib <= on.memory_gib
    for problem in (*gpu_sharing.with_device_plugin(request), *gpu_sharing_yield.from_zero(request, "s")):
        assert problem.message


@given(st.lists(st.builds(Share, gpu=st.sampled_from(["0", "1"]), percentage=st.floats(), path=st.just("p"))))
def test_sums_never_raise_and_name_each_gpu_once(shares: list[Share]) -> None:
    assert len(list(gpu_sharing.totals(shares))) <= 2


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["resources", "name", "plugin", "mps"]) | TEXT, inner)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["version", "flags", "sharing"]), VALUES))
def test_no_configuration_raises(given_config: dict[str, object]) -> None:
    for problem in device_plugin.check(given_config, "config"):
        assert problem.path.startswith("config")
