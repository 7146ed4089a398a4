"""The Kubernetes objects of a run: a Job of one pod, or the JobSet of a group, and its Secret. Pure.

With secrets the Job is created suspended, and resumed after its Secret, which it owns, is created. An evicted pod, as on Spot
nodes, is replaced and doesn't count as a failure; a failed program isn't retried. With files the pod uses the stack's service
account, whose tokens Entra accepts for the stack's identity.
"""

import base64
import math
from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.services.aks.pools import LABEL as POOL_LABEL
from azure_gpu.catalog.services.aks.workload_identity import SERVICE_ACCOUNT, USES_IDENTITY
from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.clusters.objects import Taint
from azure_gpu_operations.run.context import USER_ID
from azure_gpu_operations.run.on_cluster.placing import Placement
from azure_gpu_operations.run.on_cluster.request import ClusterRequest

CONTAINER = "main"
MANAGED_BY = ("app.kubernetes.io/managed-by", "azure-gpu")
STACK_LABEL = "azure-gpu/stack"
RUN_LABEL = "azure-gpu/run"
KEPT_SECONDS = 24 * 3600  # lifetime of an ended Job
_NOT_WHILE_IT_RUNS = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}


def job(name: str, namespace: str, stack: str, image: str, request: ClusterRequest, placement: Placement) -> dict[str, Any]:
    """The Job, or the JobSet for several nodes: a group that loses a worker restarts as a whole."""
    labels = {MANAGED_BY[0]: MANAGED_BY[1], STACK_LABEL: stack, RUN_LABEL: name}
    template = {
        "metadata": {
            "labels": {**labels, **(USES_IDENTITY if request.files.are_carried else {})},
            "annotations": dict(_NOT_WHILE_IT_RUNS),
        },
        "spec": _pod(name, image, request, placement),
    }
    queue = {worker_group.QUEUE_LABEL: request.queue} if request.queue else {}
    metadata = {"name": name, "namespace": namespace, "labels": {**labels, **queue}}
    limit = None if request.timeout_minutes is None else max(1, math.ceil(request.timeout_minutes * 60))
    suspended = bool(request.target.secrets)
    if request.nodes > 1:
        more = {"ttlSecondsAfterFinished": KEPT_SECONDS, "suspend": suspended}
        return worker_group.manifest(metadata, template, request.nodes, 0, limit, **more)
    spec: dict[str, Any] = {
        "backoffLimit": 0,
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
        },
        "ttlSecondsAfterFinished": KEPT_SECONDS,
        "suspend": suspended,
        "template": template,
    }
    if limit is not None:
        spec["activeDeadlineSeconds"] = limit
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def secret(namespace: str, stack: str, values: Mapping[str, str], job: Mapping[str, Any]) -> dict[str, Any]:
    """The Secret, owned by the Job or JobSet and deleted with it."""
    name = job["metadata"]["name"]
    owner = {**{key: job[key] for key in ("apiVersion", "kind")}, "name": name, "uid": job["metadata"]["uid"]}
    owner["blockOwnerDeletion"] = False
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {MANAGED_BY[0]: MANAGED_BY[1], STACK_LABEL: stack, RUN_LABEL: name},
            "ownerReferences": [owner],
        },
        "type": "Opaque",
        "immutable": True,
        "data": {key: base64.b64encode(value.encode()).decode("ascii") for key, value in values.items()},
    }


def _pod(name: str, image: str, request: ClusterRequest, placement: Placement) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(name, image, request, placement)],
    }
    if request.target.context is not None and request.target.context.script:
        spec["securityContext"] |= {"runAsNonRoot": True, "runAsUser": USER_ID}  # as in the script's Dockerfile
    if request.files.are_carried:
        spec["serviceAccountName"] = SERVICE_ACCOUNT
    if placement.pool:
        spec["nodeSelector"] = {POOL_LABEL: placement.pool}
    if placement.taints:
        spec["tolerations"] = [_toleration(taint) for taint in placement.taints]
    if placement.with_host:
        spec |= {"hostIPC": True, "hostPID": True}
    if request.nodes > 1:
        spec["affinity"] = worker_group.apart(name)
    if request.pull_secret:
        spec["imagePullSecrets"] = [{"name": request.pull_secret}]
    return spec


def _container(name: str, image: str, request: ClusterRequest, placement: Placement) -> dict[str, Any]:
    values = {**placement.environment, **request.target.environment}
    environment: list[dict[str, Any]] = [{"name": key, "value": _literal(value)} for key, value in values.items()]
    environment += [{"name": key, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}} for key in request.target.secrets]
    if request.nodes > 1:
        environment = [*worker_group.variables(name, request.nodes), *environment]
    found: dict[str, Any] = {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if request.arguments:
        found["args"] = [_literal(word) for word in request.arguments]
    if environment:
        found["env"] = environment
    if placement.resource and placement.gpus:
        found["resources"] = {"limits": {placement.resource: str(placement.gpus)}}
    return found


def _literal(word: str) -> str:
    """Escapes $(NAME), which Kubernetes would expand in arguments and values."""
    return word.replace("$(", "$$(")


def _toleration(taint: Taint) -> dict[str, str]:
    fields = (
        {"key": taint.key, "operator": "Equal", "value": taint.value} if taint.value else {"key": taint.key, "operator": "Exists"}
    )
    return {**fields, "effect": taint.effect} if taint.effect else fields
