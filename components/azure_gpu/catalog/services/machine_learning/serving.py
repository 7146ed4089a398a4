"""Probes and request limits of a deployment: defaults and rules. The maximum request timeout is in `deployments`."""

from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem, Severity, impossible
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES
from azure_gpu.catalog.sources import Dated, Source

MANAGED_YAML = Source(
    "Microsoft Learn, machine-learning/reference-yaml-deployment-managed-online", Dated.OBSERVED, date(2023, 10, 19)
)
KUBERNETES_YAML = Source(
    "Microsoft Learn, machine-learning/reference-yaml-deployment-kubernetes-online", Dated.OBSERVED, date(2022, 8, 31)
)

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
        _refused(f"{request.path}.{key}", "the number is below 1", value, "1 or more", "write 1 or more")
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
        found.append(
            _refused(path, "a liveness probe's success threshold must be 1", request.probe.success_threshold, "1", "write 1")
        )
    return found


def limits_problems(request: LimitsRequest) -> Iterator[Problem]:
    """All problems of the limits."""
    if request.concurrent < 1:
        path = f"{request.path}.concurrent"
        yield _refused(path, "the number of concurrent requests is below 1", request.concurrent, "1 or more", "write 1 or more")
    if request.kind == KUBERNETES and request.concurrent > DEFAULT_CONCURRENT:
        yield Problem(
            path=f"{request.path}.concurrent",
            message="Microsoft recommends 1 on Kubernetes",
            value=request.concurrent,
            allowed="1",
            fix="leave it out, and add instances",
            source=str(KUBERNETES_YAML),
            severity=Severity.WARNING,
        )
    if request.queue_s < 0:
        yield _refused(f"{request.path}.queue_seconds", "the time is negative", request.queue_s, "0 or more", "write 0.5")


def _refused(path: str, message: str, value: object, allowed: str, fix: str, source: Source = MANAGED_YAML) -> Problem:
    return impossible(path, message, value, allowed, fix, source)
