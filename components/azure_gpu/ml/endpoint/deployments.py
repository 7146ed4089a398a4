"""Resolves one deployment of an online endpoint: its settings with all defaults filled in, and the compute it runs on.

It is validated in `ml.endpoint.rules`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from azure_gpu.catalog.services.machine_learning import deployments, endpoints
from azure_gpu.catalog.services.machine_learning.deployments import MANAGED, METRICS, AutoscaleRequest, LimitsRequest, Probe
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeploymentSpec:
    """A resolved deployment. References to assets stay as they were written; `ml.endpoint.inputs` looks them up."""

    name: str
    path: str
    kind: str  # Managed or Kubernetes
    model: str  # empty: none
    environment: str  # empty: none
    instance_type: str  # empty: not set, and the compute has no default
    instances: int  # initially, if it is scaled
    autoscale: AutoscaleRequest | None  # without thresholds on Kubernetes
    gpu: bool | None  # whether its instances have one; None: unknown
    probes: dict[str, Probe]  # liveness, readiness and, if it is set, startup
    timeout_seconds: float
    limits: LimitsRequest
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

    @property
    def utilization(self) -> int:
        """Percent of its instances at which one on Kubernetes grows."""
        return int(self.settings.get("autoscale", {}).get("utilization_percent", deployments.DEFAULT_UTILIZATION))


def resolve(
    name: str, settings: MlDeploymentArgs, path: str, kind: str, compute: ComputeOfEndpoint | None, tags: Tags
) -> DeploymentSpec:
    """Resolves the deployment that the stack file calls `name`. `compute`: with Kubernetes, if the workspace has it. `tags`: of
    the endpoint. Pure."""
    probes, requests = settings.get("probes", {}), settings.get("requests", {})
    instance_type = settings.get("instance_type", compute["default_instance_type"] if compute else "")
    gpu = _gpu(instance_type, kind, compute)
    scale = _autoscale(settings["autoscale"], f"{path}.autoscale", kind, gpu) if "autoscale" in settings else None
    return DeploymentSpec(
        name=name,
        path=path,
        kind=kind,
        model=settings.get("model", ""),
        environment=settings.get("environment", ""),
        instance_type=instance_type,
        instances=int(settings.get("instances", scale.least if scale else DEFAULT_INSTANCES)),
        autoscale=scale,
        gpu=gpu,
        probes={
            "liveness": _probe(probes.get("liveness", {})),
            "readiness": _probe(probes.get("readiness", {})),
            **({"startup": _probe(probes["startup"])} if "startup" in probes else {}),
        },
        timeout_seconds=float(requests.get("timeout_seconds", deployments.DEFAULT_REQUEST_TIMEOUT_S)),
        limits=LimitsRequest(
            kind,
            f"{path}.requests",
            int(requests.get("concurrent", deployments.DEFAULT_CONCURRENT)),
            float(requests.get("queue_seconds", deployments.DEFAULT_QUEUE_S)),
        ),
        settings=settings,
        tags={**tags, **settings.get("tags", {})},
    )


def _gpu(instance_type: str, kind: str, compute: ComputeOfEndpoint | None) -> bool | None:
    if kind == MANAGED:
        return endpoints.has_gpu(instance_type) if instance_type else None
    found = compute["gpus"].get(instance_type) if compute else None
    return None if found is None else found > 0


def _autoscale(settings: MlAutoscaleArgs, path: str, kind: str, gpu: bool | None) -> AutoscaleRequest:
    # pyrefly: ignore[bad-typed-dict-key]
    thresholds = {key: float(settings[key]) for key in METRICS if key in settings}
    if kind == MANAGED and not thresholds:
        thresholds = {"cpu_percent": DEFAULT_CPU_PERCENT}
    return AutoscaleRequest(
        path=path,
        least=int(settings.get("min", DEFAULT_MIN_INSTANCES)),
        most=int(settings["max"]),
        thresholds=thresholds,
        gpus=gpu,
        window_minutes=int(settings.get("window_minutes", DEFAULT_WINDOW_MINUTES)),
        cooldown_minutes=int(settings.get("cooldown_minutes", DEFAULT_COOLDOWN_MINUTES)),
    )


def _probe(settings: MlProbeArgs) -> Probe:
    numbers = cast(Mapping[str, int], settings)
    return Probe(**{key.removesuffix("_seconds"): int(number) for key, number in numbers.items()})
