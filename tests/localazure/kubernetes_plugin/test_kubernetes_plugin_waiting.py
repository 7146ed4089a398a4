"""A real control plane's own words of a job that failed and of a deployment that is ready. The test plays the node."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from localazure.plugin.wire import from_struct
from tests.localazure.kubernetes_plugin.conftest import KubernetesEngine, Made
from tests.support.embedded import until
from tests.support.kubernetes import ControlPlane
from tests.support.provider_calls import details_of, left_behind

DEPLOYMENT, JOB = "kubernetes:apps/v1:Deployment", "kubernetes:batch/v1:Job"
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


def test_a_deployment_is_made_when_its_pod_is_ready(
    engine: KubernetesEngine, control_plane: ControlPlane, namespace: str
) -> None:
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(engine.made, DEPLOYMENT, deployment(namespace, 60))
        play(control_plane, namespace, running())
        made: Made = making.result(timeout=60)
    assert made.state["status"]["availableReplicas"] == 1
