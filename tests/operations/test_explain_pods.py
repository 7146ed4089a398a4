"""What `explain` makes of pods and Jobs: planted failures, cause by cause, in Kubernetes' own words."""

from typing import Any

import pytest

from azure_gpu_operations.clusters.arm_facts import pool_of
from azure_gpu_operations.clusters.objects import events_of, job_of, node_of, pod_of
from azure_gpu_operations.explain import cluster_rules, pod_rules, report
from azure_gpu_operations.explain.cluster_facts import JobCase, PodCase, PodContext
from azure_gpu_operations.explain.facts import Cause, Finding, Refusal
from tests.operations import kubernetes_bodies as bodies

NODE = "aks-t4-12345678-vmss000000"
ONE_GPU = {"nvidia.com/gpu": "1"}
NO_GPU_FREE = (
    "0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available: 1 No preemption victims"
)
TAINTED = "0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are available"
NOBODY = "no nodes available to schedule pods"
AT_MAX = bodies.event("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached")
TOLERATES: dict[str, Any] = {"tolerations": [bodies.GPU_TOLERATION]}
AUTOSCALED = {"enableAutoScaling": True, "minCount": 0, "maxCount": 1}


def around(nodes: Any = (), pools: Any = None, **more: Any) -> PodContext:
    """Of one pool where nothing is said."""
    there = [bodies.pool()] if pools is None else pools
    return PodContext(tuple(map(node_of, nodes)), tuple(map(pool_of, there)), **more)


def case(body: dict[str, Any], *events: dict[str, Any], where: PodContext | None = None, **logs: tuple[str, ...]) -> PodCase:
    return PodCase(pod_of(body), events_of(events), logs, where if where is not None else around([bodies.node(gpus=ONE_GPU)]))


def explained(body: dict[str, Any], *events: dict[str, Any], where: PodContext | None = None, **logs: tuple[str, ...]) -> Finding:
    return pod_rules.explain(case(body, *events, where=where, **logs))


def pending(message: str, limits: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return bodies.pod(unschedulable=message, limits=ONE_GPU if limits is None else limits, **more)


# Waiting for a node.


def test_a_taint_that_is_not_tolerated_comes_with_the_lines_to_write() -> None:
    tainted = around([bodies.node(gpus=ONE_GPU, taints=[bodies.GPU_TAINT])])
    finding = explained(pending(TAINTED), where=tainted)
    assert finding.cause is Cause.UNTOLERATED
    assert "sku=gpu:NoSchedule" in finding.what
    assert "{key: sku, operator: Equal, value: gpu, effect: NoSchedule}" in finding.fix
    assert finding.evidence == (TAINTED,)


def test_the_taint_of_a_pool_without_a_node_counts_too() -> None:
    empty = around([], [bodies.pool(count=0, scaleSetPriority="Spot", **AUTOSCALED)])
    finding = explained(pending(NOBODY, **TOLERATES), where=empty)
    assert finding.cause is Cause.UNTOLERATED
    assert "kubernetes.azure.com/scalesetpriority=spot:NoSchedule" in finding.what


def test_a_user_of_one_namespace_hears_of_the_taint_by_the_message_alone() -> None:
    named = "0/1 nodes are available: 1 node(s) had untolerated taint {sku: gpu}. preemption: 0/1 nodes"
    finding = explained(pending(named), where=PodContext(is_edge=True))
    assert finding.cause is Cause.UNTOLERATED
    assert "key: sku, operator: Equal, value: gpu" in finding.fix


def test_gpus_that_nothing_tells_of_lack_a_device_plugin() -> None:
    finding = explained(pending(NO_GPU_FREE, **TOLERATES), where=around([bodies.node()]))
    assert finding.cause is Cause.NO_PLUGIN
    assert f"the node {NODE} has GPUs, but no device plugin" in finding.what


def test_a_plugin_that_went_away_leaves_a_resource_of_none() -> None:
    finding = explained(pending(NO_GPU_FREE, **TOLERATES), where=around([bodies.node(gpus={"nvidia.com/gpu": "0"})]))
    assert finding.cause is Cause.NO_PLUGIN


def test_a_pool_without_a_driver_is_told_apart() -> None:
    where = around([bodies.node()], [bodies.pool(gpuProfile={"driver": "None"})])
    finding = explained(pending(NO_GPU_FREE, **TOLERATES), where=where)
    assert "have no GPU driver" in finding.what


def test_gpus_under_another_name_are_named() -> None:
    where = around([bodies.node(gpus={"nvidia.com/gpu.shared": "4"})])
    finding = explained(pending(NO_GPU_FREE, **TOLERATES), where=where)
    assert finding.cause is Cause.OTHER_RESOURCE
    assert finding.fix == "request nvidia.com/gpu.shared in `resources.limits`"


def test_more_gpus_than_any_node_has_never_start() -> None:
    finding = explained(pending(NO_GPU_FREE, {"nvidia.com/gpu": "2"}, **TOLERATES))
    assert finding.cause is Cause.NEVER_STARTS
    assert "it requests 2 of nvidia.com/gpu, but no node has more than 1" in finding.what


def test_a_gpu_in_use_names_who_has_it() -> None:
    holder = pod_of(bodies.pod("other-1", phase="Running", node=NODE, limits=ONE_GPU))
    where = around([bodies.node(gpus=ONE_GPU)], holders=(holder,))
    finding = explained(pending(NO_GPU_FREE, **TOLERATES), where=where)
    assert finding.cause is Cause.NO_FREE_GPU
    assert finding.what == "all 1 of nvidia.com/gpu are in use, and no autoscaler adds a node (by jobs/other-1)"


def test_an_autoscaler_at_its_limit_is_named_with_the_limit() -> None:
    where = around([bodies.node(gpus=ONE_GPU)], [bodies.pool(**AUTOSCALED)])
    finding = explained(pending(NO_GPU_FREE, **TOLERATES), AT_MAX, where=where)
    assert finding.cause is Cause.AT_MOST
    assert "t4 (at most 1)" in finding.what
    assert "`max_nodes`" in finding.fix


@pytest.mark.parametrize("resource", ["nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared"])
def test_names_that_the_autoscaler_does_not_know_never_scale_from_zero(resource: str) -> None:
    where = around([], [bodies.pool("a100", "Standard_NC24ads_A100_v4", count=0, **AUTOSCALED)])
    finding = explained(pending(NOBODY, {resource: "1"}, **TOLERATES), where=where)
    assert finding.cause is Cause.NOT_FROM_ZERO
    assert f"doesn't know that a new one has {resource}" in finding.what


def test_a_node_on_its_way_is_no_failure() -> None:
    asked = bodies.event("TriggeredScaleUp", "pod triggered scale-up: [{aks-t4-12345678-vmss 0->1 (max: 1)}]")
    finding = explained(pending(NOBODY, **TOLERATES), asked, where=around([], [bodies.pool(count=0, **AUTOSCALED)]))
    assert finding.cause is Cause.STARTING
    assert report.exit_code(finding) == 0


def test_a_quota_that_keeps_nodes_away_is_named_by_arms_refusal() -> None:
    refusal = Refusal("ErrCode_InsufficientVCPUQuota", "Insufficient vcpu quota requested 4, remaining 0 for family NCASv3_T4")
    quota = Refusal(
        "OperationNotAllowed", "Operation could not be completed as it results in exceeding approved quota: QuotaExceeded"
    )
    where = around([], [bodies.pool(count=0, provisioningState="Failed", **AUTOSCALED)], pool_refusals={"t4": (quota, refusal)})
    finding = explained(pending(NOBODY, **TOLERATES), where=where)
    assert finding.cause is Cause.QUOTA


def test_a_pool_that_is_not_there_or_has_no_node_never_takes_it() -> None:
    missing = explained(pending(NOBODY, nodeSelector={"kubernetes.azure.com/agentpool": "gone"}, **TOLERATES))
    assert missing.cause is Cause.NEVER_STARTS
    assert "which the cluster doesn't have" in missing.what
    empty = explained(pending(NOBODY, **TOLERATES), where=around([], [bodies.pool(count=0)]))
    assert "the pool t4 has no nodes and can't scale up" in empty.what


def test_nodes_that_are_not_ready_are_named() -> None:
    where = around([bodies.node(gpus=ONE_GPU, ready=False)])
    assert explained(pending(TAINTED, **TOLERATES), where=where).cause is Cause.NODE_NOT_READY


def test_too_little_memory_is_no_matter_of_gpus() -> None:
    message = "0/1 nodes are available: 1 Insufficient memory. preemption: 0/1 nodes are available"
    finding = explained(pending(message, **TOLERATES))
    assert finding.cause is Cause.NO_ROOM
    assert "has enough memory free" in finding.what


# On a node.


def held(reason: str, message: str = "", *events: dict[str, Any], **more: Any) -> Finding:
    return explained(bodies.pod(node=NODE, container=bodies.waiting(reason, message), **more), *events)


def test_a_pull_without_a_right_names_the_role_of_the_kubelet() -> None:
    said = "failed to authorize: failed to fetch anonymous token: 401 Unauthorized"
    finding = held("ErrImagePull", said, bodies.event("Failed", f'Failed to pull image "x": {said}', warning=True))
    assert finding.cause is Cause.NO_RIGHT_TO_PULL
    assert "cluster's kubelet the role AcrPull" in finding.fix


def test_on_an_edge_a_pull_without_a_right_names_the_secret_to_make() -> None:
    body = bodies.pod(node="device", container=bodies.waiting("ErrImagePull", "401 Unauthorized: authentication required"))
    finding = explained(body, where=PodContext(is_edge=True))
    assert "kubectl create secret docker-registry" in finding.fix


def test_an_image_that_is_not_there_is_told_from_one_that_may_not_be_had() -> None:
    said = 'rpc error: code = NotFound desc = failed to pull and unpack image "r.azurecr.io/mnist:1": not found'
    finding = held("ImagePullBackOff", f'Back-off pulling image "r.azurecr.io/mnist:1": ErrImagePull: {said}')
    assert finding.cause is Cause.IMAGE_NOT_FOUND
    assert "r.azurecr.io/mnist:1 isn't in its registry" in finding.what


def test_a_name_that_is_none_says_how_one_is_written() -> None:
    finding = held("InvalidImageName", 'Failed to apply default image tag "R/x": couldn\'t parse image name')
    assert (finding.cause, finding.fix) == (Cause.SETTINGS, "write it as registry/name:tag, in lower case")


def test_a_secret_that_is_missing_is_named() -> None:
    finding = held("CreateContainerConfigError", 'secret "token" not found')
    assert finding.fix == "create token in the namespace jobs, or correct the name"


def crashed(code: int, reason: str = "Error", *log: str, message: str = "", **more: Any) -> Finding:
    last = {"terminated": {"exitCode": code, "reason": reason, "message": message}}
    container = {**bodies.waiting("CrashLoopBackOff", "back-off 40s restarting failed container=main"), "lastState": last}
    back_off = bodies.event("BackOff", "Back-off restarting failed container main in pod x", warning=True)
    body = bodies.pod(phase="Running", node=NODE, container={**container, "restartCount": 4}, **more)
    return explained(body, back_off, main=log)


def test_a_crash_loop_has_its_last_lines() -> None:
    finding = crashed(3, "Error", "ValueError: no data")
    assert finding.cause is Cause.CRASH_LOOP
    assert "ends with exit code 3 and is restarted repeatedly (4 times so far)" in finding.what
    assert finding.container == "main"


def test_out_of_memory_is_told_before_the_crash_loop() -> None:
    assert crashed(137, "OOMKilled").cause is Cause.OUT_OF_MEMORY


def test_a_gpu_without_memory_is_told_by_the_programs_own_words() -> None:
    body = bodies.pod(phase="Failed", node=NODE, container=bodies.ended(1), limits=ONE_GPU)
    finding = explained(body, main=("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 GiB",))
    assert finding.cause is Cause.OUT_OF_GPU_MEMORY


def test_a_program_that_found_no_gpu_because_none_was_asked_for() -> None:
    body = bodies.pod(phase="Failed", node=NODE, container=bodies.ended(3))
    finding = explained(body, main=("CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected",))
    assert "the pod doesn't request one" in finding.what


def test_a_command_that_is_not_in_the_image() -> None:
    message = 'failed to create shim task: exec: "trian.py": executable file not found in $PATH'
    finding = explained(bodies.pod(phase="Failed", node=NODE, container=bodies.ended(128, "StartError", message=message)))
    assert finding.cause is Cause.COMMAND_NOT_FOUND


def test_any_other_exit_code_is_the_programs_own() -> None:
    finding = explained(bodies.pod(phase="Failed", node=NODE, container=bodies.ended(7)), main=("giving up",))
    assert finding.cause is Cause.PROGRAM_ERROR
    assert "ended with exit code 7" in finding.what


def test_a_spot_node_that_was_taken_away_is_told_from_one_that_ran_short() -> None:
    gone = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC", "message": "PodGC: node no longer exists"}
    lost = bodies.pod(phase="Failed", node=NODE, status={"conditions": [gone]})
    where = around([], [bodies.pool(scaleSetPriority="Spot")])
    assert explained(lost, where=where).cause is Cause.EVICTED
    assert explained(lost).cause is Cause.STOPPED
    status = {"reason": "Evicted", "message": "The node was low on resource: memory. "}
    assert explained(bodies.pod(phase="Failed", node=NODE, status=status)).cause is Cause.PRESSURE


def test_gpus_that_went_away_between_choice_and_arrival() -> None:
    message = "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0"
    status = {"reason": "UnexpectedAdmissionError", "message": message}
    finding = explained(bodies.pod(phase="Failed", node=NODE, status=status))
    assert finding.cause is Cause.NO_FREE_GPU
    assert finding.evidence == (f"UnexpectedAdmissionError: {message}",)


def test_two_shares_of_a_shared_gpu_are_more_than_a_container_gets() -> None:
    message = (
        "Allocate failed due to rpc error: code = Unknown desc = invalid request: maximum request size for shared resources is 1"
    )
    status = {"reason": "UnexpectedAdmissionError", "message": message}
    finding = explained(bodies.pod(phase="Failed", node=NODE, status=status))
    assert finding.cause is Cause.NO_FREE_GPU
    assert "a container gets one share" in finding.what
    assert "start it again" not in finding.fix


def test_what_runs_and_what_went_well_is_no_failure() -> None:
    running = bodies.pod(phase="Running", node=NODE, container=bodies.running())
    done = bodies.pod(phase="Succeeded", node=NODE, container=bodies.ended(0))
    assert [explained(each).cause for each in (running, done)] == [Cause.HEALTHY, Cause.HEALTHY]


def test_a_node_that_went_silent_is_named_for_the_pods_on_it() -> None:
    where = around([bodies.node(gpus=ONE_GPU, ready=False)])
    running = bodies.pod(phase="Running", node=NODE, container=bodies.running())
    assert explained(running, where=where).cause is Cause.NODE_NOT_READY


# Jobs.


def of_job(body: dict[str, Any], *pods: PodCase, events: Any = ()) -> Finding:
    return cluster_rules.explain_job(JobCase(job_of(body), events_of(events), pods))


def test_a_job_is_as_its_newest_pod_is() -> None:
    first, last = (
        case(bodies.pod(phase="Failed", node=NODE)),
        case(bodies.pod(phase="Failed", node=NODE, container=bodies.ended(7))),
    )
    assert of_job(bodies.job(conditions=[bodies.failed()]), first, last).cause is Cause.PROGRAM_ERROR
    assert of_job(bodies.job(conditions=[bodies.complete()])).cause is Cause.HEALTHY
    assert of_job(bodies.job(conditions=[bodies.failed("DeadlineExceeded", "Job was active longer")])).cause is Cause.TIMEOUT


def test_a_namespace_without_gpus_left_makes_no_pod() -> None:
    said = 'Error creating: pods "x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=1, used: requests'
    finding = of_job(bodies.job(), events=[bodies.event("FailedCreate", said, warning=True)])
    assert finding.cause is Cause.QUOTA
    assert "the quota gpus of its namespace is used up" in finding.what


def test_the_report_quotes_kubernetes_and_shows_last_lines() -> None:
    seen = case(bodies.pod(phase="Failed", node=NODE, container=bodies.ended(7, message="it said")), main=("giving up",))
    lines = report.lines(seen.as_facts(), pod_rules.explain(seen))
    assert lines[0] == "run-x-abcde (pod, Failed): program error"
    assert "  Kubernetes says: Error: it said" in lines
    assert "  last lines of container main:" in lines
    assert "    giving up" in lines
