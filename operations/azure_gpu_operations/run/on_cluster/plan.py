"""What is sent to a cluster for a run: a Job of one pod, or the JobSet of a group, and a Secret that goes with it.

In: what is wanted, where it goes, its image. Out: objects of the Kubernetes API. Pure.

The Job is made suspended where there are secrets: it gets its Secret, which belongs to it, and only then starts. A pod that is
taken away, as those on Spot nodes are, is replaced and isn't counted as a failure; a program that fails isn't tried again.
With files it runs as the service account that the stack has made, whose tokens Entra takes for the stack's identity.
"""

import base64
import math
from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog.services.aks.pool import LABEL as POOL_LABEL
from azure_gpu.catalog.services.aks.workload_identity import SERVICE_ACCOUNT, USES_IDENTITY
from azure_gpu.kubernetes import worker_group
from azure_gpu_operations.clusters.objects import Taint
from azure_gpu_operations.run.context import USER_ID
from azure_gpu_operations.run.on_cluster.placing import Placement
from azure_gpu_operations.run.on_cluster.wanted import Wanted

CONTAINER = "main"
MANAGED_BY = ("app.kubernetes.io/managed-by", "azure-gpu")
STACK_LABEL = "azure-gpu/stack"
RUN_LABEL = "azure-gpu/run"
KEPT_SECONDS = 24 * 3600  # an ended Job that nobody has removed
_NOT_WHILE_IT_RUNS = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}


def job(name: str, namespace: str, stack: str, image: str, wanted: Wanted, placement: Placement) -> dict[str, Any]:
    """The Job, or the JobSet where several nodes are wanted: a group of which one worker is lost starts again as a whole."""
    labels = {MANAGED_BY[0]: MANAGED_BY[1], STACK_LABEL: stack, RUN_LABEL: name}
    template = {
        "metadata": {
            "labels": {**labels, **(USES_IDENTITY if wanted.files.are_carried else {})},
            "annotations": dict(_NOT_WHILE_IT_RUNS),
        },
        "spec": _pod(name, image, wanted, placement),
    }
    queue = {worker_group.QUEUE_LABEL: wanted.queue} if wanted.queue else {}
    metadata = {"name": name, "namespace": namespace, "labels": {**labels, **queue}}
    limit = None if wanted.timeout_minutes is None else max(1, math.ceil(wanted.timeout_minutes * 60))
    suspended = bool(wanted.target.secrets)
    if wanted.nodes > 1:
        more = {"ttlSecondsAfterFinished": KEPT_SECONDS, "suspend": suspended}
        return worker_group.manifest(metadata, template, wanted.nodes, 0, limit, **more)
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
    """Removed with the Job or JobSet, whoever removes that."""
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


def _pod(name: str, image: str, wanted: Wanted, placement: Placement) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(name, image, wanted, placement)],
    }
    if wanted.target.context is not None and wanted.target.context.script:
        spec["securityContext"] |= {"runAsNonRoot": True, "runAsUser": USER_ID}  # as its own Dockerfile says
    if wanted.files.are_carried:
        spec["serviceAccountName"] = SERVICE_ACCOUNT
    if placement.pool:
        spec["nodeSelector"] = {POOL_LABEL: placement.pool}
    if placement.taints:
        spec["tolerations"] = [_toleration(taint) for taint in placement.taints]
    if placement.with_host:
        spec |= {"hostIPC": True, "hostPID": True}
    if wanted.nodes > 1:
        spec["affinity"] = worker_group.apart(name)
    if wanted.pull_secret:
        spec["imagePullSecrets"] = [{"name": wanted.pull_secret}]
    return spec


def _container(name: str, image: str, wanted: Wanted, placement: Placement) -> dict[str, Any]:
    values = {**placement.environment, **wanted.target.environment}
    environment: list[dict[str, Any]] = [{"name": key, "value": _literal(value)} for key, value in values.items()]
    environment += [{"name": key, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}} for key in wanted.target.secrets]
    if wanted.nodes > 1:
        environment = [*worker_group.variables(name, wanted.nodes), *environment]
    found: dict[str, Any] = {
        "name": CONTAINER,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    if wanted.arguments:
        found["args"] = [_literal(word) for word in wanted.arguments]
    if environment:
        found["env"] = environment
    if placement.resource and placement.gpus:
        found["resources"] = {"limits": {placement.resource: str(placement.gpus)}}
    return found


def _literal(word: str) -> str:
    """Kubernetes fills in $(NAME) in arguments and values; a word of the user's is meant as it stands."""
    return word.replace("$(", "$$(")


def _toleration(taint: Taint) -> dict[str, str]:
    told = (
        {"key": taint.key, "operator": "Equal", "value": taint.value} if taint.value else {"key": taint.key, "operator": "Exists"}
    )
    return {**told, "effect": taint.effect} if taint.effect else told
