"""Jobs on several nodes and queues of teams: their manifests and their problems."""

import contextlib
import json
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.groups import JOBSET, KUEUE
from azure_gpu.kubernetes import jobs as kubernetes_jobs, worker_group
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare, queues
from azure_gpu.kubernetes.gpu_objects.args import ClusterObjectsSettings
from azure_gpu.kubernetes.gpu_objects.resolve import resolve_objects
from azure_gpu.kubernetes.gpu_objects.spec import ClusterObjectsSpec, GpuPool
from azure_gpu.kubernetes.sharing_args import sharing_request
from tests.components.recording import COMPUTED, Recorded, declare

PATH = "clusters.c"
RELEASE = "kubernetes:helm.sh/v3:Release"
POOL = GpuPool("t4", f"{PATH}.gpu_pools.t4", "Standard_NC4as_T4_v3", sharing_request({}, ""), max_nodes=4)
OTHER = GpuPool("a100", f"{PATH}.gpu_pools.a100", "Standard_NC24ads_A100_v4", sharing_request({}, ""), max_nodes=1)
TEAMS: ClusterObjectsSettings = {
    "queues": {"vision": {"gpus": 3}, "speech": {"gpus": 1, "borrow": 1, "reclaim": False}},
    "jobs": {"train": {"image": "a/b:1", "nodes": 4, "queue": "vision", "retries": 2, "timeout_minutes": 5}},
}


def resolved(settings: ClusterObjectsSettings, *pools: GpuPool) -> tuple[ClusterObjectsSpec, list[Problem]]:
    return resolve_objects(settings, pools or (POOL,), PATH)


def recorded(spec: ClusterObjectsSpec) -> Recorded:
    def build() -> None:
        provider = kubernetes.Provider("login", kubeconfig="{}")
        gpu_objects_declare.declare("c", spec, images={}, opts=pulumi.ResourceOptions(provider=provider))

    return declare(build, preview=False)


def test_a_job_on_several_nodes_is_a_jobset_that_starts_again_as_a_whole() -> None:
    spec, problems = resolved(TEAMS)
    assert problems == []
    made = json.loads(json.dumps(kubernetes_jobs.manifest(spec.jobs["train"], "a/b:1")))
    assert (made["apiVersion"], made["kind"]) == ("jobset.x-k8s.io/v1alpha2", "JobSet")
    assert made["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "vision"
    policy = made["spec"]["failurePolicy"]
    assert policy["maxRestarts"] == 2
    assert policy["rules"][0]["action"] == "RestartJobSetAndIgnoreMaxRestarts"
    job = made["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert (job["completions"], job["parallelism"], job["backoffLimit"], job["activeDeadlineSeconds"]) == (4, 4, 0, 300)
    env = {each["name"]: each for each in job["template"]["spec"]["containers"][0]["env"]}
    workers = json.loads(env["TF_CONFIG"]["value"].replace("$(WORKER_INDEX)", "3"))["cluster"]["worker"]
    assert workers[3] == "train-workers-0-3.train:2222"


def test_a_group_may_have_the_longest_name_that_jobset_takes_and_no_longer_one() -> None:
    longest = "t" * worker_group.longest_name(2)
    assert len(f"{longest}-workers-0-1-abcde") == 63  # of a pod, as JobSet counts it
    assert resolved({"jobs": {longest: {"image": "a/b:1", "nodes": 2}}})[1] == []


@pytest.mark.parametrize(
    ("state", "wait", "fails"), [("Failed", True, True), ("Failed", False, False), ("Completed", True, False)]
)
def test_an_update_that_waits_for_a_group_fails_as_it_does(
    monkeypatch: pytest.MonkeyPatch, state: str, wait: bool, fails: bool
) -> None:
    conditions = [{"type": "Failed", "status": "True", "message": "jobset failed due to one or more job failures"}]
    status = {"terminalState": state, "conditions": conditions if state == "Failed" else []}
    monkeypatch.setitem(COMPUTED, f"kubernetes:{worker_group.API_VERSION}:JobSet", lambda _name, _inputs: {"status": status})
    spec, problems = resolved({"jobs": {"train": {"image": "a/b:1", "nodes": 2, "wait": wait}}})
    assert problems == []
    refused = pytest.raises(pulumi.RunError, match="job train failed: jobset failed due to")
    with refused if fails else contextlib.nullcontext():
        made = recorded(spec).named("c-job-train")
        assert made.delete_before_replace
        assert made.replace_on_changes == ["spec"]
        annotations = made.inputs["metadata"]["annotations"]
        assert annotations.get("pulumi.com/waitFor") == ("jsonpath={.status.terminalState}" if wait else None)


def test_a_job_on_one_node_is_the_job_that_it_was() -> None:
    spec, problems = resolved({"jobs": {"train": {"image": "a/b:1", "nodes": 1, "environment": {"TF_CONFIG": "{}"}}}})
    assert problems == []
    assert kubernetes_jobs.manifest(spec.jobs["train"], "a/b:1")["kind"] == "Job"
    assert not spec.groups
    assert not recorded(spec).of_type(RELEASE)


def test_the_controllers_are_released_where_they_are_needed_before_what_they_control() -> None:
    found = recorded(resolved(TEAMS)[0])
    releases = {each.inputs["name"]: each.inputs for each in found.of_type(RELEASE)}
    assert {name: (each["chart"], each["version"], each["namespace"]) for name, each in releases.items()} == {
        "jobset": (JOBSET.address, JOBSET.version, "jobset-system"),
        "kueue": (KUEUE.address, KUEUE.version, "kueue-system"),
    }
    assert releases["jobset"]["values"]["image"]["repository"] == "registry.k8s.io/jobset/jobset"
    kinds = [str(each.inputs.get("kind")) for each in found.registrations if each.inputs.get("apiVersion") == queues.API_VERSION]
    assert sorted(kinds) == ["ClusterQueue", "ClusterQueue", "LocalQueue", "LocalQueue", "ResourceFlavor"]


def test_a_cluster_that_has_the_controllers_keeps_them() -> None:
    spec, _ = resolved({**TEAMS, "groups": False, "queue_controller": False})
    assert not recorded(spec).of_type(RELEASE)


def test_a_queue_is_a_quota_of_its_pool_and_lends_what_it_does_not_use() -> None:
    made = {
        (each["kind"], each["metadata"]["name"]): each["spec"] for each in queues.manifests(resolved(TEAMS)[0].queues, "jobs")
    }
    vision, speech = made["ClusterQueue", "vision"], made["ClusterQueue", "speech"]
    assert vision["cohort"] == speech["cohort"] == "t4"
    (group,) = speech["resourceGroups"]
    assert group["flavors"][0]["resources"][0] == {"name": "nvidia.com/gpu", "nominalQuota": "1", "borrowingLimit": "1"}
    assert group["coveredResources"] == ["nvidia.com/gpu", "cpu", "memory"]
    assert (vision["preemption"]["reclaimWithinCohort"], speech["preemption"]["reclaimWithinCohort"]) == ("Any", "Never")
    assert "borrowingLimit" not in vision["resourceGroups"][0]["flavors"][0]["resources"][0]
    assert made["ResourceFlavor", "t4"] == {"nodeLabels": {"azure-gpu/pool": "t4"}}


@pytest.mark.parametrize(
    ("settings", "path", "part"),
    [
        ({"jobs": {"train": {"image": "a/b:1", "nodes": 5}}}, "jobs.train.nodes", "can't hold that many workers"),
        ({"jobs": {"train": {"image": "a/b:1", "nodes": 0}}}, "jobs.train.nodes", "too small"),
        (
            {"jobs": {"train": {"image": "a/b:1", "nodes": 2, "parallelism": 2}}},
            "jobs.train.parallelism",
            "can't be combined with `nodes`",
        ),
        ({"jobs": {"t" * 46: {"image": "a/b:1", "nodes": 2}}}, f"jobs.{'t' * 46}", "too long for JobSet"),
        ({"jobs": {"3d": {"image": "a/b:1", "nodes": 2}}}, "jobs.3d", "start with a letter"),
        (
            {"jobs": {"train": {"image": "a/b:1", "nodes": 2, "environment": {"WORKER_INDEX": "1"}}}},
            "jobs.train.environment.WORKER_INDEX",
            "set by the component",
        ),
        (
            {"jobs": {"train": {"image": "a/b:1", "nodes": 2, "secret_environment": {"TF_CONFIG": "{}"}}}},
            "jobs.train.secret_environment.TF_CONFIG",
            "set by the component",
        ),
        ({"jobs": {"train": {"image": "a/b:1", "queue": "vision"}}}, "jobs.train.queue", "no queue of this name"),
        ({**TEAMS, "queues": {"vision": {"gpus": 3}}}, "jobs.train.nodes", "requests 4 of nvidia.com/gpu, but its queue has 3"),
        ({"queues": {"vision": {"gpus": 3}, "speech": {"gpus": 2}}}, "queues", "have 5 GPUs in total"),
        ({"queues": {"vision": {"gpus": -1}}}, "queues.vision.gpus", "too small"),
        ({"queues": {"vision": {"gpus": 1, "pool": "none"}}}, "queues.vision.pool", "no GPU pool of this name"),
        ({"queues": {"Vision": {"gpus": 1}}}, "queues.Vision", "not a valid Kubernetes name"),
    ],
)
def test_what_would_never_start_is_refused_at_its_key(settings: Any, path: str, part: str) -> None:
    (problem,) = resolved(settings)[1]
    assert problem.path == f"{PATH}.{path}"
    assert part in problem.message
    assert problem.fix


@pytest.mark.parametrize(
    ("nodes", "gpus", "allowed"), [(4, 1, ""), (5, 1, "1 to 4"), (2, 2, ""), (3, 2, "1 to 2"), (2, 4, "1 to 1")]
)
def test_workers_share_a_node_that_has_gpus_for_several(nodes: int, gpus: int, allowed: str) -> None:
    pool = GpuPool("t4", f"{PATH}.gpu_pools.t4", "Standard_NC64as_T4_v3", sharing_request({}, ""), max_nodes=1)
    _, problems = resolved({"jobs": {"train": {"image": "a/b:1", "nodes": nodes, "gpus": gpus}}}, pool)
    assert [each.allowed for each in problems] == [allowed] * bool(allowed)


def test_a_job_and_its_queue_are_of_one_pool() -> None:
    settings: ClusterObjectsSettings = {
        "queues": {"vision": {"gpus": 1, "pool": "t4"}},
        "jobs": {"train": {"image": "a/b:1", "queue": "vision", "pool": "a100"}},
    }
    (problem,) = resolved(settings, POOL, OTHER)[1]
    assert problem.path == f"{PATH}.jobs.train.queue"
    (unsaid,) = resolved({"queues": {"vision": {"gpus": 1}}}, POOL, OTHER)[1]
    assert unsaid.path == f"{PATH}.queues.vision.pool"
