"""Builds the Deployment of Kubernetes for a Kubernetes online deployment, in the compute's namespace.

Labels and names are this project's; which taints the service's pods tolerate is the catalog's.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from azure_gpu.catalog.services.aks.device_plugin import GPU_RESOURCE
from azure_gpu.catalog.services.machine_learning.extension import OF_SCOPES, TOLERATED
from localazure.ml import network
from localazure.ml.generations import Generation, Plan
from localazure.ml.images import CODE, Route
from localazure.ml.settings import Probe

Body = dict[str, Any]

CONTAINER = "inference-server"
LABEL = "ml.azure.com/deployment-id"  # the generation's deployment, in a form that a label takes
GENERATION = "ml.azure.com/generation"
_OFTEN_SECONDS = 1  # between two tries of a readiness probe: the service's own ten seconds would be waited for at each start
_LEAVE_SECONDS = 2  # between a pod's leaving the traffic and its end, in which it answers what it has
_RESOURCES: dict[str, str] = {"cpu": "cpu", "memory": "memory", "gpu": GPU_RESOURCE}


def object_of(name: str, namespace: str, generation: Generation, plan: Plan, readiness: Probe, shape: Body, files: Path) -> Body:
    """`shape`: `nodeSelector` and `resources` of a pod; `files`: where model and code of the generation lie."""
    labels = {LABEL: name, GENERATION: generation.id, "app": "azureml-online"}
    container: Body = {
        "name": CONTAINER,
        "image": plan.served.reference,
        "ports": [{"containerPort": port} for port in plan.served.ports],
        "env": [{"name": key, "value": value} for key, value in _variables(plan, files).items()],
        "resources": shape["resources"],
        "lifecycle": {"preStop": {"sleep": {"seconds": _LEAVE_SECONDS}}},
        "livenessProbe": _probe(plan.served.liveness, plan.liveness, plan.liveness.period, plan.liveness.initial_delay),
        "readinessProbe": _probe(plan.served.readiness, readiness, _OFTEN_SECONDS, 0),
    }
    if plan.served.command:
        container["command"] = [word.replace(CODE, network.outside(files / "code")) for word in plan.served.command]
    tolerations = [{"key": key, "operator": "Equal", "value": "true"} for key in TOLERATED]
    tolerations += [{"key": key, "operator": "Exists"} for key in OF_SCOPES]
    pod: Body = {"containers": [container], "tolerations": tolerations, "terminationGracePeriodSeconds": 30}
    if shape.get("nodeSelector"):
        pod["nodeSelector"] = shape["nodeSelector"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": {LABEL: name}},
        "spec": {
            "replicas": len(generation.ports),
            "selector": {"matchLabels": {LABEL: name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def shape_of(properties: Body, types: Mapping[str, Any], default: str) -> Body:
    """What a pod requests: the instance type's, with what the deployment itself says laid over it."""
    chosen: Body = types.get(str(properties.get("instanceType") or default)) or {}
    resources: Body = chosen.get("resources") or {}
    found = {part: _without_none(resources.get(part) or {}) for part in ("requests", "limits")}
    said: Body = properties.get("containerResourceRequirements") or {}
    for part, ours in (("containerResourceRequests", "requests"), ("containerResourceLimits", "limits")):
        given: Body = said.get(part) or {}
        for key, value in given.items():
            found[ours][_RESOURCES.get(key, key)] = str(value)
    return {"nodeSelector": _without_none(chosen.get("nodeSelector") or {}), "resources": found}


def _variables(plan: Plan, files: Path) -> dict[str, str]:
    path = [network.python_path(), *filter(None, [plan.variables.get("PYTHONPATH", "")])]
    model = {"AZUREML_MODEL_DIR": network.outside(files / "model")} if plan.model_path else {}
    root = {"AML_APP_ROOT": network.outside(files / "code")} if plan.sources.get("code") else {}
    return {**plan.served.variables, **root, **plan.variables, **model, "PYTHONPATH": ":".join(path), "PYTHONUNBUFFERED": "1"}


def _probe(route: Route, probe: Probe, period: float, delay: float) -> Body:
    return {
        "httpGet": {"path": route.path, "port": route.port},
        "initialDelaySeconds": int(delay),
        "periodSeconds": max(int(period), 1),
        "timeoutSeconds": max(int(probe.timeout), 1),
        "failureThreshold": max(int(probe.patience / max(period, 1)), 1) if delay == 0 else probe.failure_threshold,
        "successThreshold": 1,
    }


def _without_none(given: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in given.items() if value is not None}
