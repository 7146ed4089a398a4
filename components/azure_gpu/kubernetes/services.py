"""Resolves and validates a service on a cluster and builds its manifests: Deployment, Service, disruption budget and autoscaler.

How its pods get their GPU is passed in as a `Placement`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.aks.workload_identity import USES_IDENTITY
from azure_gpu.catalog.services.machine_learning import deployments
from azure_gpu.catalog.services.machine_learning.deployments import MODEL_FOLDER_VARIABLE
from azure_gpu.formats.tags import MODEL_STORE
from azure_gpu.kubernetes import jobs
from azure_gpu.kubernetes.args import ClusterServiceSettings, JobSettings, Reach
from azure_gpu.kubernetes.jobs import Placement, too_small
from azure_gpu.kubernetes.manifests import filled
from azure_gpu.kubernetes.objects import Manifest
from azure_gpu.shared.wording import has_no

# Logs in with the pod's token and copies a folder.
_FETCH = (
    'az login --service-principal --username "$AZURE_CLIENT_ID" --tenant "$AZURE_TENANT_ID" '
    '--federated-token "$(cat "$AZURE_FEDERATED_TOKEN_FILE")" --output none && '
    "az storage blob download-batch --auth-mode login --no-progress --output none "
    '--account-name "$MODEL_ACCOUNT" --source "$MODEL_CONTAINER" --pattern "$MODEL_PATH/*" --destination "$MODEL_FOLDER"'
)
# Microsoft Learn, aks/internal-lb.
INTERNAL = {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"}
_DRAIN_SECONDS = 5
_LONGEST_REQUEST_SECONDS = 60


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
    job, problems = jobs.resolve(name, cast(JobSettings, settings), placement, path)  # what both have has the same keys
    scale, probes, model = settings.get("autoscale"), settings.get("probes", {}), settings.get("model")
    spec = ServiceSpec(
        job=job,
        model_container=model.get("container", MODEL_STORE) if model else "",
        model_path=model["path"].strip("/") if model else "",
        port=settings.get("port", deployments.PORT),
        replicas=scale.get("min", 1) if scale else settings.get("replicas", 1),
        most=scale["max"] if scale else None,
        cpu_percent=scale.get("cpu_percent", 70) if scale else 70,
        route=probes.get("route", deployments.LIVENESS_ROUTE),  # answers "Healthy" there
        period_seconds=probes.get("period_seconds", 5),
        failures=probes.get("failures", 3),
        start_minutes=probes.get("start_minutes", 10),
        max_unavailable=settings.get("max_unavailable", 1),
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
        yield refused("kubernetes.bad_port", f"{path}.port", spec.port)
    if not spec.route.startswith("/"):
        yield refused("kubernetes.bad_route", f"{path}.probes.route", spec.route)
    if "autoscale" in settings and "replicas" in settings:
        yield refused("kubernetes.replicas_and_autoscale", f"{path}.replicas", settings["replicas"])
    if spec.most is not None and spec.most < max(spec.replicas, 1):
        yield refused("kubernetes.most_below_least", f"{path}.autoscale.max", spec.most, least=max(spec.replicas, 1))
    if spec.most is not None and "cpu" not in settings:
        yield refused("kubernetes.autoscale_without_cpu", f"{path}.cpu")
    if "model" in settings and not spec.model_path:
        yield refused("kubernetes.model_nowhere", f"{path}.model.path", settings["model"]["path"])
    if spec.has_model and MODEL_FOLDER_VARIABLE in spec.job.environment:
        yield refused("kubernetes.taken_by_model", f"{path}.environment.{MODEL_FOLDER_VARIABLE}")


def missing(
    specs: Mapping[str, ServiceSpec], path: str, *, identity: bool, storage: bool, serving: bool = False
) -> Iterator[Problem]:
    """Problems of the services at `path` whose models can't be fetched. `serving`: they use the serving identity."""
    whose = "serving identity" if serving else "identity"
    what = "storage" if identity else f"{whose} of its own that pods can use"
    for name, spec in specs.items():
        if spec.has_model and not (identity and storage):
            at = f"{path}.{name}.model"
            yield refused("kubernetes.model_unreachable", at, missing=has_no(at, what))


def manifests(spec: ServiceSpec, image: pulumi.Input[str], account: pulumi.Input[str], identity: str) -> Iterator[Manifest]:
    """Deployment, Service, disruption budget and autoscaler. `account`: the storage account; `identity`: the service account of
    the pods."""
    name, namespace = spec.name, spec.job.placement.namespace
    pod = jobs.pod(spec.job, image)
    pod["containers"] = [_served(spec, pod["containers"][0])]
    del pod["restartPolicy"]
    yield filled(
        "deployment",
        name=name,
        namespace=namespace,
        fixed=spec.replicas if spec.most is None else None,
        uses_identity=USES_IDENTITY if spec.has_model else None,
        pod=pod,
        grace_seconds=_DRAIN_SECONDS + _LONGEST_REQUEST_SECONDS,
        model=_model(spec, account, identity) if spec.has_model else None,
    )
    reached: dict[str, Any] = {"type": "ClusterIP", "annotations": None}
    if spec.reach == "network":
        reached = {"type": "LoadBalancer", "annotations": INTERNAL}
    yield from filled("service", name=name, namespace=namespace, max_unavailable=spec.max_unavailable, **reached)
    if spec.most is not None:
        numbers = {"replicas": spec.replicas, "most": spec.most, "cpu_percent": spec.cpu_percent}
        yield filled("autoscaler", name=name, namespace=namespace, **numbers)


def _served(spec: ServiceSpec, container: Mapping[str, Any]) -> dict[str, Any]:
    """The container of a pod that answers requests."""
    variables = [*container.get("env", []), *([filled("model-variable", path=spec.model_path)] if spec.has_model else [])]
    return filled(
        "served",
        container=container,
        variables=variables or None,
        port=spec.port,
        check=filled("check", route=spec.route, period_seconds=spec.period_seconds),
        start_failures=max(spec.start_minutes * 60 // max(spec.period_seconds, 1), 1),
        failures=spec.failures,
        live_failures=3 * spec.failures,
        drain_seconds=_DRAIN_SECONDS,
        model_mounts=filled("model-mounts") if spec.has_model else None,
    )


def _model(spec: ServiceSpec, account: pulumi.Input[str], identity: str) -> dict[str, Any]:
    """The container that fetches the model before the server starts, and the volume that both share."""
    words = {"container": spec.model_container, "path": spec.model_path, "fetch": _FETCH}
    return filled("model", identity=identity, account=account, **words)
