"""Rules for online endpoints of Azure Machine Learning: deployments, probes and limits of requests, traffic, and autoscaling.

A managed deployment grows by rules of Azure Monitor over its metrics; on Kubernetes the router scales by itself.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Literal, NamedTuple

from azure_gpu.catalog import lifecycle, spelling
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity, impossible
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES, LEGACY_AKS, PROVIDER
from azure_gpu.catalog.services.machine_learning.endpoints import LEAST_INSTANCES, LEAST_SOURCE, LIST, QUOTAS
from azure_gpu.catalog.sources import Dated, Source

AUTH_MODES = ("Key", "AMLToken", "AADToken")
OF_MANAGED = "AADToken"  # the one of them that Kubernetes endpoints don't take
MANAGED = "Managed"
KINDS = (MANAGED, KUBERNETES)

_KUBERNETES = Source("Azure/azureml-examples, kubernetes-endpoint.yml", Dated.OBSERVED, date(2026, 7, 31))
_SIGN_ON = Source("Microsoft Learn, machine-learning/how-to-authenticate-online-endpoint", Dated.OBSERVED, date(2026, 11, 20))

ONLINE_ENDPOINTS = Lifecycle(seen=LIST)
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
    problems = lifecycle.check(ONLINE_ENDPOINTS, "an online endpoint", as_of, path=request.kind_path, value=request.kind)
    problems += _name("an endpoint", request.name, request.name_path)
    if request.auth_mode not in AUTH_MODES:
        problems.append(
            _refused(
                request.auth_path,
                "unknown authentication mode",
                request.auth_mode or None,
                ", ".join(AUTH_MODES),
                "write AADToken, which needs no secret",
            )
        )
    if request.kind == KUBERNETES and request.auth_mode == OF_MANAGED:
        problems.append(
            _refused(
                request.auth_path,
                "an endpoint on Kubernetes doesn't support Entra tokens",
                request.auth_mode,
                ", ".join(mode for mode in AUTH_MODES if mode != OF_MANAGED),
                "write AMLToken, whose tokens expire after some hours",
                _SIGN_ON,
            )
        )
    if request.kind not in KINDS:
        allowed = ", ".join(KINDS)
        problems.append(_refused(request.kind_path, "unknown kind of online endpoint", request.kind, allowed, f"write {MANAGED}"))
    problems += _compute(request)
    return problems


def deployment_problems(request: DeploymentRequest, as_of: date) -> list[Problem]:
    """All problems of the deployment on that day."""
    problems = lifecycle.check(ONLINE_ENDPOINTS, "an online deployment", as_of, path=request.name_path, value=request.kind)
    problems += _name("a deployment", request.name, request.name_path)
    both = len(request.name) + len(request.endpoint_name)
    if request.kind == KUBERNETES and not 6 <= both <= 62:
        problems.append(
            _refused(
                request.name_path,
                "invalid total length of the names of a Kubernetes endpoint and its deployment",
                both,
                "6 to 62 characters in total",
                "shorten one of them",
                QUOTAS,
            )
        )
    if request.instances > MOST_INSTANCES:
        problems.append(
            _refused(
                request.instances_path,
                f"more than {MOST_INSTANCES} instances require Microsoft's approval",
                request.instances,
                f"at most {MOST_INSTANCES}, more on request",
                "use fewer, or request a higher limit",
                QUOTAS,
            )
        )
    if request.instances < LEAST_INSTANCES:
        problems.append(
            _refused(
                request.instances_path,
                "a deployment needs at least one instance",
                request.instances,
                f"{LEAST_INSTANCES} or more",
                "write 1, and delete the deployment while it isn't used",
                LEAST_SOURCE,
            )
        )
    most = MOST_TIMEOUT_S.get(request.kind)
    if most is not None and request.request_timeout_s is not None and not 0 < request.request_timeout_s <= most:
        problems.append(
            _refused(
                request.timeout_path,
                f"the request timeout of a {request.kind} endpoint is at most {most} s",
                request.request_timeout_s,
                f"above 0, at most {most} s",
                f"write {most} s or less, or answer at once and do the work elsewhere",
                QUOTAS,
            )
        )
    return problems


def _name(what: str, name: str, path: str) -> Iterator[Problem]:
    if re.fullmatch(_NAME, name) is None:
        yield _refused(
            path,
            f"not a valid name of {what}",
            name,
            "3 to 32 letters, digits and single dashes, a letter first",
            "use only the allowed characters",
            QUOTAS,
        )


def _compute(request: EndpointRequest) -> Iterator[Problem]:
    if request.kind == KUBERNETES and request.compute_kind != KUBERNETES:
        legacy = "; the kind AKS is of version 1" if request.compute_kind == LEGACY_AKS else ""
        yield _refused(
            request.compute_path,
            f"a Kubernetes endpoint requires a compute of the kind Kubernetes{legacy}",
            request.compute_kind or None,
            KUBERNETES,
            "attach the cluster as Kubernetes compute",
            _KUBERNETES,
        )
    if request.kind == MANAGED and request.compute_kind:
        yield _refused(
            request.compute_path,
            "a managed endpoint can't have a compute",
            request.compute_kind,
            "no compute",
            f"leave the compute out, or write {KUBERNETES}",
        )


def _refused(path: str, message: str, value: object, allowed: str, fix: str, source: Source = PROVIDER) -> Problem:
    return impossible(path, message, value, allowed, fix, source)


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
        _refused_by(f"{request.path}.{key}", "the number is below 1", value, "1 or more", "write 1 or more")
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
            _refused_by(path, "a liveness probe's success threshold must be 1", request.probe.success_threshold, "1", "write 1")
        )
    return found


def limits_problems(request: LimitsRequest) -> Iterator[Problem]:
    """All problems of the limits."""
    if request.concurrent < 1:
        path = f"{request.path}.concurrent"
        yield _refused_by(
            path, "the number of concurrent requests is below 1", request.concurrent, "1 or more", "write 1 or more"
        )
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
        yield _refused_by(f"{request.path}.queue_seconds", "the time is negative", request.queue_s, "0 or more", "write 0.5")


def _refused_by(path: str, message: str, value: object, allowed: str, fix: str, source: Source = MANAGED_YAML) -> Problem:
    return impossible(path, message, value, allowed, fix, source)


ROLLOUT = Source("Microsoft Learn, machine-learning/how-to-safely-rollout-online-endpoints", Dated.OBSERVED, date(2023, 10, 24))
WHOLE = 100  # percent
MOST_MIRRORED = 50  # percent
MOST_DEPLOYMENTS = 20  # an endpoint, more on request
DEPLOYMENT_HEADER = (
    "azureml-model-deployment"  # of a request: chooses a deployment, independent of the shares; of an answer: the deployment
)


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
        yield impossible(
            request.deployments_path,
            f"more than {MOST_DEPLOYMENTS} deployments require Microsoft's approval",
            len(request.deployments),
            f"at most {MOST_DEPLOYMENTS}, more on request",
            "remove those without traffic, or request a higher limit",
            QUOTAS,
        )


def _traffic_names(request: TrafficRequest) -> Iterator[Problem]:
    for path, shares in ((request.traffic_path, request.traffic), (request.mirror_path, request.mirror)):
        for name in shares:
            if name in request.deployments:
                continue
            close = spelling.nearest(name, request.deployments, 1)
            yield Problem(
                path=f"{path}.{name}",
                message="unknown deployment; before you remove one, give its share to others",
                value=name,
                allowed=", ".join(request.deployments) or "none: the endpoint has no deployments",
                fix=f"did you mean {close[0]}?" if close else f"declare the deployment, or remove {name}",
                instead=close,
                source=str(ROLLOUT),
                code=Code.NOT_FOUND,
            )


def _live(request: TrafficRequest) -> Iterator[Problem]:
    out_of_range = {name: share for name, share in request.traffic.items() if not 0 <= share <= WHOLE}
    for name, share in out_of_range.items():
        path = f"{request.traffic_path}.{name}"
        yield impossible(path, "not a valid percentage of traffic", share, f"0 to {WHOLE}", "write a percentage", PROVIDER)
    total = sum(request.traffic.values())
    if not out_of_range and total not in (0, WHOLE):
        yield impossible(
            request.traffic_path,
            f"the shares of traffic add up to {total} percent",
            total,
            f"{WHOLE} percent in total, or 0 for no live traffic",
            f"{'take away' if total > WHOLE else 'give out'} {abs(WHOLE - total)} percent",
            PROVIDER,
        )
    if not out_of_range and request.deployments and total == 0:
        yield Problem(
            path=request.traffic_path,
            message="no deployment gets live traffic; only requests whose header names one are answered",
            value=total,
            fix=f"give out {WHOLE} percent",
            source=str(ROLLOUT),
            severity=Severity.WARNING,
        )


def _mirrored(request: TrafficRequest) -> Iterator[Problem]:
    path, mirrored = request.mirror_path, {name: share for name, share in request.mirror.items() if share != 0}
    if not mirrored:
        return
    if request.kind == KUBERNETES:
        yield impossible(path, "an endpoint on Kubernetes can't mirror traffic", mirrored, "none", f"remove {path}", ROLLOUT)
    if len(mirrored) > 1:
        names = ", ".join(mirrored)
        yield impossible(
            path, "traffic can be mirrored to one deployment only", names, "one deployment", "keep one of them", ROLLOUT
        )
    for name, share in mirrored.items():
        if not 0 < share <= MOST_MIRRORED:
            yield impossible(
                f"{path}.{name}",
                "not a valid percentage of mirrored traffic",
                share,
                f"1 to {MOST_MIRRORED} percent",
                f"write {MOST_MIRRORED} or less",
                ROLLOUT,
            )
        if request.traffic.get(name, 0) > 0:
            yield impossible(
                f"{path}.{name}",
                "a deployment can't get both live and mirrored traffic",
                name,
                "a deployment without live traffic",
                "give its live traffic to another deployment, or mirror to another",
                ROLLOUT,
            )
    if sum(request.traffic.values()) == 0:
        yield impossible(path, "no live traffic to mirror", mirrored, "none", "give out live traffic first", ROLLOUT)


HOW = Source("Microsoft Learn, machine-learning/how-to-autoscale-endpoints", Dated.OBSERVED, date(2024, 8, 7))
METRICS_PAGE = Source(
    "Microsoft Learn, azure-monitor/reference/supported-metrics of workspaces/onlineEndpoints/deployments",
    Dated.OBSERVED,
    date(2026, 11, 20),
)
MONITOR_PROVIDER = Source("pulumi-azure-native 3.29.0, monitor.AutoscaleSetting 2022-10-01", Dated.OBSERVED, date(2026, 11, 20))

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
        yield impossible(
            f"{request.path}.min",
            "an online deployment never scales to zero",
            request.least,
            f"{LEAST_INSTANCES} or more",
            "write 1, and remove the deployment while it isn't used",
            LEAST_SOURCE,
        )
    if request.most < request.least:
        yield impossible(
            f"{request.path}.max",
            "the maximum number of instances is below the minimum",
            request.most,
            f"{request.least} or more",
            f"write {max(request.least, LEAST_INSTANCES)} or more",
            HOW,
        )
    elif request.most == request.least:
        yield impossible(
            f"{request.path}.max",
            "the maximum number of instances equals the minimum",
            request.most,
            f"more than {request.least}",
            "raise it, or set `instances` instead of `autoscale`",
            HOW,
        )


def _thresholds(request: AutoscaleRequest) -> Iterator[Problem]:
    for metric, value in request.thresholds.items():
        path = request.threshold_paths[metric]
        if metric in PERCENTAGES and not 0 < value <= 100:
            yield impossible(
                path, "not a valid percentage", value, "above 0, at most 100", "write 70, such as in Azure's example", HOW
            )
        if metric == "RequestsPerMinute" and not value > 0:
            yield impossible(path, "not a valid number of requests", value, "above 0", "write a number of requests", HOW)
        if metric == "GpuUtilizationPercentage" and request.gpus is False:
            yield impossible(
                path, "the deployment's instances have no GPU", value, "none", "scale by cpu_percent or requests", METRICS_PAGE
            )


def _times(request: AutoscaleRequest) -> Iterator[Problem]:
    for key, minutes, least, most in (
        ("window_minutes", request.window_minutes, LEAST_WINDOW_MINUTES, MOST_WINDOW_MINUTES),
        ("cooldown_minutes", request.cooldown_minutes, LEAST_COOLDOWN_MINUTES, MOST_COOLDOWN_MINUTES),
    ):
        if not least <= minutes <= most:
            yield impossible(
                f"{request.path}.{key}", "duration out of Azure Monitor's range", minutes, f"{least} to {most} minutes",
                f"write {min(max(minutes, least), most)}", MONITOR_PROVIDER,
            )  # fmt: skip


SERVER_PACKAGE = "azureml-inference-server-http"
SERVER_VERSION = "1.5.1"
SERVER = Source(f"{SERVER_PACKAGE} {SERVER_VERSION}, its wheel", Dated.OBSERVED, date(2025, 12, 18))

PORT = 5001
SCORING_ROUTE = "/score"
LIVENESS_ROUTE = "/"
MODEL_FOLDER_VARIABLE = "AZUREML_MODEL_DIR"
