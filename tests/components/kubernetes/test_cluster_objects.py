"""Objects on a cluster, beyond what the cases show: valid manifests, images by their content, what a failed job does."""

import contextlib
import functools
import re
from typing import Any

import kubernetes_validate
import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from azure_gpu.catalog.problems import Severity
from azure_gpu.catalog.services.groups import JOBSET
from azure_gpu.kubernetes import jobs as kubernetes_jobs, worker_group
from azure_gpu.kubernetes.args import ClusterServiceSettings, SharingArgs, sharing_request
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare, serving
from azure_gpu.kubernetes.gpu_objects.resolve import resolve_objects
from azure_gpu.kubernetes.gpu_objects.spec import GpuPool, PoolNodes
from azure_gpu.stack.settings import read
from tests.components import recorded_bodies
from tests.components.recording import COMPUTED, PROJECT, STACK, SUBSCRIPTION, declare, plain
from tests.components.settings_of import TODAY, args_of, configuration, pure_problems

AT = "clusters.research.services.digits"
SCORING: dict[str, Any] = {"workload": "scoring", "model": {"path": "digits/1/"}}
THEIRS = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/theirs"
# JobSet's, Kueue's and Helm's kinds, which Kubernetes itself doesn't have.
OF_CONTROLLERS = {"ClusterQueue", "JobSet", "LocalQueue", "Release", "ResourceFlavor"}


def pool(size: str, max_nodes: int = 1, profile: str = "") -> GpuPool:
    divided: SharingArgs = {"strategy": "mig", "profile": profile} if profile else {}
    sharing = sharing_request(divided, "clusters.c.gpu_pools.p.sharing")
    return GpuPool(
        name="p", path="clusters.c.gpu_pools.p", nodes=PoolNodes(size=size, sharing=sharing), min_nodes=0, max_nodes=max_nodes
    )


def recorded_manifests() -> list[tuple[str, dict[str, Any]]]:
    """What the cases, the shipped stacks and the examples put onto clusters, each once, with its name."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, body in recorded_bodies.recorded().items():
        for urn, resource in body.get("resources", {}).items():
            kind = urn.split("::")[-2].rpartition("$")[2]
            if kind.startswith("kubernetes:") and kind.rpartition(":")[2] not in OF_CONTROLLERS:
                manifest = whole(plain(resource["wire"]))
                found.setdefault(str(manifest), (f"{name}: {urn.rpartition('::')[2]}", manifest))
    return list(found.values())


def whole(value: Any) -> Any:
    """Numbers without a fraction as integers, which they were before they were on the wire."""
    if isinstance(value, dict):
        return {key: whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.mark.parametrize("version", ["1.33", "1.34", "1.35", "1.36", "1.37"])
def test_every_manifest_is_what_kubernetes_takes_field_by_field(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes_validate.utils, "schema_contents", functools.cache(kubernetes_validate.utils.schema_contents))
    wrong: list[str] = []
    for name, manifest in recorded_manifests():
        try:
            kubernetes_validate.validate(manifest, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            wrong.append(f"{name}: {error.message}")
    assert wrong == []


def test_what_runs_beside_the_gpus_is_named_by_what_is_in_it() -> None:
    images: set[str] = set()
    for _, manifest in recorded_manifests():
        if manifest["kind"] in ("DaemonSet", "Deployment") and manifest["metadata"]["namespace"] == "gpu-resources":
            pod = manifest["spec"]["template"]["spec"]
            images |= {each["image"] for kind in ("initContainers", "containers") for each in pod.get(kind, [])}
    assert len(images) == 3
    assert all(re.search(r":[^@]+@sha256:[0-9a-f]{64}$", image) for image in images), images


def test_only_the_control_daemon_of_mps_is_privileged() -> None:
    privileged: set[str] = set()
    for _, manifest in recorded_manifests():
        if manifest["kind"] in ("DaemonSet", "Deployment", "Job"):
            pod = manifest["spec"]["template"]["spec"]
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                rights = container["securityContext"]
                if rights != {"privileged": True}:
                    assert (rights["allowPrivilegeEscalation"], rights["capabilities"]["drop"]) == (False, ["ALL"])
                else:
                    privileged.add(container["name"])
    assert privileged == {"mps-control-daemon", "mps-control-daemon-mounts"}


@pytest.mark.parametrize(
    ("size", "profile", "profiled"),
    [("Standard_NC4as_T4_v3", "", False), ("Standard_NC24ads_A100_v4", "MIG1g", True), ("Standard_NC6", "MIG1g", False)],
)
def test_profiling_counters_are_those_of_mig_alone(size: str, profile: str, profiled: bool) -> None:
    of_pool = pool(size, profile=profile)
    spec, _ = resolve_objects({}, [of_pool], "clusters.c")
    assert any("PROF" in counter for counter in spec.counters) == spec.profiled == profiled
    assert "DCGM_FI_DEV_GPU_UTIL" in spec.counters


def test_a_mirror_has_every_default_image_and_chart() -> None:
    settings: Any = {"mirror": "acme.azurecr.io/m", "jobs": {"train": {"image": "a/b:1", "nodes": 2}}}
    spec, _ = resolve_objects(settings, [pool("Standard_NC4as_T4_v3")], "clusters.c")
    text = str(list(serving.manifests(spec)))
    assert set(re.findall(r"'image': '([^@']+)", text)) == {
        "acme.azurecr.io/m/nvidia/k8s-device-plugin:v0.18.0",
        "acme.azurecr.io/m/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless",
        "acme.azurecr.io/m/nfd/node-feature-discovery:v0.17.3",
    }
    assert JOBSET.of(spec.mirror)[::3] == ("oci://acme.azurecr.io/m/jobset/charts/jobset", "acme.azurecr.io/m/jobset/jobset")


def test_a_size_without_a_gpu_or_that_nobody_knows_has_none() -> None:
    assert (pool("Standard_HB120rs_v3").nodes.gpu, pool("Standard_NC1_v9").nodes.gpu) == (None, None)
    shared = pool("Standard_NV6ads_A10_v5").nodes.gpu
    assert shared is not None
    assert shared.memory_gib == 4  # a sixth of 24 GiB


def test_an_amd_pool_is_taken_where_the_plugin_is_somebody_elses() -> None:
    _, problems = resolve_objects({"device_plugin": {"enabled": False}}, [pool("Standard_ND96isr_MI300X_v5")], "clusters.c")
    assert [problem for problem in problems if problem.severity is Severity.ERROR] == []


def test_a_workload_that_no_registry_has_built_is_named() -> None:
    spec, _ = resolve_objects({"jobs": {"train": {"workload": "mnist"}}}, [pool("Standard_NC4as_T4_v3")], "clusters.c")
    [problem] = gpu_objects_declare.missing_images(spec, {})
    assert problem.path == "clusters.c.jobs.train.workload"
    assert gpu_objects_declare.missing_images(spec, {"mnist": "registry/mnist:1"}) == []


@pytest.mark.parametrize(
    ("state", "wait", "fails"), [("Failed", True, True), ("Failed", False, False), ("Completed", True, False)]
)
def test_an_update_that_waits_for_a_group_fails_as_it_does(
    monkeypatch: pytest.MonkeyPatch, state: str, wait: bool, fails: bool
) -> None:
    conditions = [{"type": "Failed", "status": "True", "message": "jobset failed due to one or more job failures"}]
    status = {"terminalState": state, "conditions": conditions if state == "Failed" else []}
    monkeypatch.setitem(COMPUTED, f"kubernetes:{worker_group.API_VERSION}:JobSet", lambda _name, _inputs: {"status": status})
    jobs: Any = {"jobs": {"train": {"image": "a/b:1", "nodes": 2, "wait": wait}}}
    spec, problems = resolve_objects(jobs, [pool("Standard_NC4as_T4_v3", max_nodes=4)], "clusters.c")
    assert problems == []

    def build() -> None:
        provider = kubernetes.Provider("login", kubeconfig="{}")
        gpu_objects_declare.declare("c", spec, images={}, opts=pulumi.ResourceOptions(provider=provider))

    refused = pytest.raises(pulumi.RunError, match="job train failed: jobset failed due to")
    with refused if fails else contextlib.nullcontext():
        made = declare(build).named("c-job-train")
        assert made.delete_before_replace
        assert made.replace_on_changes == ["spec"]
        annotations = made.inputs["metadata"]["annotations"]
        assert annotations.get("pulumi.com/waitFor") == ("jsonpath={.status.terminalState}" if wait else None)


@pytest.mark.parametrize(
    ("cluster", "identity", "writes"),
    [
        ({}, "create", True),
        ({"services": {"digits": SCORING}}, "create", True),
        ({"workload_identity": False}, "create", False),
        ({"on_cluster": False}, "create", False),
        (
            {"existing": "/subscriptions/s/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c"},
            "create",
            False,
        ),
        ({}, {"existing": "/subscriptions/s/resourceGroups/g/providers/a/b/c"}, False),
    ],
    ids=["pods", "a model", "no workload identity", "nothing on it", "somebody's cluster", "somebody's identity"],
)
def test_the_stacks_identity_may_use_the_storage_where_pods_speak_as_it(cluster: Any, identity: Any, writes: bool) -> None:
    settings = {"foundation": {"identity": identity}, "clusters": {"research": cluster}}
    assert read(configuration(settings), TODAY).parts["foundation"]["foundation"].get("write_blobs") is writes


@pytest.mark.parametrize(
    ("cluster", "foundation", "messages"),
    [
        ({}, {"identity": "create", "storage": "create"}, []),
        ({}, {"identity": "create"}, ["the stack has no storage"]),
        ({}, {"storage": "create"}, ["the stack has no identity of its own that pods can use"]),
        (
            {"existing": THEIRS},
            {"identity": "create", "storage": "create"},
            ["the stack has no identity of its own that pods can use"],
        ),
    ],
    ids=["whole", "storage", "identity", "existing"],
)
def test_what_a_service_with_a_model_needs_is_said_with_everything_else(
    cluster: Any, foundation: Any, messages: list[str]
) -> None:
    settings = {"foundation": foundation, "clusters": {"research": {**cluster, "services": {"digits": SCORING}}}}
    found = pure_problems(read(configuration(settings), TODAY), PROJECT, STACK)
    assert [each.message for each in found if each.path == f"{AT}.model"] == messages


def test_the_registry_builds_what_services_run() -> None:
    every = {"digits": SCORING, "small": {"image": "a/b:1", "gpus": 0}}
    services = {name: args_of(ClusterServiceSettings, settings) for name, settings in every.items()}
    assert kubernetes_jobs.workloads(services.values()) == {"scoring"}
