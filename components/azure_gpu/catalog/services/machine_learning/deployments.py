"""Rules for online endpoints of Azure Machine Learning: deployments, probes and limits of requests, traffic, and autoscaling.

A managed deployment grows by rules of Azure Monitor over its metrics; on Kubernetes the router scales by itself.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Literal, NamedTuple

from azure_gpu.catalog import lifecycle, spelling
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES, LEGACY_AKS
from azure_gpu.catalog.services.machine_learning.endpoints import LEAST_INSTANCES
from azure_gpu.catalog.sources import observed

AUTH_MODES = ("Key", "AMLToken", "AADToken")
OF_MANAGED = "AADToken"  # the one of them that Kubernetes endpoints don't take
MANAGED = "Managed"
KINDS = (MANAGED, KUBERNETES)

MOST_INSTANCES = 50
MOST_TIMEOUT_S = {MANAGED: 180, KUBERNETES: 300}  # of a request
_NAME = r"(?=.{3,32}\Z)[A-Za-z](?:-?[A-Za-z0-9])*"


class EndpointRequest(NamedTuple):
    """An online endpoint, and where each value was written."""

    name: str
    auth_mode: str
    kind: str  # of its deployments: Managed or Kubernetes
    name_path: str
    auth_path: str
    kind_path: str
    compute_path: str
    compute_kind: str = ""  # of the compute it names; empty with managed deployments


class DeploymentRequest(NamedTuple):
    """A deployment, and where each value was written. A managed one's size is checked by `machine_learning.size_problems`."""

    kind: str
    name: str
    endpoint_name: str
    name_path: str
    instances_path: str
    timeout_path: str
    instances: int = LEAST_INSTANCES
    request_timeout_s: float | None = None


def endpoint_problems(request: EndpointRequest, as_of: date) -> list[Problem]:
    """All problems of the endpoint on that day."""
    problems = lifecycle.of_part("ml.endpoint", as_of, request.kind_path, request.kind)
    problems += _name("an endpoint", request.name, request.name_path)
    if request.auth_mode not in AUTH_MODES:
        problems.append(refused("ml.unknown_auth", request.auth_path, request.auth_mode or None, allowed=", ".join(AUTH_MODES)))
    if request.kind == KUBERNETES and request.auth_mode == OF_MANAGED:
        problems.append(
            refused(
                "ml.entra_on_kubernetes",
                request.auth_path,
                request.auth_mode,
                allowed=", ".join(mode for mode in AUTH_MODES if mode != OF_MANAGED),
            )
        )
    if request.kind not in KINDS:
        allowed = ", ".join(KINDS)
        problems.append(refused("ml.unknown_endpoint_kind", request.kind_path, request.kind, allowed=allowed, managed=MANAGED))
    problems += _compute(request)
    return problems


def deployment_problems(request: DeploymentRequest, as_of: date) -> list[Problem]:
    """All problems of the deployment on that day."""
    problems = lifecycle.of_part("ml.deployment", as_of, request.name_path, request.kind)
    problems += _name("a deployment", request.name, request.name_path)
    both = len(request.name) + len(request.endpoint_name)
    if request.kind == KUBERNETES and not 6 <= both <= 62:
        problems.append(refused("ml.length_of_names", request.name_path, both))
    if request.instances > MOST_INSTANCES:
        problems.append(
            refused("ml.too_many_instances", request.instances_path, request.instances, most_instances=MOST_INSTANCES)
        )
    if request.instances < LEAST_INSTANCES:
        problems.append(refused("ml.no_instance", request.instances_path, request.instances, least_instances=LEAST_INSTANCES))
    most = MOST_TIMEOUT_S.get(request.kind)
    if most is not None and request.request_timeout_s is not None and not 0 < request.request_timeout_s <= most:
        problems.append(
            refused("ml.request_timeout", request.timeout_path, request.request_timeout_s, request=request, most=most)
        )
    return problems


def _name(what: str, name: str, path: str) -> Iterator[Problem]:
    if re.fullmatch(_NAME, name) is None:
        yield refused("ml.bad_name", path, name, what=what)


def _compute(request: EndpointRequest) -> Iterator[Problem]:
    if request.kind == KUBERNETES and request.compute_kind != KUBERNETES:
        legacy = "; the kind AKS is of version 1" if request.compute_kind == LEGACY_AKS else ""
        yield refused(
            "ml.endpoint_without_cluster",
            request.compute_path,
            request.compute_kind or None,
            legacy=legacy,
            kubernetes=KUBERNETES,
        )
    if request.kind == MANAGED and request.compute_kind:
        yield refused("ml.managed_with_compute", request.compute_path, request.compute_kind, kubernetes=KUBERNETES)


DEFAULT_REQUEST_TIMEOUT_S = 5.0
DEFAULT_CONCURRENT = 1
DEFAULT_QUEUE_S = 0.5
DEFAULT_UTILIZATION = 70  # percent, at which a deployment on Kubernetes grows
DEFAULT_POLLING_S = 1


class Probe(NamedTuple):
    """The settings of a probe, in seconds and counts, with the service's defaults."""

    initial_delay: int = 10
    period: int = 10
    timeout: int = 2
    success_threshold: int = 1
    failure_threshold: int = 30


class ProbeRequest(NamedTuple):
    """A probe and where its values were written."""

    probe: Probe
    path: str
    liveness: bool = False


class LimitsRequest(NamedTuple):
    """The request limits of a deployment, and where they were written. The timeout is checked in `deployments`."""

    kind: str  # Managed or Kubernetes
    path: str
    concurrent: int
    queue_s: float


def probe_problems(request: ProbeRequest) -> list[Problem]:
    """All problems of the probe."""
    found = [
        refused("ml.probe_below_one", f"{request.path}.{key}", value)
        for key, value in (
            ("initial_delay_seconds", request.probe.initial_delay),
            ("period_seconds", request.probe.period),
            ("timeout_seconds", request.probe.timeout),
            ("success_threshold", request.probe.success_threshold),
            ("failure_threshold", request.probe.failure_threshold),
        )
        if value < 1
    ]
    if request.liveness and request.probe.success_threshold > 1:
        path = f"{request.path}.success_threshold"
        found.append(refused("ml.liveness_threshold", path, request.probe.success_threshold))
    return found


def limits_problems(request: LimitsRequest) -> Iterator[Problem]:
    """All problems of the limits."""
    if request.concurrent < 1:
        path = f"{request.path}.concurrent"
        yield refused("ml.concurrent_below_one", path, request.concurrent)
    if request.kind == KUBERNETES and request.concurrent > DEFAULT_CONCURRENT:
        yield refused("ml.concurrent_on_kubernetes", f"{request.path}.concurrent", request.concurrent)
    if request.queue_s < 0:
        yield refused("ml.negative_queue", f"{request.path}.queue_seconds", request.queue_s)


WHOLE = 100  # percent
MOST_MIRRORED = 50  # percent
MOST_DEPLOYMENTS = 20  # an endpoint, more on request


class TrafficRequest(NamedTuple):
    """The shares of an endpoint, in percent by deployment, and where they were written."""

    deployments: tuple[str, ...]
    traffic: Mapping[str, int]
    mirror: Mapping[str, int]
    kind: str  # of the endpoint: Managed or Kubernetes
    deployments_path: str
    traffic_path: str
    mirror_path: str


def traffic_problems(request: TrafficRequest) -> list[Problem]:
    """All problems of these shares."""
    return [*_most_deployments(request), *_traffic_names(request), *_live(request), *_mirrored(request)]


def _most_deployments(request: TrafficRequest) -> Iterator[Problem]:
    if len(request.deployments) > MOST_DEPLOYMENTS:
        yield refused(
            "ml.too_many_deployments", request.deployments_path, len(request.deployments), most_deployments=MOST_DEPLOYMENTS
        )


def _traffic_names(request: TrafficRequest) -> Iterator[Problem]:
    for path, shares in ((request.traffic_path, request.traffic), (request.mirror_path, request.mirror)):
        for name in shares:
            if name in request.deployments:
                continue
            close = spelling.nearest(name, request.deployments, 1)
            yield refused(
                "ml.unknown_deployment",
                f"{path}.{name}",
                name,
                allowed=", ".join(request.deployments) or "none: the endpoint has no deployments",
                fix=f"did you mean {close[0]}?" if close else f"declare the deployment, or remove {name}",
                instead=close,
            )


def _live(request: TrafficRequest) -> Iterator[Problem]:
    out_of_range = {name: share for name, share in request.traffic.items() if not 0 <= share <= WHOLE}
    for name, share in out_of_range.items():
        path = f"{request.traffic_path}.{name}"
        yield refused("ml.bad_share", path, share, whole=WHOLE)
    total = sum(request.traffic.values())
    if not out_of_range and total not in (0, WHOLE):
        yield refused(
            "ml.shares_in_total",
            request.traffic_path,
            total,
            whole=WHOLE,
            verb="take away" if total > WHOLE else "give out",
            rest=abs(WHOLE - total),
        )
    if not out_of_range and request.deployments and total == 0:
        yield refused("ml.no_live_traffic", request.traffic_path, total, whole=WHOLE)


def _mirrored(request: TrafficRequest) -> Iterator[Problem]:
    path, mirrored = request.mirror_path, {name: share for name, share in request.mirror.items() if share != 0}
    if not mirrored:
        return
    if request.kind == KUBERNETES:
        yield refused("ml.mirror_on_kubernetes", path, mirrored)
    if len(mirrored) > 1:
        names = ", ".join(mirrored)
        yield refused("ml.two_mirrors", path, names)
    for name, share in mirrored.items():
        if not 0 < share <= MOST_MIRRORED:
            yield refused("ml.bad_mirrored_share", f"{path}.{name}", share, most_mirrored=MOST_MIRRORED)
        if request.traffic.get(name, 0) > 0:
            yield refused("ml.live_and_mirrored", f"{path}.{name}", name)
    if sum(request.traffic.values()) == 0:
        yield refused("ml.nothing_to_mirror", path, mirrored)


LEAST_WINDOW_MINUTES, MOST_WINDOW_MINUTES = 5, 12 * 60
LEAST_COOLDOWN_MINUTES, MOST_COOLDOWN_MINUTES = 1, 7 * 24 * 60
SHRINK_BELOW = 0.4  # of the value at which a deployment grows: low enough that one instance less doesn't exceed it at once


Metric = Literal[
    "CpuUtilizationPercentage",
    "GpuUtilizationPercentage",
    "RequestsPerMinute",
]
"""What a deployment can be scaled by, as Azure Monitor spells it."""


PERCENTAGES = ("CpuUtilizationPercentage", "GpuUtilizationPercentage")


class AutoscaleRequest(NamedTuple):
    """The limits, and the value of each metric above which an instance is added, with where they were written."""

    path: str
    least: int
    most: int
    thresholds: Mapping[Metric, float]
    threshold_paths: Mapping[Metric, str]
    gpus: bool | None  # whether its instances have one; None: not known
    window_minutes: int
    cooldown_minutes: int


def autoscale_problems(request: AutoscaleRequest) -> list[Problem]:
    """All problems of these rules."""
    return [*_limits(request), *_thresholds(request), *_times(request)]


def shrink_below(threshold: float) -> float:
    """The value below which an instance is removed."""
    return round(threshold * SHRINK_BELOW, 2)


def _limits(request: AutoscaleRequest) -> Iterator[Problem]:
    if request.least < LEAST_INSTANCES:
        yield refused("ml.scales_to_zero", f"{request.path}.min", request.least, least_instances=LEAST_INSTANCES)
    if request.most < request.least:
        yield refused(
            "ml.instances_below_minimum",
            f"{request.path}.max",
            request.most,
            request=request,
            minimum=max(request.least, LEAST_INSTANCES),
        )
    elif request.most == request.least:
        yield refused("ml.instances_equal_minimum", f"{request.path}.max", request.most, request=request)


def _thresholds(request: AutoscaleRequest) -> Iterator[Problem]:
    for metric, value in request.thresholds.items():
        path = request.threshold_paths[metric]
        if metric in PERCENTAGES and not 0 < value <= 100:
            yield refused("ml.bad_threshold", path, value)
        if metric == "RequestsPerMinute" and not value > 0:
            yield refused("ml.bad_requests", path, value)
        if metric == "GpuUtilizationPercentage" and request.gpus is False:
            yield refused("ml.threshold_without_gpu", path, value)


def _times(request: AutoscaleRequest) -> Iterator[Problem]:
    for key, minutes, least, most in (
        ("window_minutes", request.window_minutes, LEAST_WINDOW_MINUTES, MOST_WINDOW_MINUTES),
        ("cooldown_minutes", request.cooldown_minutes, LEAST_COOLDOWN_MINUTES, MOST_COOLDOWN_MINUTES),
    ):
        if not least <= minutes <= most:
            yield refused(
                "ml.autoscale_duration",
                f"{request.path}.{key}",
                minutes,
                least=least,
                most=most,
                nearest=min(max(minutes, least), most),
            )


SERVER_PACKAGE = "azureml-inference-server-http"
SERVER_VERSION = "1.5.1"
SERVER = observed(f"{SERVER_PACKAGE} {SERVER_VERSION}, its wheel", 2025, 12, 18)

PORT = 5001
SCORING_ROUTE = "/score"
LIVENESS_ROUTE = "/"
MODEL_FOLDER_VARIABLE = "AZUREML_MODEL_DIR"
