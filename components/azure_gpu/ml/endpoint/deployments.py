"""Resolves one deployment of an online endpoint: its settings with all defaults filled in, and the compute it runs on.

It is validated in `ml.endpoint.rules`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from azure_gpu.catalog.services.machine_learning import deployments, endpoints
from azure_gpu.catalog.services.machine_learning.deployments import MANAGED, Metric, Probe
from azure_gpu.ml.dependencies import ComputeOfEndpoint
from azure_gpu.ml.endpoint.args import (
    DEFAULT_COOLDOWN_MINUTES,
    DEFAULT_CPU_PERCENT,
    DEFAULT_INSTANCES,
    DEFAULT_MIN_INSTANCES,
    DEFAULT_WINDOW_MINUTES,
    MlAutoscaleArgs,
    MlDeploymentArgs,
    MlProbeArgs,
)
from azure_gpu.shared.context import Tags

METRIC_KEYS: Mapping[str, Metric] = {
    "cpu_percent": "CpuUtilizationPercentage",
    "gpu_percent": "GpuUtilizationPercentage",
    "requests_per_minute": "RequestsPerMinute",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointContext:
    """The endpoint's properties that its deployments depend on."""

    path: str  # of the endpoint's deployments
    kind: str  # Managed or Kubernetes
    compute: ComputeOfEndpoint | None  # with Kubernetes, if the workspace has it
    tags: Tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscale:
    """Resolved `MlAutoscaleArgs`."""

    least: int
    most: int
    thresholds: dict[Metric, float]  # empty on Kubernetes
    window_minutes: int
    cooldown_minutes: int
    utilization_percent: int  # on Kubernetes


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentSpec:
    """A resolved deployment. References to assets stay as they were written; `ml.endpoint.inputs` looks them up."""

    name: str
    path: str
    kind: str
    model: str  # empty: none
    environment: str  # empty: none
    instance_type: str  # empty: not set, and the compute has no default
    instances: int  # initially, if it is scaled
    autoscale: Autoscale | None
    gpu: bool | None  # whether its instances have one; None: unknown
    liveness: Probe
    readiness: Probe
    startup: Probe | None
    timeout_seconds: float
    concurrent: int
    queue_seconds: float | None  # None: Azure's own
    settings: MlDeploymentArgs
    tags: Tags

    @property
    def managed(self) -> bool:
        return self.kind == MANAGED

    @property
    def least(self) -> int:
        """Minimum number of instances."""
        return self.autoscale.least if self.autoscale else self.instances

    @property
    def most(self) -> int:
        return max(self.autoscale.most, self.instances) if self.autoscale else self.instances


def resolve(name: str, settings: MlDeploymentArgs, endpoint: EndpointContext) -> DeploymentSpec:
    """Resolves the deployment that the stack file calls `name`. Pure."""
    scale = _autoscale(settings["autoscale"], endpoint.kind) if "autoscale" in settings else None
    probes, requests = settings.get("probes", {}), settings.get("requests", {})
    usual = endpoint.compute["default_instance_type"] if endpoint.compute else ""
    instance_type = settings.get("instance_type", usual)
    return DeploymentSpec(
        name=name,
        path=f"{endpoint.path}.{name}",
        kind=endpoint.kind,
        model=settings.get("model", ""),
        environment=settings.get("environment", ""),
        instance_type=instance_type,
        instances=int(settings.get("instances", scale.least if scale else DEFAULT_INSTANCES)),
        autoscale=scale,
        gpu=_gpu(instance_type, endpoint),
        liveness=_probe(probes.get("liveness", {})),
        readiness=_probe(probes.get("readiness", {})),
        startup=_probe(probes["startup"]) if "startup" in probes else None,
        timeout_seconds=float(requests.get("timeout_seconds", deployments.DEFAULT_REQUEST_TIMEOUT_S)),
        concurrent=int(requests.get("concurrent", deployments.DEFAULT_CONCURRENT)),
        queue_seconds=float(requests["queue_seconds"]) if "queue_seconds" in requests else None,
        settings=settings,
        tags={**endpoint.tags, **settings.get("tags", {})},
    )


def _gpu(instance_type: str, endpoint: EndpointContext) -> bool | None:
    if endpoint.kind == MANAGED:
        return endpoints.has_gpu(instance_type) if instance_type else None
    found = endpoint.compute["gpus"].get(instance_type) if endpoint.compute else None
    return None if found is None else found > 0


def _autoscale(settings: MlAutoscaleArgs, kind: str) -> Autoscale:
    given = (("cpu_percent", settings.get("cpu_percent")), ("gpu_percent", settings.get("gpu_percent")))
    given = (*given, ("requests_per_minute", settings.get("requests_per_minute")))
    thresholds: dict[Metric, float] = {METRIC_KEYS[key]: float(value) for key, value in given if value is not None}
    if kind == MANAGED and not thresholds:
        thresholds = {"CpuUtilizationPercentage": DEFAULT_CPU_PERCENT}
    return Autoscale(
        least=int(settings.get("min", DEFAULT_MIN_INSTANCES)),
        most=int(settings["max"]),
        thresholds=thresholds,
        window_minutes=int(settings.get("window_minutes", DEFAULT_WINDOW_MINUTES)),
        cooldown_minutes=int(settings.get("cooldown_minutes", DEFAULT_COOLDOWN_MINUTES)),
        utilization_percent=int(settings.get("utilization_percent", deployments.DEFAULT_UTILIZATION)),
    )


def _probe(settings: MlProbeArgs) -> Probe:
    usual = Probe()
    return Probe(
        initial_delay=int(settings.get("initial_delay_seconds", usual.initial_delay)),
        period=int(settings.get("period_seconds", usual.period)),
        timeout=int(settings.get("timeout_seconds", usual.timeout)),
        success_threshold=int(settings.get("success_threshold", usual.success_threshold)),
        failure_threshold=int(settings.get("failure_threshold", usual.failure_threshold)),
    )
