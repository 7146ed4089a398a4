"""Resolves and validates a service on a cluster and builds its manifests: Deployment, Service, disruption budget and autoscaler.

How its pods get their GPU is passed in as a `Placement`. An update starts a new pod before an old one ends, so that no request
is lost; meanwhile it needs one more pod's GPU.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.aks.workload_identity import USES_IDENTITY
from azure_gpu.catalog.services.machine_learning.deployments import MODEL_FOLDER_VARIABLE
from azure_gpu.kubernetes import jobs
from azure_gpu.kubernetes.args import (
    DEFAULT_CONTAINER,
    DEFAULT_CPU_PERCENT,
    DEFAULT_PORT,
    DEFAULT_REPLICAS,
    DEFAULT_ROUTE,
    DEFAULT_START_MINUTES,
    DEFAULT_UNAVAILABLE,
    ClusterServiceSettings,
    JobSettings,
    Reach,
)
from azure_gpu.kubernetes.jobs import LOGICAL_NAME, MANAGED_BY, Placement, too_small
from azure_gpu.kubernetes.objects import Manifest
from azure_gpu.shared.wording import has_no
from azure_gpu.shared.workloads import Workload

MODEL_FOLDER = "/models"
SERVED_AT = 80  # the Service's own port
# Logs in with the pod's token and copies a folder. Pinned by its exact tag; its digest wasn't read.
FETCHER_IMAGE = "mcr.microsoft.com/azure-cli:2.89.1"
_FETCH = (
    'az login --service-principal --username "$AZURE_CLIENT_ID" --tenant "$AZURE_TENANT_ID" '
    '--federated-token "$(cat "$AZURE_FEDERATED_TOKEN_FILE")" --output none && '
    "az storage blob download-batch --auth-mode login --no-progress --output none "
    '--account-name "$MODEL_ACCOUNT" --source "$MODEL_CONTAINER" --pattern "$MODEL_PATH/*" --destination "$MODEL_FOLDER"'
)
# Microsoft Learn, aks/internal-lb.
INTERNAL = {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}
_DEFAULT_PERIOD, _DEFAULT_FAILURES = 5, 3
_DRAIN_SECONDS = 5  # for the other nodes to stop routing to a pod, before it is told to end
_LONGEST_REQUEST_SECONDS = 60
_PATIENCE_SECONDS = 1800  # of an update: it may have to wait for a GPU node


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSpec:
    """A resolved service. Secrets stay in the settings."""

    job: jobs.JobSpec  # settings shared with a Job: image, program, variables, placement
    model_container: str
    model_path: str  # empty: none
    port: int
    replicas: int
    most: int | None  # None: a fixed number
    cpu_percent: int
    route: str
    period_seconds: int
    failures: int
    start_minutes: int
    max_unavailable: int
    reach: Reach

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def has_model(self) -> bool:
        return bool(self.model_path)


def resolve(name: str, settings: ClusterServiceSettings, placement: Placement, path: str) -> tuple[ServiceSpec, list[Problem]]:
    """Resolves the service whose settings are at `path`, with its problems. Pure."""
    shared = cast(JobSettings, {key: value for key, value in settings.items() if key in JobSettings.__annotations__})
    job, problems = jobs.resolve(name, shared, placement, path)
    scale, probes, model = settings.get("autoscale"), settings.get("probes", {}), settings.get("model")
    replicas = int(scale.get("min", DEFAULT_REPLICAS)) if scale else int(settings.get("replicas", DEFAULT_REPLICAS))
    spec = ServiceSpec(
        job=job,
        model_container=model.get("container", DEFAULT_CONTAINER) if model else "",
        model_path=model["path"].strip("/") if model else "",
        port=int(settings.get("port", DEFAULT_PORT)),
        replicas=replicas,
        most=int(scale["max"]) if scale else None,
        cpu_percent=int(scale.get("cpu_percent", DEFAULT_CPU_PERCENT)) if scale else DEFAULT_CPU_PERCENT,
        route=probes.get("route", DEFAULT_ROUTE),
        period_seconds=int(probes.get("period_seconds", _DEFAULT_PERIOD)),
        failures=int(probes.get("failures", _DEFAULT_FAILURES)),
        start_minutes=int(probes.get("start_minutes", DEFAULT_START_MINUTES)),
        max_unavailable=int(settings.get("max_unavailable", DEFAULT_UNAVAILABLE)),
        reach=settings.get("reach", "cluster"),
    )
    return spec, [*problems, *_problems(settings, spec, path)]


def _problems(settings: ClusterServiceSettings, spec: ServiceSpec, path: str) -> Iterator[Problem]:
    numbers = (
        ("autoscale.min" if "autoscale" in settings else "replicas", spec.replicas),
        ("autoscale.cpu_percent", spec.cpu_percent),
        ("probes.period_seconds", spec.period_seconds),
        ("probes.failures", spec.failures),
        ("probes.start_minutes", spec.start_minutes),
        ("max_unavailable", spec.max_unavailable),
    )
    yield from (too_small(f"{path}.{key}", value, 1) for key, value in numbers if value < 1)
    if not 1 <= spec.port <= 65535:
        yield Problem(path=f"{path}.port", message="not a valid port", value=spec.port, allowed="1 to 65535", fix="write 5001")
    if not spec.route.startswith("/"):
        message, fix = "must start with a slash", f"write /{spec.route}"
        yield Problem(path=f"{path}.probes.route", message=message, value=spec.route, fix=fix)
    if "autoscale" in settings and "replicas" in settings:
        message = "`replicas` can't be combined with `autoscale`"
        yield Problem(
            path=f"{path}.replicas", message=message, value=settings["replicas"], fix="remove it, and set `autoscale.min`"
        )
    if spec.most is not None and spec.most < max(spec.replicas, 1):
        message, fix = "less than `autoscale.min`", f"write {max(spec.replicas, 1)} or more"
        yield Problem(path=f"{path}.autoscale.max", message=message, value=spec.most, fix=fix)
    if spec.most is not None and "cpu" not in settings:
        yield Problem(
            path=f"{path}.cpu",
            message="autoscaling is based on CPU utilization and requires `cpu`",
            fix="set `cpu`, such as 1",
        )
    if "model" in settings and not spec.model_path:
        yield Problem(
            path=f"{path}.model.path",
            message="must name a folder",
            value=settings["model"]["path"],
            fix="set it, such as digits/1",
        )
    if spec.has_model and MODEL_FOLDER_VARIABLE in spec.job.environment:
        message, fix = "set by `model`", "remove it, or remove `model`"
        yield Problem(path=f"{path}.environment.{MODEL_FOLDER_VARIABLE}", message=message, fix=fix)


def missing(specs: Mapping[str, ServiceSpec], *, identity: bool, storage: bool, serving: bool = False) -> Iterator[Problem]:
    """Problems of services whose models can't be fetched. The keys are paths of the services. `serving`: they use the serving
    identity."""
    whose = "serving identity" if serving else "identity"
    for path, spec in specs.items():
        if spec.has_model and not (identity and storage):
            yield Problem(
                path=f"{path}.model",
                message=has_no(path, "storage" if identity else f"{whose} of its own that pods can use"),
                allowed="an identity that is created, a storage account, and `workload_identity: true`",
                fix="add it, or put the model into the image",
            )


def manifests(spec: ServiceSpec, image: pulumi.Input[str], account: pulumi.Input[str], identity: str) -> Iterator[Manifest]:
    """Deployment, Service, disruption budget and autoscaler. `account`: the storage account; `identity`: the service account of
    the pods."""
    yield _deployment(spec, image, account, identity)
    yield _service(spec)
    selector = {"matchLabels": {LOGICAL_NAME: spec.name}}
    yield {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(spec),
        "spec": {"maxUnavailable": spec.max_unavailable, "selector": selector},
    }
    if spec.most is not None:
        yield {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": _metadata(spec),
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": spec.name},
                "minReplicas": spec.replicas,
                "maxReplicas": spec.most,
                "metrics": [
                    {
                        "type": "Resource",
                        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": spec.cpu_percent}},
                    }
                ],
            },
        }


def _metadata(spec: ServiceSpec) -> dict[str, Any]:
    return {"name": spec.name, "namespace": spec.job.placement.namespace, "labels": {LOGICAL_NAME: spec.name, **MANAGED_BY}}


def _service(spec: ServiceSpec) -> Manifest:
    of_network = spec.reach == "network"
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**_metadata(spec), **({"annotations": INTERNAL} if of_network else {})},
        "spec": {
            "type": "LoadBalancer" if of_network else "ClusterIP",
            "selector": {LOGICAL_NAME: spec.name},
            "ports": [{"name": "http", "port": SERVED_AT, "targetPort": "http"}],
        },
    }


def _deployment(spec: ServiceSpec, image: pulumi.Input[str], account: pulumi.Input[str], identity: str) -> Manifest:
    template = jobs.manifest(spec.job, image)["spec"]["template"]
    pod: dict[str, Any] = {key: value for key, value in template["spec"].items() if key != "restartPolicy"}
    [container] = pod["containers"]
    check = {"httpGet": {"path": spec.route, "port": "http"}, "periodSeconds": spec.period_seconds}
    starts = {**check, "failureThreshold": max(spec.start_minutes * 60 // spec.period_seconds, 1)} if spec.period_seconds else {}
    environment = [
        *container.get("env", []),
        *([_is(MODEL_FOLDER_VARIABLE, f"{MODEL_FOLDER}/{spec.model_path}")] if spec.has_model else []),
    ]
    served = {
        **container,
        **({"env": environment} if environment else {}),
        "ports": [{"name": "http", "containerPort": spec.port}],
        "startupProbe": starts,
        "readinessProbe": {**check, "failureThreshold": spec.failures},
        "livenessProbe": {**check, "failureThreshold": 3 * spec.failures},
        "lifecycle": {"preStop": {"sleep": {"seconds": _DRAIN_SECONDS}}},
        **({"volumeMounts": [_mounted(read_only=True)]} if spec.has_model else {}),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**_metadata(spec), "annotations": {"pulumi.com/timeoutSeconds": str(_PATIENCE_SECONDS)}},
        "spec": {
            **({} if spec.most is not None else {"replicas": spec.replicas}),  # otherwise set by the autoscaler
            "selector": {"matchLabels": {LOGICAL_NAME: spec.name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "progressDeadlineSeconds": _PATIENCE_SECONDS,
            "template": {
                "metadata": {"labels": {**template["metadata"]["labels"], **(USES_IDENTITY if spec.has_model else {})}},
                "spec": {
                    **pod,
                    "containers": [served],
                    "terminationGracePeriodSeconds": _DRAIN_SECONDS + _LONGEST_REQUEST_SECONDS,
                    **(_with_model(spec, account, identity) if spec.has_model else {}),
                },
            },
        },
    }


def _with_model(spec: ServiceSpec, account: pulumi.Input[str], identity: str) -> dict[str, Any]:
    """The container that fetches the model before the server starts, and the volume that both share."""
    variables = {
        "MODEL_ACCOUNT": account,
        "MODEL_CONTAINER": spec.model_container,
        "MODEL_PATH": spec.model_path,
        "MODEL_FOLDER": MODEL_FOLDER,
    }
    fetcher = {
        "name": "fetch-model",
        "image": FETCHER_IMAGE,
        "command": ["/bin/sh", "-c", _FETCH],
        "env": [_is(name, value) for name, value in variables.items()],
        "volumeMounts": [_mounted(read_only=False)],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    return {
        "serviceAccountName": identity,
        "initContainers": [fetcher],
        "volumes": [{"name": "model", "emptyDir": {}}],
    }


def _mounted(*, read_only: bool) -> dict[str, Any]:
    return {"name": "model", "mountPath": MODEL_FOLDER, **({"readOnly": True} if read_only else {})}


def _is(name: str, value: pulumi.Input[str]) -> dict[str, pulumi.Input[str]]:
    return {"name": name, "value": value}


def workloads(settings: Mapping[str, ClusterServiceSettings]) -> set[Workload]:
    """The workloads that the registry has to build for these services."""
    return {Workload(service["workload"]) for service in settings.values() if "workload" in service}
