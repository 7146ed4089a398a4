"""What is waited for on a real control plane, and what is said when it doesn't come. The test plays the node."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from localazure.plugin.wire import from_struct
from tests.localazure.kubernetes_plugin.conftest import CONFIG_MAP, KubernetesEngine, Made, details_of, left_behind, with_kind
from tests.support.embedded import until
from tests.support.kubernetes import ControlPlane

DAEMON_SET, DEPLOYMENT, JOB = "kubernetes:apps/v1:DaemonSet", "kubernetes:apps/v1:Deployment", "kubernetes:batch/v1:Job"
POD, QUOTA = "kubernetes:core/v1:Pod", "kubernetes:core/v1:ResourceQuota"
CONTAINERS = [{"name": "c", "image": "x"}]


def job(namespace: str, **annotations: str) -> dict[str, Any]:
    marked = {f"pulumi.com/{key}": value for key, value in annotations.items()}
    spec = {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}}
    return {"metadata": {"name": "train", "namespace": namespace, "annotations": marked}, "spec": spec}


def deployment(namespace: str, seconds: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": CONTAINERS}}
    metadata = {"name": "web", "namespace": namespace, "annotations": {"pulumi.com/timeoutSeconds": str(seconds)}}
    return {"metadata": metadata, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template}}


def pods(control_plane: ControlPlane, namespace: str) -> list[dict[str, Any]]:
    return control_plane.asked("get", "pods", "-n", namespace)["items"]


def play(control_plane: ControlPlane, namespace: str, status: dict[str, Any]) -> None:
    """Waits for a pod and gives it a status, as the node that ran it would."""
    (pod,) = until(lambda: pods(control_plane, namespace), "a pod is there")
    name = pod["metadata"]["name"]
    body = json.dumps({"status": status})
    done = control_plane.kubectl("patch", "pod", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", body)
    assert done.returncode == 0, done.stderr


def ended(exit_code: int) -> dict[str, Any]:
    times = {"startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:00:01Z"}
    terminated = {"exitCode": exit_code, "reason": "Completed" if exit_code == 0 else "Error", **times}
    status = {"name": "c", "image": "x", "imageID": "", "restartCount": 0, "ready": False, "state": {"terminated": terminated}}
    return {"phase": "Failed" if exit_code else "Succeeded", "containerStatuses": [status]}


def running() -> dict[str, Any]:
    conditions = [{"type": each, "status": "True"} for each in ("PodScheduled", "Initialized", "ContainersReady", "Ready")]
    return {"phase": "Running", "conditions": conditions}


def test_a_job_is_made_when_it_is_complete(engine: KubernetesEngine, control_plane: ControlPlane, namespace: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(engine.made, JOB, job(namespace))
        play(control_plane, namespace, ended(0))
        made: Made = making.result(timeout=60)
    assert made.state["status"]["succeeded"] == 1
    assert engine.lines.all[-1:] in ([], [""]), "what was waited for isn't shown any more"
    assert list(made.diff(job(namespace)).detailedDiff) == []
    made.delete()


def test_a_job_that_fails_is_said_to_at_once_with_its_exit_code(
    engine: KubernetesEngine, control_plane: ControlPlane, namespace: str
) -> None:
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(engine.made, JOB, job(namespace))
        play(control_plane, namespace, ended(3))
        with pytest.raises(grpc.RpcError) as failed:
            making.result(timeout=60)
    assert "was successfully created, but the Kubernetes API server reported that it failed" in details_of(failed.value)
    kept = left_behind(failed.value)
    assert kept.id == f"{namespace}/train"
    assert any("[BackoffLimitExceeded] Job has reached the specified backoff limit" in each for each in kept.reasons)
    assert any('container "c" ended with exit code 3' in each for each in kept.reasons)
    made = Made(engine, JOB, "thing", kept.id, from_struct(kept.inputs), from_struct(kept.properties))
    assert made.inputs["spec"]["backoffLimit"] == 0
    with pytest.raises(grpc.RpcError, match="was created but failed to initialize"):
        made.refresh()


def test_a_job_that_nobody_waits_for_is_made_at_once_and_may_be_replaced_until_it_is_done(
    engine: KubernetesEngine, namespace: str
) -> None:
    made = engine.made(JOB, job(namespace, skipAwait="true"))
    assert made.refresh(), "and isn't a fault when the stack is refreshed"
    unready = job(namespace, skipAwait="true", replaceUnready="true")
    made.update(unready)
    assert list(made.diff(unready).replaces) == ['metadata.annotations["pulumi.com/replaceUnready"]']
    assert made.diff(unready).deleteBeforeReplace
    made.delete()


def test_a_deployment_is_made_when_its_pod_is_ready(
    engine: KubernetesEngine, control_plane: ControlPlane, namespace: str
) -> None:
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(engine.made, DEPLOYMENT, deployment(namespace, 60))
        play(control_plane, namespace, running())
        made: Made = making.result(timeout=60)
    assert made.state["status"]["availableReplicas"] == 1


def test_what_does_not_come_in_time_says_why(engine: KubernetesEngine, namespace: str) -> None:
    quota = {"metadata": {"name": "none", "namespace": namespace}, "spec": {"hard": {"pods": "0"}}}
    assert engine.made(QUOTA, quota).state["status"]["hard"] == {"pods": "0"}
    with pytest.raises(grpc.RpcError) as late:
        engine.made(DEPLOYMENT, deployment(namespace, 3))
    kept = left_behind(late.value)
    assert f"'{namespace}/web' timed out waiting to be Ready" in kept.reasons[0]
    assert any("exceeded quota: none" in each for each in kept.reasons), kept.reasons


def test_the_engines_own_timeout_comes_first(engine: KubernetesEngine, namespace: str) -> None:
    with pytest.raises(grpc.RpcError, match="timed out waiting to be Ready"):
        engine.made(POD, {"metadata": {"name": "p", "namespace": namespace}, "spec": {"containers": CONTAINERS}}, timeout=1)


def test_a_daemon_set_without_a_node_for_it_is_ready(engine: KubernetesEngine, namespace: str) -> None:
    spec = {"nodeSelector": {"no": "where"}, "containers": CONTAINERS}
    body = {
        "metadata": {"name": "agent", "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec}},
    }
    assert engine.made(DAEMON_SET, body).state["status"]["desiredNumberScheduled"] == 0


def test_a_program_says_what_is_waited_for(engine: KubernetesEngine, namespace: str) -> None:
    def body(wait_for: str) -> dict[str, Any]:
        annotations = {"pulumi.com/waitFor": wait_for, "pulumi.com/timeoutSeconds": "1"}
        return {"metadata": {"name": "m", "namespace": namespace, "annotations": annotations}, "data": {"state": "done"}}

    made = engine.made(CONFIG_MAP, body("jsonpath={.data.state}=done"))
    with pytest.raises(grpc.RpcError, match="timed out waiting to be Ready"):
        made.update(body("jsonpath={.data.state}=other"))


def test_what_can_not_be_waited_for_is_not_made(engine: KubernetesEngine, control_plane: ControlPlane, namespace: str) -> None:
    """The annotation may be known no sooner than the object is made: then one that can't be read leaves nothing behind."""
    metadata = {"name": "m", "namespace": namespace, "annotations": {"pulumi.com/waitFor": "Ready"}}
    with pytest.raises(grpc.RpcError, match=r'pulumi\.com/waitFor takes .* but got "Ready"'):
        engine.create(CONFIG_MAP, with_kind(CONFIG_MAP, {"metadata": metadata}))
    assert "not found" in control_plane.kubectl("get", "configmap", "m", "-n", namespace).stderr


def test_a_deletion_that_is_held_up_says_by_what(engine: KubernetesEngine, control_plane: ControlPlane, namespace: str) -> None:
    metadata = {"name": "held", "namespace": namespace, "finalizers": ["example.com/hold"]}
    made = engine.made(CONFIG_MAP, {"metadata": metadata})
    with pytest.raises(grpc.RpcError) as late:
        made.delete(timeout=1)
    assert f'timed out waiting for deletion of v1/ConfigMap "{namespace}/held"' in details_of(late.value)
    assert "finalizers might be preventing deletion (example.com/hold)" in left_behind(late.value).reasons
    control_plane.kubectl("patch", "configmap", "held", "-n", namespace, "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    made.delete()


def test_cancelling_ends_waiting_and_keeps_what_is_there(engine: KubernetesEngine, namespace: str) -> None:
    waiting = threading.Event()
    engine.lines.heard = lambda _: waiting.set()
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(engine.made, JOB, job(namespace))
        assert waiting.wait(30)
        engine.provider.abandon()
        with pytest.raises(grpc.RpcError, match="Resource operation was cancelled"):
            making.result(timeout=30)
