"""What is declared of one deployment of an online endpoint: its settings with all defaults filled in, and what it runs on.

In: `MlDeploymentArgs` and what is known of the endpoint, as a `Surrounded`. Out: a `DeploymentSpec`; what is wrong with it is
said by `ml.endpoint.rules`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from azure_gpu.catalog.services.machine_learning import endpoints, serving
from azure_gpu.catalog.services.machine_learning.autoscale import Metric
from azure_gpu.catalog.services.machine_learning.deployments import MANAGED
from azure_gpu.catalog.services.machine_learning.serving import Probe
from azure_gpu.ml.dependencies import ComputeOfEndpoint
from azure_gpu.ml.endpoint.args import (
    DEFAULT_COOLDOWN_MINUTES,
    DEFAULT_CPU_PERCENT,
    DEFAULT_INSTANCES,
    DEFAULT_MIN_INSTANCES,
    DEFAULT_WINDOW_MINUTES,
    Egress,
    MlAutoscaleArgs,
    MlCodeArgs,
    MlDeploymentArgs,
    MlProbeArgs,
)
from azure_gpu.shared.context import Tags

METRIC_KEYS = {"cpu_percent": Metric.CPU, "gpu_percent": Metric.GPU, "requests_per_minute": Metric.REQUESTS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surrounded:
    """What a deployment's endpoint says about all of them."""

    path: str  # of the endpoint's deployments
    kind: str  # Managed or Kubernetes
    compute: ComputeOfEndpoint | None  # with Kubernetes, where the workspace has it
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
    """What is declared. References to assets stay as they were written; `ml.endpoint.inputs` looks them up."""

    name: str
    path: str
    kind: str
    model: str  # empty: none
    environment: str  # empty: none
    code: MlCodeArgs | None
    instance_type: str  # empty: not said, and the compute has no default
    instances: int  # at first, where it is scaled
    autoscale: Autoscale | None
    gpu: bool | None  # whether its instances have one; None: not known
    liveness: Probe
    readiness: Probe
    startup: Probe | None
    timeout_seconds: float
    concurrent: int
    queue_seconds: float | None  # None: Azure's own
    environment_variables: Mapping[str, pulumi.Input[str]]
    model_mount_path: str
    egress: Egress
    app_insights: bool
    description: str
    tags: Tags

    @property
    def managed(self) -> bool:
        return self.kind == MANAGED

    @property
    def least(self) -> int:
        """How many instances stay while nobody asks."""
        return self.autoscale.least if self.autoscale else self.instances

    @property
    def most(self) -> int:
        return max(self.autoscale.most, self.instances) if self.autoscale else self.instances


def resolve(name: str, said: MlDeploymentArgs, surrounded: Surrounded) -> DeploymentSpec:
    """The deployment that the stack file calls `name`. Pure."""
    scale = _autoscale(said["autoscale"], surrounded.kind) if "autoscale" in said else None
    probes, requests = said.get("probes", {}), said.get("requests", {})
    usual = surrounded.compute["default_instance_type"] if surrounded.compute else ""
    instance_type = said.get("instance_type", usual)
    return DeploymentSpec(
        name=name,
        path=f"{surrounded.path}.{name}",
        kind=surrounded.kind,
        model=said.get("model", ""),
        environment=said.get("environment", ""),
        code=said.get("code"),
        instance_type=instance_type,
        instances=int(said.get("instances", scale.least if scale else DEFAULT_INSTANCES)),
        autoscale=scale,
        gpu=_gpu(instance_type, surrounded),
        liveness=_probe(probes.get("liveness", {})),
        readiness=_probe(probes.get("readiness", {})),
        startup=_probe(probes["startup"]) if "startup" in probes else None,
        timeout_seconds=float(requests.get("timeout_seconds", serving.DEFAULT_REQUEST_TIMEOUT_S)),
        concurrent=int(requests.get("concurrent", serving.DEFAULT_CONCURRENT)),
        queue_seconds=float(requests["queue_seconds"]) if "queue_seconds" in requests else None,
        environment_variables=dict(said.get("environment_variables", {})),
        model_mount_path=said.get("model_mount_path", ""),
        egress=Egress(said.get("egress", Egress.PUBLIC)),
        app_insights=said.get("app_insights", False),
        description=said.get("description", ""),
        tags={**surrounded.tags, **said.get("tags", {})},
    )


def _gpu(instance_type: str, surrounded: Surrounded) -> bool | None:
    if surrounded.kind == MANAGED:
        return endpoints.has_gpu(instance_type) if instance_type else None
    found = surrounded.compute["gpus"].get(instance_type) if surrounded.compute else None
    return None if found is None else found > 0


def _autoscale(said: MlAutoscaleArgs, kind: str) -> Autoscale:
    given = (("cpu_percent", said.get("cpu_percent")), ("gpu_percent", said.get("gpu_percent")))
    given = (*given, ("requests_per_minute", said.get("requests_per_minute")))
    thresholds = {METRIC_KEYS[key]: float(value) for key, value in given if value is not None}
    if kind == MANAGED and not thresholds:
        thresholds = {Metric.CPU: DEFAULT_CPU_PERCENT}
    return Autoscale(
        least=int(said.get("min", DEFAULT_MIN_INSTANCES)),
        most=int(said["max"]),
        thresholds=thresholds,
        window_minutes=int(said.get("window_minutes", DEFAULT_WINDOW_MINUTES)),
        cooldown_minutes=int(said.get("cooldown_minutes", DEFAULT_COOLDOWN_MINUTES)),
        utilization_percent=int(said.get("utilization_percent", serving.DEFAULT_UTILIZATION)),
    )


def _probe(said: MlProbeArgs) -> Probe:
    usual = Probe()
    return Probe(
        initial_delay=int(said.get("initial_delay_seconds", usual.initial_delay)),
        period=int(said.get("period_seconds", usual.period)),
        timeout=int(said.get("timeout_seconds", usual.timeout)),
        success_threshold=int(said.get("success_threshold", usual.success_threshold)),
        failure_threshold=int(said.get("failure_threshold", usual.failure_threshold)),
    )
