"""The request and probe settings of a deployment, with the service's defaults, in seconds.

Defaults: Microsoft Learn, machine-learning/reference-yaml-deployment-managed-online, read 2026-11-22.
"""

from typing import Any, NamedTuple

from azure_gpu.catalog import durations
from azure_gpu.catalog.services.machine_learning.compute import KUBERNETES
from localazure.ml.slots import Settings

Body = dict[str, Any]

PROBE: Body = {"initialDelay": "PT10S", "period": "PT10S", "timeout": "PT2S", "successThreshold": 1, "failureThreshold": 30}
REQUESTS: Body = {"requestTimeout": "PT5S", "maxConcurrentRequestsPerInstance": 1, "maxQueueWait": "PT0.5S"}


class Probe(NamedTuple):
    """One probe's numbers."""

    initial_delay: float
    period: float
    timeout: float
    success_threshold: int
    failure_threshold: int

    @property
    def patience(self) -> float:
        """Seconds until a container that never answers has failed."""
        return self.initial_delay + self.period * self.failure_threshold


def probe(properties: Body, name: str) -> Probe:
    given = {**PROBE, **(properties.get(name) or {})}
    return Probe(
        _seconds(given["initialDelay"]),
        max(_seconds(given["period"]), 1.0),
        max(_seconds(given["timeout"]), 1.0),
        int(given["successThreshold"]),
        int(given["failureThreshold"]),
    )


def requests(properties: Body) -> Settings:
    given = {**REQUESTS, **(properties.get("requestSettings") or {})}
    return Settings(
        timeout_seconds=_seconds(given["requestTimeout"]),
        concurrent=int(given["maxConcurrentRequestsPerInstance"]),
        wait_seconds=_seconds(given["maxQueueWait"]),
        kubernetes=properties.get("endpointComputeType") == KUBERNETES,
    )


def _seconds(text: str) -> float:
    found = durations.seconds(text)
    if found is None:
        raise ValueError(f"{text!r} was checked to be a duration")
    return found
