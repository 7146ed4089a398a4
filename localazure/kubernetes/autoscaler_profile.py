"""The autoscaler profile of a cluster: what ARM's `autoScalerProfile` says, with AKS's defaults. Pure.

Defaults: Microsoft Learn, articles/aks/cluster-autoscaler.md.
"""

from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction
from typing import NamedTuple

_UNITS = {"s": 1, "m": 60, "h": 3600}


class Profile(NamedTuple):
    """How the autoscaler of one cluster decides."""

    scan: timedelta = timedelta(seconds=10)
    new_pod_delay: timedelta = timedelta()
    max_node_provision: timedelta = timedelta(minutes=15)
    delay_after_add: timedelta = timedelta(minutes=10)
    delay_after_failure: timedelta = timedelta(minutes=3)
    unneeded: timedelta = timedelta(minutes=10)
    unready: timedelta = timedelta(minutes=20)
    threshold: Fraction = Fraction(1, 2)
    max_empty: int = 10
    most_seconds_to_end: int = 600
    skip_local_storage: bool = False
    skip_system_pods: bool = True
    ignore_daemons: bool = False
    expander: str = "random"


def read(given: Mapping[str, str]) -> Profile:
    """What can't be read counts as not said; the ARM kind has refused it."""
    default = Profile()
    return Profile(
        scan=_time(given, "scan-interval", default.scan),
        new_pod_delay=_time(given, "new-pod-scale-up-delay", default.new_pod_delay),
        max_node_provision=_time(given, "max-node-provision-time", default.max_node_provision),
        delay_after_add=_time(given, "scale-down-delay-after-add", default.delay_after_add),
        delay_after_failure=_time(given, "scale-down-delay-after-failure", default.delay_after_failure),
        unneeded=_time(given, "scale-down-unneeded-time", default.unneeded),
        unready=_time(given, "scale-down-unready-time", default.unready),
        threshold=Fraction(str(given.get("scale-down-utilization-threshold") or default.threshold)),
        max_empty=int(given.get("max-empty-bulk-delete") or default.max_empty),
        most_seconds_to_end=int(given.get("max-graceful-termination-sec") or default.most_seconds_to_end),
        skip_local_storage=_yes(given, "skip-nodes-with-local-storage", default.skip_local_storage),
        skip_system_pods=_yes(given, "skip-nodes-with-system-pods", default.skip_system_pods),
        ignore_daemons=_yes(given, "ignore-daemonsets-utilization", default.ignore_daemons),
        expander=str(given.get("expander") or default.expander),
    )


def _time(given: Mapping[str, str], name: str, default: timedelta) -> timedelta:
    text = str(given.get(name) or "")
    if text[-1:] in _UNITS and text[:-1].replace(".", "", 1).isdigit():
        return timedelta(seconds=float(text[:-1]) * _UNITS[text[-1]])
    return default


def _yes(given: Mapping[str, str], name: str, default: bool) -> bool:
    text = str(given.get(name, "")).lower()
    return text == "true" if text in ("true", "false") else default
