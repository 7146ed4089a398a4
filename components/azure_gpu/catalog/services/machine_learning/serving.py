"""How the service asks a deployment whether it is well, and how long requests may take and wait: defaults and limits.

In: a `ProbeRequest` or a `LimitsRequest`, with the paths of their values. Out: every problem. The longest time of a request is in
`deployments`.
"""

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
    """How often and how long a container is asked, in seconds and times; as the service has it where nothing is said."""

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
    """What a deployment does with requests, and where it was written. The timeout itself is judged in `deployments`."""

    kind: str  # Managed or Kubernetes
    path: str
    concurrent: int
    queue_s: float


def probe_problems(request: ProbeRequest) -> list[Problem]:
    """Every reason for which the service refuses the probe."""
    found = [
        _refused(f"{request.path}.{key}", "this number is too small", value, "1 or more", "write 1 or more")
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
            _refused(path, "one good answer ends a liveness probe's failure", request.probe.success_threshold, "1", "write 1")
        )
    return found


def limits_problems(request: LimitsRequest) -> Iterator[Problem]:
    """Every reason for which the service refuses the limits."""
    if request.concurrent < 1:
        path = f"{request.path}.concurrent"
        yield _refused(
            path, "an instance answers at least one request at a time", request.concurrent, "1 or more", "write 1 or more"
        )
    if request.kind == KUBERNETES and request.concurrent > DEFAULT_CONCURRENT:
        yield Problem(
            path=f"{request.path}.concurrent",
            message="on Kubernetes Microsoft asks to leave this at 1, unless its support says otherwise",
            value=request.concurrent,
            allowed="1",
            fix="take it out, and have more instances",
            source=str(KUBERNETES_YAML),
            severity=Severity.WARNING,
        )
    if request.queue_s < 0:
        yield _refused(f"{request.path}.queue_seconds", "no time is shorter than none", request.queue_s, "0 or more", "write 0.5")


def _refused(path: str, message: str, value: object, allowed: str, fix: str, source: Source = MANAGED_YAML) -> Problem:
    return impossible(path, message, value, allowed, fix, source)
