"""Checks whether an object is ready: a check for each kind that takes time.

The result is ready, not yet (with what is missing), or never (with the reason). Kinds without a check are ready as soon as
they are there, as in the real provider.

What the annotation `pulumi.com/waitFor` requests is `condition=Type[=Status]` or `jsonpath={.path}[=value]` with a path of names.
Other expressions are refused explicitly.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.kinds import TABLE, Kind
from localazure.kubernetes_plugin.objects import Object, path
from localazure.kubernetes_plugin.values import canonical


class Readiness(NamedTuple):
    """`waiting`: what doesn't exist yet. `failed`: why it never will be. Neither: ready."""

    waiting: str = ""
    failed: str = ""

    @property
    def ready(self) -> bool:
        return not self.waiting and not self.failed


READY = Readiness()
Check = Callable[[Object], Readiness]
_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"  # noqa: S105  (a type, not a token)
_ADDRESSES = ("status", "loadBalancer", "ingress")
_PLAIN_PATH = re.compile(r"\{?\.?(?P<steps>[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*)\}?(=(?P<value>.*))?")


def condition(thing: Object, kind: str) -> Mapping[str, Any]:
    """The condition of a type, {} where the object has none."""
    for each in path(thing, "status", "conditions") or []:
        if each.get("type") == kind:
            return each
    return {}


def holds(thing: Object, kind: str) -> bool:
    return condition(thing, kind).get("status") == "True"


def pod(thing: Object) -> Readiness:
    phase = path(thing, "status", "phase")
    if phase == "Succeeded" or (holds(thing, "PodScheduled") and holds(thing, "Ready")):
        return READY
    if phase == "Failed":
        why = path(thing, "status", "message") or path(thing, "status", "reason") or "a container ended with an error"
        return Readiness(failed=f"the pod failed: {why}")
    missing = next((each for each in ("PodScheduled", "Initialized", "Ready") if not holds(thing, each)), "Ready")
    words = {"PodScheduled": "scheduled", "Initialized": "initialized", "Ready": "ready"}[missing]
    return _waits(thing, f"to be {words}")


def job(thing: Object) -> Readiness:
    if holds(thing, "Complete"):
        return READY
    failed = condition(thing, "Failed")
    if failed.get("status") == "True":
        return Readiness(failed=f"[{failed.get('reason', 'Failed')}] {failed.get('message', 'the Job failed')}")
    if not path(thing, "status", "startTime"):
        return _waits(thing, "to start")
    counts = [f"{name.capitalize()}: {path(thing, 'status', name) or 0}" for name in ("active", "succeeded", "failed")]
    return _waits(thing, f"to succeed ({' | '.join(counts)})")


def deployment(thing: Object) -> Readiness:
    requested = _count(thing, "spec", "replicas", default=1)
    if not _observed(thing):
        return _unseen(thing)
    progressing = condition(thing, "Progressing")
    rolled_out = progressing.get("reason") == "NewReplicaSetAvailable" or not progressing
    updated, available = _count(thing, "status", "updatedReplicas"), _count(thing, "status", "availableReplicas")
    replaced = updated >= requested and _count(thing, "status", "replicas") == updated
    if replaced and available >= requested and (requested == 0 or (rolled_out and holds(thing, "Available"))):
        return READY
    return _waits(thing, f"to be available ({available}/{requested} Pods available)")


def stateful_set(thing: Object) -> Readiness:
    requested = _count(thing, "spec", "replicas", default=1)
    if not _observed(thing):
        return _unseen(thing)
    ready = _count(thing, "status", "readyReplicas")
    partition = path(thing, "spec", "updateStrategy", "rollingUpdate", "partition") or 0
    on_delete = path(thing, "spec", "updateStrategy", "type") == "OnDelete"
    same = path(thing, "status", "currentRevision") == path(thing, "status", "updateRevision")
    updated = _count(thing, "status", "updatedReplicas") >= requested - partition if partition else same
    if ready >= requested and _count(thing, "status", "replicas") == requested and (updated or on_delete or requested == 0):
        return READY
    return _waits(thing, f"to be ready ({ready}/{requested} Pods ready)")


def daemon_set(thing: Object) -> Readiness:
    if not _observed(thing) or path(thing, "status", "desiredNumberScheduled") is None:
        return _unseen(thing)
    requested = _count(thing, "status", "desiredNumberScheduled")
    counted = ["currentNumberScheduled", "numberAvailable", "numberReady"]
    if path(thing, "spec", "updateStrategy", "type") != "OnDelete":
        counted.append("updatedNumberScheduled")
    least = min(_count(thing, "status", each) for each in counted)
    if least >= requested:
        return READY
    return _waits(thing, f"to be ready ({least}/{requested} Pods ready)")


def definition(thing: Object) -> Readiness:
    refused = condition(thing, "NamesAccepted")
    if refused.get("status") == "False":
        return Readiness(failed=f"[{refused.get('reason', '')}] {refused.get('message', '')}")
    established = holds(thing, "Established")
    return READY if established else _waits(thing, "to be established")


def service(thing: Object, slices: Iterable[Object] = ()) -> Readiness:
    """`slices`: its EndpointSlices. What has no selector or is headless waits for none."""
    kind = path(thing, "spec", "type") or "ClusterIP"
    counts = kind != "ExternalName" and path(thing, "spec", "selector") and path(thing, "spec", "clusterIP") != "None"
    if counts and not any(
        path(each, "conditions", "ready") is not False for part in slices for each in part.get("endpoints") or []
    ):
        return Readiness(f"Waiting for {_named(thing)}: no ready Pod matches its selector")
    if kind == "LoadBalancer" and not path(thing, *_ADDRESSES):
        return _waits(thing, "to get an address of a load balancer")
    return READY


def _until(ready: Callable[[Object], object], what: str) -> Check:
    """For a kind of which one fact decides. `what` may show the object's phase."""
    return lambda thing: READY if ready(thing) else _waits(thing, what.format(phase=_phase(thing)))


CHECKS: dict[str, Check] = {
    "/PersistentVolume": _until(lambda thing: _phase(thing) in ("Available", "Bound"), "to be available ({phase})"),
    "/PersistentVolumeClaim": _until(lambda thing: _phase(thing) == "Bound", "to be bound ({phase})"),
    "/Pod": pod,
    "/ResourceQuota": _until(lambda thing: _hard(thing, "spec") == _hard(thing, "status"), "to be counted"),
    "/Secret": _until(lambda thing: thing.get("type") != _ACCOUNT_TOKEN or thing.get("data"), "to get its token"),
    "/Service": service,
    "apiextensions.k8s.io/CustomResourceDefinition": definition,
    "apps/DaemonSet": daemon_set,
    "apps/Deployment": deployment,
    "apps/StatefulSet": stateful_set,
    "batch/Job": job,
    "networking.k8s.io/Ingress": _until(lambda thing: path(thing, *_ADDRESSES), "to get an address"),
}


def default_s(kind: Kind) -> float:
    """How long it is waited for where nobody says otherwise."""
    return TABLE["seconds"].get(kind.key, TABLE["seconds"]["else"])


def _waits(thing: Object, what: str) -> Readiness:
    return Readiness(f"Waiting for {_named(thing)} {what}")


def _unseen(thing: Object) -> Readiness:
    return Readiness(f"Waiting for the controller to see {_named(thing)}")


def _named(thing: Object) -> str:
    return f'{thing["kind"]} "{objects.identity(thing).removeprefix(f"{objects.DEFAULT_NAMESPACE}/")}"'


def _phase(thing: Object) -> Any:
    return path(thing, "status", "phase")


def _hard(thing: Object, part: str) -> Any:
    return canonical({"hard": path(thing, part, "hard") or {}})


def _observed(thing: Object) -> bool:
    return _count(thing, "status", "observedGeneration") >= (path(thing, "metadata", "generation") or 0)


def _count(thing: Object, *keys: str, default: int = 0) -> int:
    found = path(thing, *keys)
    return found if isinstance(found, int) else default


def requested(inputs: Object) -> Check | None:
    """The check that an object's annotation requests, None where it has none. ValueError where it can't be read."""
    expression = objects.annotation(inputs, objects.WAIT_FOR)
    if not expression:
        return None
    by, sign, text = expression.partition("=")
    if not sign or by not in ("condition", "jsonpath"):
        raise ValueError(f'pulumi.com/waitFor takes "jsonpath=" or "condition=", but got "{expression}"')
    if by == "condition":
        name, _, status = text.partition("=")
        wanted = status or "True"
        waiting = Readiness(f'Waiting for condition "{name}" to be {wanted}')
        return lambda thing: READY if str(condition(thing, name).get("status")).lower() == wanted.lower() else waiting
    match = _PLAIN_PATH.fullmatch(text)
    if match is None:
        raise ValueError(
            f'pulumi.com/waitFor: this stand-in understands plain paths such as {{.status.phase}}, not "{expression}"'
        )
    steps, value = match["steps"].split("."), match["value"]
    return lambda thing: READY if _matches(path(thing, *steps), value) else Readiness(f"Waiting for {expression}")


def _matches(found: Any, wanted: str | None) -> bool:
    if found is None:
        return False
    return wanted is None or (str(found).lower() if isinstance(found, bool) else str(found)) == wanted
