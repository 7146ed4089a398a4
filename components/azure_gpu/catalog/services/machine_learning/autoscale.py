"""Autoscaling of a managed online deployment: rules of Azure Monitor over the deployment's metrics.

On Kubernetes the router scales by itself, see `deployments`.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from azure_gpu.catalog.problems import Problem, impossible
from azure_gpu.catalog.services.machine_learning.endpoints import LEAST_INSTANCES, LEAST_SOURCE
from azure_gpu.catalog.sources import Dated, Source

HOW = Source("Microsoft Learn, machine-learning/how-to-autoscale-endpoints", Dated.OBSERVED, date(2024, 8, 7))
METRICS_PAGE = Source(
    "Microsoft Learn, azure-monitor/reference/supported-metrics of workspaces/onlineEndpoints/deployments",
    Dated.OBSERVED,
    date(2026, 11, 20),
)
PROVIDER = Source("pulumi-azure-native 3.29.0, monitor.AutoscaleSetting 2022-10-01", Dated.OBSERVED, date(2026, 11, 20))

LEAST_WINDOW_MINUTES, MOST_WINDOW_MINUTES = 5, 12 * 60
LEAST_COOLDOWN_MINUTES, MOST_COOLDOWN_MINUTES = 1, 7 * 24 * 60
SHRINK_BELOW = 0.4  # of the value at which a deployment grows: low enough that one instance less doesn't exceed it at once


class Metric(StrEnum):
    """What a deployment can be scaled by, as Azure Monitor spells it."""

    CPU = "CpuUtilizationPercentage"
    GPU = "GpuUtilizationPercentage"
    REQUESTS = "RequestsPerMinute"


PERCENTAGES = (Metric.CPU, Metric.GPU)


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


def problems(request: AutoscaleRequest) -> list[Problem]:
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
        if metric is Metric.REQUESTS and not value > 0:
            yield impossible(path, "not a valid number of requests", value, "above 0", "write a number of requests", HOW)
        if metric is Metric.GPU and request.gpus is False:
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
                f"write {min(max(minutes, least), most)}", PROVIDER,
            )  # fmt: skip
