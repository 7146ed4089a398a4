"""A group of workers on Kubernetes: a JobSet with one Indexed Job, whose pods find each other by TF_CONFIG.

The whole group starts and ends together: if a worker fails or loses its node, its Job ends and JobSet creates all workers again.
A restart isn't counted if the lost pod has the condition DisruptionTarget before another pod fails, as on a drained node. If a
pod vanishes, the other workers notice it first and fail. Shapes and names: kubernetes-sigs/jobset v0.10.1,
api/jobset/v1alpha2. TF_CONFIG: https://www.tensorflow.org/guide/distributed_training#setting_up_the_tf_config_environment_variable
"""

from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.kubernetes.manifests import filled

API_VERSION = "jobset.x-k8s.io/v1alpha2"
KIND = "JobSet"
COMPLETED, FAILED = "Completed", "Failed"  # conditions and terminal states of a finished JobSet
HAS_ENDED = "jsonpath={.status.terminalState}"  # matches either state: pulumi-kubernetes can't wait for one condition or another
WORKERS = "workers"  # the replicated job
PORT = 2222  # of each worker, as in TensorFlow's own examples
INDEX = "WORKER_INDEX"
CONFIG = "TF_CONFIG"
VARIABLES = (INDEX, CONFIG)  # by which workers find each other; a container can't have them twice
NAME_LABEL = "jobset.sigs.k8s.io/jobset-name"  # of its pods
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
MOST_WORKERS = 1000  # assumed: the most nodes of an AKS pool; a variable could list more
ATTEMPT_LABEL = "jobset.sigs.k8s.io/restart-attempt"  # of its pods
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
_INDEX_FIELD = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
# Of a pod: JobSet validates it as a DNS label, including a Job's suffix (v0.10.1, pkg/webhooks/jobset_webhook.go, line 236 on).
_LONGEST_NAME = 63 - len("-abcde")


def job_name(name: str) -> str:
    """Name of the Job that a JobSet of this name creates."""
    return f"{name}-{WORKERS}-0"


def longest_name(nodes: int) -> int:
    """Longest name of a group, so that its last worker's name is valid."""
    return _LONGEST_NAME - len(f"{job_name('')}-{nodes - 1}")


def workers(name: str, nodes: int) -> list[str]:
    """Host and port of each worker, as the others of its namespace reach it."""
    return [f"{job_name(name)}-{number}.{name}:{PORT}" for number in range(nodes)]


def variables(name: str, nodes: int) -> list[dict[str, Any]]:
    """TF_CONFIG, and the worker's number, which it refers to: a variable may only refer to earlier ones."""
    listed = ", ".join(f'"{each}"' for each in workers(name, nodes))
    config = f'{{"cluster": {{"worker": [{listed}]}}, "task": {{"type": "worker", "index": $({INDEX})}}}}'
    return [
        {"name": INDEX, "valueFrom": {"fieldRef": {"fieldPath": _INDEX_FIELD}}},
        {"name": CONFIG, "value": config},
    ]


def apart(name: str) -> dict[str, Any]:
    """The affinity of a group's pods: on different nodes, if there are enough."""
    return filled("apart", name=name)


def manifest(
    metadata: Mapping[str, Any],
    template: Mapping[str, Any],
    nodes: int,
    restarts: int,
    timeout_seconds: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The JobSet. `template`: of its pods. `more`: keys of its `spec`."""
    words = {"metadata": dict(metadata), "template": template, "timeout_seconds": timeout_seconds}
    return filled("job-set", **words, nodes=nodes, restarts=restarts, more=more)


def why_failed(status: Mapping[str, Any] | None) -> str:
    """Why a finished JobSet failed; "" if it succeeded."""
    found = status or {}
    if found.get("terminalState") != FAILED:
        return ""
    conditions: list[Mapping[str, Any]] = found.get("conditions") or []
    return (
        next((str(each.get("message") or "") for each in conditions if each.get("type") == FAILED), "")
        or "one of its jobs failed"
    )


def problems(name: str, nodes: int, parallelism: int, path: str) -> list[Problem]:
    """Problems of a job with this number of nodes, whose settings are at `path`."""
    found: list[Problem] = []
    last = f"{job_name(name)}-{nodes - 1}"
    if nodes > 1 and len(last) > _LONGEST_NAME:
        found.append(refused("kubernetes.group_name_too_long", path, name, last=last, most=longest_name(nodes), nodes=nodes))
    if nodes > 1 and name[:1].isdigit():
        found.append(refused("kubernetes.group_name_digit", path, name))
    if nodes > 1 and parallelism > 1:
        found.append(refused("kubernetes.parallel_group", f"{path}.parallelism", parallelism))
    return found
