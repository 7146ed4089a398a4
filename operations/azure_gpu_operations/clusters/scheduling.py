"""Parses the messages of the scheduler and the cluster autoscaler about a waiting pod. Pure.

Sources: kubernetes v1.36.2, pkg/scheduler/framework/types.go (FitError: `0/3 nodes are available: 1 Insufficient nvidia.com/gpu,
2 node(s) had untolerated taint(s). preemption: …`) and framework/plugins; until 1.34 the taint stood in braces, `1 node(s) had
untolerated taint {sku: gpu}`. kubernetes/autoscaler, cluster-autoscaler/processors/status/eventing_scale_up_processor.go: events
TriggeredScaleUp, `pod triggered scale-up: [{pool 0->1 (max: 3)}]`, and NotTriggerScaleUp, `pod didn't trigger scale-up: 1 max
node group size reached, 1 node(s) had untolerated taint {sku: gpu}`.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from azure_gpu_operations.clusters.objects import EventSeen, Taint

_REASON = re.compile(r"(\d+) ((?:[^,.{]|\{[^}]*\}|\.(?=\S))+)")
_TAINT = re.compile(r"untolerated taint \{([^}]*)\}")
_SCALED = re.compile(r"\[\{(\S+) (\d+)->(\d+)(?: \(max: (\d+)\))?\}")
UNTOLERATED = "untolerated taint"
NOT_TOLERATED = "had taints that the pod didn't tolerate"
INSUFFICIENT = "Insufficient "
WRONG_SELECTOR = "didn't match Pod's node affinity/selector"
AT_MAX = "max node group size reached"
BACK_OFF = "in backoff after failed scale-up"
TRIGGERED = "TriggeredScaleUp"
NOT_TRIGGERED = "NotTriggerScaleUp"


class Reason(NamedTuple):
    """Why `count` nodes, or pools, don't fit."""

    count: int
    text: str

    @property
    def missing(self) -> str:
        """The resource that is insufficient; "" for any other reason."""
        return self.text.removeprefix(INSUFFICIENT) if self.text.startswith(INSUFFICIENT) else ""

    @property
    def is_taint(self) -> bool:
        return UNTOLERATED in self.text or NOT_TOLERATED in self.text

    @property
    def taint(self) -> Taint | None:
        """The taint, where the message names it."""
        found = _TAINT.search(self.text)
        if found is None:
            return None
        key, _, value = found[1].partition(":")
        return Taint(key.strip(), value.strip(), "")


class ScaleUp(NamedTuple):
    """A scale-up by the autoscaler."""

    pool: str
    before: int
    after: int
    most: int | None


def reasons(message: str) -> tuple[Reason, ...]:
    """Reasons in the scheduler's message, without those of preemption; or in the autoscaler's."""
    text = message.split(" preemption:", 1)[0]
    for start in ("nodes are available:", "didn't trigger scale-up:", "didn't trigger scale-up"):
        if start in text:
            text = text.split(start, 1)[1]
            break
    else:
        return ()
    return tuple(Reason(int(count), reason.strip()) for count, reason in _REASON.findall(text))


def last_word(events: Iterable[EventSeen]) -> EventSeen | None:
    """The autoscaler's last event; None if there is none."""
    return next((each for each in reversed(list(events)) if each.reason in (TRIGGERED, NOT_TRIGGERED)), None)


def scale_up(event: EventSeen) -> ScaleUp | None:
    """Which pool gets how many nodes."""
    found = _SCALED.search(event.message) if event.reason == TRIGGERED else None
    return ScaleUp(found[1], int(found[2]), int(found[3]), int(found[4]) if found[4] else None) if found else None
