"""Rules for online endpoints of Azure Machine Learning: deployments, probes and limits of requests, traffic, and autoscaling.

A managed deployment grows by rules of Azure Monitor over its metrics; on Kubernetes the router scales by itself.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, spelling
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES
from azure_gpu.catalog.services.machine_learning.endpoints import LEAST_INSTANCES
from azure_gpu.catalog.sources import observed

MANAGED = "Managed"

MOST_INSTANCES = 50
MOST_TIMEOUT_S, MOST_TIMEOUT_ON_KUBERNETES_S = 180, 300  # of a request
_NAME = r"(?=.{3,32}\Z)[A-Za-z](?:-?[A-Za-z0-9])*"


def endpoint_problems(auth: str, kind: str, compute: str, compute_kind: str, as_of: date, *, path: str) -> list[Problem]:
    """All problems of the endpoint at `path` on that day. `kind`: Managed or Kubernetes. `compute`, `compute_kind`: of a compute
    of the workspace; empty: it names none."""
    at = f"{path}.compute"
    problems = lifecycle.of_part("ml.endpoint", as_of, at, compute or None)
    if kind == KUBERNETES and auth == "entra":
        problems.append(refused("ml.entra_on_kubernetes", f"{path}.auth", auth))
    if kind == KUBERNETES and compute_kind != KUBERNETES:
        problems.append(refused("ml.endpoint_without_cluster", at, compute or None))
    if kind == MANAGED and compute_kind:
        problems.append(refused("ml.managed_with_compute", at, compute or None))
    return problems


def deployment_problems(
    kind: str, name: str, endpoint_name: str, instances: int, timeout_s: float, as_of: date, *, path: str, instances_path: str
) -> list[Problem]:
    """All problems of the deployment at `path` on that day. A managed one's size is checked by `compute.size_problems`."""
    problems = lifecycle.of_part("ml.deployment", as_of, path, kind)
    if re.fullmatch(_NAME, name) is None:
        problems.append(refused("ml.bad_name", path, name))
    both = len(name) + len(endpoint_name)
    if kind == KUBERNETES and not 6 <= both <= 62:
        problems.append(refused("ml.length_of_names", path, both))
    if instances > MOST_INSTANCES:
        problems.append(refused("ml.too_many_instances", instances_path, instances, most_instances=MOST_INSTANCES))
    if instances < LEAST_INSTANCES:
        problems.append(refused("ml.no_instance", instances_path, instances, least_instances=LEAST_INSTANCES))
    most = MOST_TIMEOUT_ON_KUBERNETES_S if kind == KUBERNETES else MOST_TIMEOUT_S
    if not 0 < timeout_s <= most:
        problems.append(refused("ml.request_timeout", f"{path}.requests.timeout_seconds", timeout_s, kind=kind, most=most))
    return problems


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


class LimitsRequest(NamedTuple):
    """The request limits of a deployment, and where they were written. The timeout is checked in `deployments`."""

    kind: str  # Managed or Kubernetes
    path: str
    concurrent: int
    queue_s: float


def probe_problems(probe: Probe, path: str, *, liveness: bool = False) -> list[Problem]:
    """All problems of the probe at `path`."""
    found = [
        refused("ml.probe_below_one", f"{path}.{key if key.endswith('threshold') else f'{key}_seconds'}", value)
        for key, value in probe._asdict().items()
        if value < 1
    ]
    if liveness and probe.success_threshold > 1:
        found.append(refused("ml.liveness_threshold", f"{path}.success_threshold", probe.success_threshold))
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
    """The shares of an endpoint, in percent by deployment."""

    path: str  # of the endpoint
    deployments: tuple[str, ...]
    traffic: Mapping[str, int]
    mirror: Mapping[str, int]
    kind: str  # of the endpoint: Managed or Kubernetes


def traffic_problems(request: TrafficRequest) -> list[Problem]:
    """All problems of these shares."""
    return [*_most_deployments(request), *_traffic_names(request), *_live(request), *_mirrored(request)]


def _most_deployments(request: TrafficRequest) -> Iterator[Problem]:
    if len(request.deployments) > MOST_DEPLOYMENTS:
        path, number = f"{request.path}.deployments", len(request.deployments)
        yield refused("ml.too_many_deployments", path, number, most_deployments=MOST_DEPLOYMENTS)


def _traffic_names(request: TrafficRequest) -> Iterator[Problem]:
    for key, shares in (("traffic", request.traffic), ("mirror", request.mirror)):
        for name in shares:
            if name in request.deployments:
                continue
            close = spelling.nearest(name, request.deployments, 1)
            yield refused(
                "ml.unknown_deployment",
                f"{request.path}.{key}.{name}",
                name,
                allowed=", ".join(request.deployments) or "none: the endpoint has no deployments",
                fix=f"did you mean {close[0]}?" if close else f"declare the deployment, or remove {name}",
                instead=close,
            )


def _live(request: TrafficRequest) -> Iterator[Problem]:
    path = f"{request.path}.traffic"
    out_of_range = {name: share for name, share in request.traffic.items() if not 0 <= share <= WHOLE}
    for name, share in out_of_range.items():
        yield refused("ml.bad_share", f"{path}.{name}", share, whole=WHOLE)
    total = sum(request.traffic.values())
    if not out_of_range and total not in (0, WHOLE):
        verb = "take away" if total > WHOLE else "give out"
        yield refused("ml.shares_in_total", path, total, whole=WHOLE, verb=verb, rest=abs(WHOLE - total))
    if not out_of_range and request.deployments and total == 0:
        yield refused("ml.no_live_traffic", path, total, whole=WHOLE)


def _mirrored(request: TrafficRequest) -> Iterator[Problem]:
    path, mirrored = f"{request.path}.mirror", {name: share for name, share in request.mirror.items() if share != 0}
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


METRICS = {
    "cpu_percent": "CpuUtilizationPercentage",
    "gpu_percent": "GpuUtilizationPercentage",
    "requests_per_minute": "RequestsPerMinute",
}
"""What a deployment can be scaled by, by its key, as Azure Monitor spells it."""


class AutoscaleRequest(NamedTuple):
    """The limits, and by the keys of `METRICS` the values above which an instance is added."""

    path: str
    least: int
    most: int
    thresholds: Mapping[str, float]
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
        minimum = max(request.least, LEAST_INSTANCES)
        yield refused("ml.instances_below_minimum", f"{request.path}.max", request.most, request=request, minimum=minimum)
    elif request.most == request.least:
        yield refused("ml.instances_equal_minimum", f"{request.path}.max", request.most, request=request)


def _thresholds(request: AutoscaleRequest) -> Iterator[Problem]:
    for key, value in request.thresholds.items():
        path = f"{request.path}.{key}"
        if key != "requests_per_minute" and not 0 < value <= 100:
            yield refused("ml.bad_threshold", path, value)
        if key == "requests_per_minute" and not value > 0:
            yield refused("ml.bad_requests", path, value)
        if key == "gpu_percent" and request.gpus is False:
            yield refused("ml.threshold_without_gpu", path, value)


def _times(request: AutoscaleRequest) -> Iterator[Problem]:
    for key, minutes, least, most in (
        ("window_minutes", request.window_minutes, LEAST_WINDOW_MINUTES, MOST_WINDOW_MINUTES),
        ("cooldown_minutes", request.cooldown_minutes, LEAST_COOLDOWN_MINUTES, MOST_COOLDOWN_MINUTES),
    ):
        if not least <= minutes <= most:
            path, nearest = f"{request.path}.{key}", min(max(minutes, least), most)
            yield refused("ml.autoscale_duration", path, minutes, least=least, most=most, nearest=nearest)


SERVER_PACKAGE = "azureml-inference-server-http"
SERVER_VERSION = "1.5.1"
SERVER = observed(f"{SERVER_PACKAGE} {SERVER_VERSION}, its wheel", 2025, 12, 18)

PORT = 5001
SCORING_ROUTE = "/score"
LIVENESS_ROUTE = "/"
MODEL_FOLDER_VARIABLE = "AZUREML_MODEL_DIR"
