"""Objects on a cluster with GPU pools: valid manifests, without more privileges than NVIDIA's own, only on GPU nodes."""

import json
import re
from typing import Any

import kubernetes_validate
import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from azure_gpu.catalog.services.aks import device_plugin
from azure_gpu.catalog.services.gpu_sharing import Strategy
from azure_gpu.kubernetes import jobs as kubernetes_jobs
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare
from azure_gpu.kubernetes.gpu_objects.args import ClusterObjectsSettings
from azure_gpu.kubernetes.gpu_objects.resolve import resolve_objects
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec, GpuPool, announcements, node_labels
from azure_gpu.kubernetes.sharing_args import SharingArgs, sharing_request
from azure_gpu.shared.workloads import Workload
from tests.components.recording import Recorded, declare, readable

VERSIONS = ("1.33", "1.34", "1.35", "1.36", "1.37")
T4, T4_FOUR, A100 = "Standard_NC4as_T4_v3", "Standard_NC64as_T4_v3", "Standard_NC24ads_A100_v4"
SLICED: SharingArgs = {"strategy": Strategy.TIME_SLICING, "replicas": 4}
BY_MPS: SharingArgs = {"strategy": Strategy.MPS, "replicas": 2, "active_thread_percentage": 20}
MIXED: SharingArgs = {"strategy": Strategy.MIG, "profile": "MIG1g", "mig_strategy": "mixed"}
JOBS: ClusterObjectsSettings = {
    "namespace": {"name": "work", "max_gpus": 8},
    "jobs": {
        "train": {"workload": Workload.MNIST, "pool": "shared", "args": ["--steps", "200"]},
        "small": {"image": "nvcr.io/nvidia/cuda:12.4", "pool": "mps", "pinned_memory_limit": "4G", "environment": {"A": "b"}},
        "piece": {"image": "a/b:1", "pool": "cut", "cpu": 2, "memory_in_gib": 3.5, "timeout_minutes": 90, "wait": True},
    },
}


def pool(name: str, size: str, sharing: SharingArgs | None = None, **more: Any) -> GpuPool:
    path = f"clusters.research.gpu_pools.{name}"
    return GpuPool(name, path, size, sharing_request(sharing or {}, f"{path}.sharing"), **more)


POOLS = [pool("shared", T4, SLICED), pool("mps", T4_FOUR, BY_MPS), pool("cut", A100, MIXED, spot=True, min_nodes=1)]


def resolved(settings: ClusterObjectsSettings, pools: list[GpuPool]) -> ClusterObjectsSpec:
    spec, problems = resolve_objects(settings, pools, "clusters.research")
    assert [problem for problem in problems if problem.severity == "error"] == []
    return spec


def manifests(spec: ClusterObjectsSpec) -> list[dict[str, Any]]:
    """Everything, as plain data."""
    jobs = [kubernetes_jobs.manifest(job, "registry.azurecr.io/mnist:1") for job in spec.jobs.values()]
    return json.loads(json.dumps([*gpu_objects_declare.serving(spec), *gpu_objects_declare.of_jobs(spec), *jobs]))


def by_name(spec: ClusterObjectsSpec, kind: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in manifests(spec) if each["kind"] == kind}


def recorded(spec: ClusterObjectsSpec, *, preview: bool = False) -> Recorded:
    def build() -> None:
        provider = kubernetes.Provider("login", kubeconfig="{}")
        around = pulumi.ResourceOptions(provider=provider)
        gpu_objects_declare.declare("research", spec, images={"mnist": "registry.azurecr.io/mnist:1"}, opts=around)

    return declare(build, preview=preview)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_is_what_kubernetes_takes_field_by_field(version: str) -> None:
    for manifest in manifests(resolved(JOBS, POOLS)):
        kubernetes_validate.validate(manifest, version, strict=True)


def test_each_way_of_sharing_has_a_plugin_on_the_nodes_whose_label_names_it() -> None:
    plugins = {name: each for name, each in by_name(resolved(JOBS, POOLS), "DaemonSet").items() if "device-plugin" in name}
    assert {name: each["spec"]["template"]["spec"]["nodeSelector"] for name, each in plugins.items()} == {
        "nvidia-device-plugin-time-slicing-4": {"nvidia.com/device-plugin.config": "time-slicing-4"},
        "nvidia-device-plugin-mps-2": {"nvidia.com/device-plugin.config": "mps-2"},
        "nvidia-device-plugin-mig-mixed": {"nvidia.com/device-plugin.config": "mig-mixed"},
    }
    images = {each["spec"]["template"]["spec"]["containers"][0]["image"] for each in plugins.values()}
    assert images == {device_plugin.PINNED_IMAGE}
    assert node_labels(POOLS[0].sharing, T4) == {"nvidia.com/device-plugin.config": "time-slicing-4"}


@pytest.mark.parametrize(
    ("sharing", "size", "key", "document"),
    [
        ({}, T4, "whole", {"version": "v1", "flags": {"migStrategy": "none"}}),
        (
            SLICED,
            T4,
            "time-slicing-4",
            {
                "version": "v1",
                "flags": {"migStrategy": "none"},
                "sharing": {
                    "timeSlicing": {
                        "renameByDefault": False,
                        "failRequestsGreaterThanOne": True,
                        "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
                    }
                },
            },
        ),
        (
            {**BY_MPS, "rename": True},
            T4,
            "mps-2-renamed",
            {
                "version": "v1",
                "flags": {"migStrategy": "none"},
                "sharing": {"mps": {"renameByDefault": True, "resources": [{"name": "nvidia.com/gpu", "replicas": 2}]}},
            },
        ),
        ({"strategy": "mig", "profile": "MIG3g"}, A100, "mig-single", {"version": "v1", "flags": {"migStrategy": "single"}}),
        (
            {"strategy": "time-slicing", "replicas": 2, "profile": "MIG1g", "mig_strategy": "mixed"},
            A100,
            "mig-mixed-1g.10gb-time-slicing-2",
            {
                "version": "v1",
                "flags": {"migStrategy": "mixed"},
                "sharing": {
                    "timeSlicing": {
                        "renameByDefault": False,
                        "failRequestsGreaterThanOne": True,
                        "resources": [{"name": "nvidia.com/mig-1g.10gb", "replicas": 2}],
                    }
                },
            },
        ),
    ],
    ids=["whole", "time-slicing", "mps-renamed", "mig-single", "mig-mixed-sliced"],
)
def test_the_plugins_configuration_is_the_one_that_its_readme_has(
    sharing: SharingArgs, size: str, key: str, document: dict[str, Any]
) -> None:
    spec = resolved({}, [pool("one", size, sharing)])
    [config] = [each for name, each in by_name(spec, "ConfigMap").items() if name.startswith("nvidia-device-plugin")]
    assert json.loads(config["data"]["config.yaml"]) == document
    [selector] = {
        each["spec"]["template"]["spec"]["nodeSelector"]["nvidia.com/device-plugin.config"]
        for name, each in by_name(spec, "DaemonSet").items()
        if "device-plugin" in name
    }
    assert selector == key


def test_nothing_that_serves_gpus_runs_on_nodes_without_and_all_of_it_reaches_tainted_ones() -> None:
    for daemon in by_name(resolved(JOBS, POOLS), "DaemonSet").values():
        pod = daemon["spec"]["template"]["spec"]
        assert "nvidia.com/device-plugin.config" in json.dumps([pod.get("nodeSelector"), pod.get("affinity")])
        assert {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"} in pod["tolerations"]
    on_spot = by_name(resolved(JOBS, POOLS), "DaemonSet")["nvidia-device-plugin-mig-mixed"]
    spot = {"key": "kubernetes.azure.com/scalesetpriority", "operator": "Equal", "value": "spot", "effect": "NoSchedule"}
    assert spot in on_spot["spec"]["template"]["spec"]["tolerations"]


def test_what_turns_features_into_labels_has_a_place_where_aks_keeps_nodes_for_its_own_pods() -> None:
    deployments = by_name(resolved({}, [pool("only", T4)]), "Deployment")
    assert deployments.keys() == {"nfd-master", "nfd-gc"}
    for each in deployments.values():
        assert each["spec"]["template"]["spec"]["tolerations"] == [{"key": "CriticalAddonsOnly", "operator": "Exists"}]


def test_privileges_are_those_of_nvidias_own_manifests_and_no_more() -> None:
    spec = resolved(JOBS, POOLS)
    held = {
        (name, container["name"]): container["securityContext"]
        for name, each in by_name(spec, "DaemonSet").items()
        for kind in ("initContainers", "containers")
        for container in each["spec"]["template"]["spec"].get(kind, [])
    }
    none = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    admin = {"capabilities": {"add": ["SYS_ADMIN"]}}
    assert held == {
        ("nvidia-device-plugin-time-slicing-4", "nvidia-device-plugin"): none,
        ("nvidia-device-plugin-mps-2", "nvidia-device-plugin"): none,
        ("nvidia-device-plugin-mig-mixed", "nvidia-device-plugin"): admin,
        ("nvidia-mps-control-daemon-mps-2", "mps-control-daemon-mounts"): {"privileged": True},
        ("nvidia-mps-control-daemon-mps-2", "mps-control-daemon"): {"privileged": True},
        **{
            (f"gpu-feature-discovery-{key}", "gpu-feature-discovery"): {"privileged": True}
            for key in ("time-slicing-4", "mps-2", "mig-mixed")
        },
        ("dcgm-exporter", "dcgm-exporter"): {"runAsNonRoot": False, "runAsUser": 0, **admin},
    }
    levels = {
        name: each["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for name, each in by_name(spec, "Namespace").items()
    }
    assert levels == {"gpu-resources": "privileged", "work": "baseline"}


def test_what_runs_beside_the_gpus_is_named_by_what_is_in_it() -> None:
    spec = resolved(JOBS, POOLS)
    pods = [each["spec"]["template"]["spec"] for kind in ("DaemonSet", "Deployment") for each in by_name(spec, kind).values()]
    images = {each["image"] for pod in pods for kind in ("initContainers", "containers") for each in pod.get(kind, [])}
    assert len(images) == 3
    assert all(re.search(r":[^@]+@sha256:[0-9a-f]{64}$", image) for image in images), images


def test_a_job_asks_for_its_share_where_it_is_and_says_nothing_of_cleaning_up() -> None:
    jobs = by_name(resolved(JOBS, POOLS), "Job")
    train = jobs["train"]["spec"]
    pod = train["template"]["spec"]
    assert pod["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "1"}}
    assert pod["containers"][0]["image"] == "registry.azurecr.io/mnist:1"
    assert pod["nodeSelector"] == {"azure-gpu/pool": "shared"}
    assert pod["tolerations"] == [{"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}]
    assert (pod["restartPolicy"], train["backoffLimit"]) == ("Never", 0)
    assert "ttlSecondsAfterFinished" not in train
    assert jobs["train"]["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    piece = jobs["piece"]
    assert piece["spec"]["template"]["spec"]["containers"][0]["resources"] == {
        "limits": {"nvidia.com/mig-1g.10gb": "1", "memory": "3584Mi"},
        "requests": {"cpu": "2", "memory": "3584Mi"},
    }
    assert piece["spec"]["activeDeadlineSeconds"] == 5400
    assert piece["metadata"]["annotations"] == {"pulumi.com/timeoutSeconds": "5700"}  # an update waits longer than the job may


def test_shares_by_mps_are_variables_of_the_job_over_those_of_its_pool() -> None:
    container = by_name(resolved(JOBS, POOLS), "Job")["small"]["spec"]["template"]["spec"]["containers"][0]
    assert {variable["name"]: variable["value"] for variable in container["env"]} == {
        "A": "b",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "20",
        "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT": "0=4G",
    }


def test_the_quota_counts_what_each_pools_gpus_are_called() -> None:
    [quota] = by_name(resolved(JOBS, POOLS), "ResourceQuota").values()
    assert quota["metadata"]["namespace"] == "work"
    assert quota["spec"]["hard"] == {"requests.nvidia.com/gpu": "8", "requests.nvidia.com/mig-1g.10gb": "8"}


def test_metrics_are_counters_of_the_default_set_that_the_gpus_have() -> None:
    spec = resolved(JOBS, POOLS)
    [counters] = [each for name, each in by_name(spec, "ConfigMap").items() if name.startswith("dcgm")]
    lines = counters["data"]["counters.csv"].splitlines()
    assert "DCGM_FI_DEV_GPU_UTIL, gauge, in %" in lines
    assert all(len(line.split(", ")) == 3 for line in lines)
    assert not {"DCGM_FI_DEV_SM_UTIL", "DCGM_FI_DEV_TEMPERATURE", "DCGM_FI_DEV_MEMORY_UTIL"} & {
        line.split(",")[0] for line in lines
    }
    old, _ = resolve_objects({}, [pool("old", "Standard_NC6")], "clusters.research")
    assert not any("PROF" in counter for counter in old.counters)


def test_a_preview_says_what_one_gpu_of_each_pool_yields() -> None:
    spec = resolved(JOBS, POOLS)
    lines = [
        "pool shared: one GPU yields 4 x nvidia.com/gpu, 16 GiB each, memory not isolated",
        "pool mps: one GPU yields 2 x nvidia.com/gpu, 8 GiB each",
        "pool cut: one GPU yields 7 x nvidia.com/mig-1g.10gb, 10 GiB each",
    ]
    assert announcements(spec) == lines
    assert recorded(spec, preview=True).log == lines
    assert recorded(spec).log == []


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_jobs_come_after_what_serves_gpus_and_namespaces_come_first(preview: bool) -> None:
    done = recorded(resolved(JOBS, POOLS), preview=preview)
    spaces = {each.name: each.urn for each in done.of_type("kubernetes:core/v1:Namespace")}
    plugins = {each.urn for each in done.of_type("kubernetes:apps/v1:DaemonSet")}
    for daemon in done.of_type("kubernetes:apps/v1:DaemonSet"):
        assert spaces["research-namespace-gpu-resources"] in daemon.dependencies
    for job in done.of_type("kubernetes:batch/v1:Job"):
        assert plugins <= set(job.dependencies)
        assert set(spaces.values()) <= set(job.dependencies)


def test_what_two_clusters_of_a_stack_declare_has_names_of_its_own() -> None:
    spec = resolved(JOBS, POOLS)

    def build() -> None:
        for name in ("one", "other"):
            around = pulumi.ResourceOptions(provider=kubernetes.Provider(name, kubeconfig="{}"))
            gpu_objects_declare.declare(name, spec, images={"mnist": "r/mnist:1"}, opts=around)

    names = [(each.type, each.name) for each in declare(build).registrations]
    assert len(names) == len(set(names))


def test_a_variable_that_nobody_may_read_is_in_a_secret_and_nowhere_in_plain() -> None:
    settings: ClusterObjectsSettings = {"jobs": {"train": {"image": "a/b:1", "secret_environment": {"TOKEN": "of-nobody-else"}}}}
    done = recorded(resolved(settings, [pool("only", T4)]))
    assert all("of-nobody-else" not in readable(each.wire) for each in done.registrations)
    secret = done.one("kubernetes:core/v1:Secret")
    assert secret.inputs["stringData"] == {"TOKEN": "of-nobody-else"}
    [job] = done.of_type("kubernetes:batch/v1:Job")
    [variable] = job.inputs["spec"]["template"]["spec"]["containers"][0]["env"]
    assert variable == {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "train-environment", "key": "TOKEN"}}}
    assert secret.urn in job.dependencies


def test_without_pools_of_ones_own_only_the_namespace_and_the_jobs_are_declared() -> None:
    spec = resolved({"jobs": {"train": {"image": "a/b:1", "pool": "theirs"}}}, [])
    assert [each["kind"] for each in manifests(spec)] == ["Namespace", "Job"]
    pod = by_name(spec, "Job")["train"]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.azure.com/agentpool": "theirs"}


def test_what_isnt_wanted_is_left_out() -> None:
    settings: ClusterObjectsSettings = {
        "device_plugin": {"enabled": False},
        "feature_labels": False,
        "metrics": {"enabled": False},
    }
    assert [each["kind"] for each in manifests(resolved(settings, [pool("only", T4)]))] == ["Namespace"]


def test_a_size_without_a_gpu_or_that_nobody_knows_has_none() -> None:
    assert (pool("p", "Standard_HB120rs_v3").gpu, pool("p", "Standard_NC1_v9").gpu) == (None, None)
    shared = pool("p", "Standard_NV6ads_A10_v5").gpu
    assert shared is not None
    assert shared.memory_gib == 4  # a sixth of 24 GiB
