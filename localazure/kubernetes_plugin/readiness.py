"""Checks whether an object is ready: one function for each kind that takes time.

The result is ready, not yet (with what is missing), or never (with the reason). Kinds without a function are ready as soon as
they are there, as in the real provider.

What the annotation `pulumi.com/waitFor` requests is `condition=Type[=Status]`, `jsonpath={.path}[=value]`, or a JSON list. Of
JSONPath the plain form is understood: names, `['names']` and `[indexes]`. Other expressions are refused explicitly.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.kinds import Kind
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
    return Readiness(f"Waiting for Pod {_quoted(thing)} to be {words}")


def job(thing: Object) -> Readiness:
    if holds(thing, "Complete"):
        return READY
    failed = condition(thing, "Failed")
    if failed.get("status") == "True":
        return Readiness(failed=f"[{failed.get('reason', 'Failed')}] {failed.get('message', 'the Job failed')}")
    if not path(thing, "status", "startTime"):
        return Readiness(f"Waiting for Job {_quoted(thing)} to start")
    counts = [f"{name.capitalize()}: {path(thing, 'status', name) or 0}" for name in ("active", "succeeded", "failed")]
    return Readiness(f"Waiting for Job {_quoted(thing)} to succeed ({' | '.join(counts)})")


def deployment(thing: Object) -> Readiness:
    requested = _count(thing, "spec", "replicas", default=1)
    if not _observed(thing):
        return Readiness(f"Waiting for the controller to see Deployment {_quoted(thing)}")
    progressing = condition(thing, "Progressing")
    rolled_out = progressing.get("reason") == "NewReplicaSetAvailable" or not progressing
    updated, available = _count(thing, "status", "updatedReplicas"), _count(thing, "status", "availableReplicas")
    replaced = updated >= requested and _count(thing, "status", "replicas") == updated
    if replaced and available >= requested and (requested == 0 or (rolled_out and holds(thing, "Available"))):
        return READY
    return Readiness(f"Waiting for Deployment {_quoted(thing)} to be available ({available}/{requested} Pods available)")


def stateful_set(thing: Object) -> Readiness:
    requested = _count(thing, "spec", "replicas", default=1)
    if not _observed(thing):
        return Readiness(f"Waiting for the controller to see StatefulSet {_quoted(thing)}")
    ready = _count(thing, "status", "readyReplicas")
    partition = path(thing, "spec", "updateStrategy", "rollingUpdate", "partition") or 0
    on_delete = path(thing, "spec", "updateStrategy", "type") == "OnDelete"
    same = path(thing, "status", "currentRevision") == path(thing, "status", "updateRevision")
    updated = _count(thing, "status", "updatedReplicas") >= requested - partition if partition else same
    if ready >= requested and _count(thing, "status", "replicas") == requested and (updated or on_delete or requested == 0):
        return READY
    return Readiness(f"Waiting for StatefulSet {_quoted(thing)} to be ready ({ready}/{requested} Pods ready)")


def daemon_set(thing: Object) -> Readiness:
    if not _observed(thing) or path(thing, "status", "desiredNumberScheduled") is None:
        return Readiness(f"Waiting for the controller to see DaemonSet {_quoted(thing)}")
    requested = _count(thing, "status", "desiredNumberScheduled")
    counted = ["currentNumberScheduled", "numberAvailable", "numberReady"]
    if path(thing, "spec", "updateStrategy", "type") != "OnDelete":
        counted.append("updatedNumberScheduled")
    least = min(_count(thing, "status", each) for each in counted)
    if least >= requested:
        return READY
    return Readiness(f"Waiting for DaemonSet {_quoted(thing)} to be ready ({least}/{requested} Pods ready)")


def volume(thing: Object) -> Readiness:
    phase = path(thing, "status", "phase")
    bound = phase in ("Available", "Bound")
    return READY if bound else Readiness(f"Waiting for PersistentVolume {_quoted(thing)} to be available ({phase})")


def claim(thing: Object) -> Readiness:
    phase = path(thing, "status", "phase")
    bound = phase == "Bound"
    return READY if bound else Readiness(f"Waiting for PersistentVolumeClaim {_quoted(thing)} to be bound ({phase})")


def quota(thing: Object) -> Readiness:
    request, known = path(thing, "spec", "hard") or {}, path(thing, "status", "hard") or {}
    same = canonical({"hard": request}) == canonical({"hard": known})
    return READY if same else Readiness(f"Waiting for ResourceQuota {_quoted(thing)} to be counted")


def token(thing: Object) -> Readiness:
    if thing.get("type") != "kubernetes.io/service-account-token" or thing.get("data"):
        return READY
    return Readiness(f"Waiting for Secret {_quoted(thing)} to get its token")


def definition(thing: Object) -> Readiness:
    refused = condition(thing, "NamesAccepted")
    if refused.get("status") == "False":
        return Readiness(failed=f"[{refused.get('reason', '')}] {refused.get('message', '')}")
    established = holds(thing, "Established")
    return READY if established else Readiness(f"Waiting for CustomResourceDefinition {_quoted(thing)} to be established")


def ingress(thing: Object) -> Readiness:
    if path(thing, "status", "loadBalancer", "ingress"):
        return READY
    return Readiness(f"Waiting for Ingress {_quoted(thing)} to get an address")


def service(thing: Object, slices: Iterable[Object] = ()) -> Readiness:
    """`slices`: its EndpointSlices. What has no selector or is headless waits for none."""
    kind = path(thing, "spec", "type") or "ClusterIP"
    counts = kind != "ExternalName" and path(thing, "spec", "selector") and path(thing, "spec", "clusterIP") != "None"
    if counts and not any(
        path(each, "conditions", "ready") is not False for part in slices for each in part.get("endpoints") or []
    ):
        return Readiness(f"Waiting for Service {_quoted(thing)}: no ready Pod matches its selector")
    if kind == "LoadBalancer" and not path(thing, "status", "loadBalancer", "ingress"):
        return Readiness(f"Waiting for Service {_quoted(thing)} to get an address of a load balancer")
    return READY


CHECKS: dict[tuple[str, str], Check] = {
    ("", "PersistentVolume"): volume,
    ("", "PersistentVolumeClaim"): claim,
    ("", "Pod"): pod,
    ("", "ResourceQuota"): quota,
    ("", "Secret"): token,
    ("", "Service"): service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): definition,
    ("apps", "DaemonSet"): daemon_set,
    ("apps", "Deployment"): deployment,
    ("apps", "StatefulSet"): stateful_set,
    ("batch", "Job"): job,
    ("networking.k8s.io", "Ingress"): ingress,
}

# How long each is waited for where nobody says otherwise.
DEFAULT_S = 600.0
SHORTER_S = {
    ("", "PersistentVolume"): 300.0,
    ("", "PersistentVolumeClaim"): 300.0,
    ("", "ResourceQuota"): 60.0,
    ("", "Secret"): 60.0,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): 60.0,
}


def check_of(kind: Kind) -> Check | None:
    return CHECKS.get((kind.group, kind.name))


def default_s(kind: Kind) -> float:
    return SHORTER_S.get((kind.group, kind.name), DEFAULT_S)


def _observed(thing: Object) -> bool:
    return _count(thing, "status", "observedGeneration") >= (path(thing, "metadata", "generation") or 0)


def _count(thing: Object, *keys: str, default: int = 0) -> int:
    found = path(thing, *keys)
    return found if isinstance(found, int) else default


def _quoted(thing: Object) -> str:
    own = objects.identity(thing).removeprefix(f"{objects.DEFAULT_NAMESPACE}/")
    return f'"{own}"'


_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]|\['([^']+)'\]")


def annotated_check(inputs: Object) -> Callable[[Object], Readiness] | None:
    """The check that an object's annotation requests, None where it has none. ValueError where it can't be read."""
    text = objects.annotation(inputs, objects.WAIT_FOR)
    return parsed(text) if text else None


def parsed(text: str) -> Callable[[Object], Readiness]:
    """The check that the annotation's text means. ValueError where it can't be read."""
    try:
        listed = json.loads(text)
    except ValueError:
        listed = text
    expressions = listed if isinstance(listed, list) else [text]
    if not expressions:
        raise ValueError("pulumi.com/waitFor: at least one condition must be specified")
    checks = [_check(str(each)) for each in expressions]

    def every(thing: Object) -> Readiness:
        return next((found for check in checks if not (found := check(thing)).ready), READY)

    return every


def _check(expression: str) -> Callable[[Object], Readiness]:
    if expression.startswith("condition="):
        name, _, status = expression.removeprefix("condition=").partition("=")
        wanted = status or "True"
        waiting = Readiness(f'Waiting for condition "{name}" to be {wanted}')
        return lambda thing: READY if str(condition(thing, name).get("status")).lower() == wanted.lower() else waiting
    if expression.startswith("jsonpath="):
        where, _, value = expression.removeprefix("jsonpath=").partition("}")
        steps = _steps(where.removeprefix("{"), expression)
        wanted_value = value.removeprefix("=") if value else None
        waiting = Readiness(f"Waiting for {expression}")
        return lambda thing: READY if _matches(_found(thing, steps), wanted_value) else waiting
    raise ValueError(f'pulumi.com/waitFor takes "jsonpath=" or "condition=", but got "{expression}"')


def _steps(path: str, expression: str) -> list[str | int]:
    path = path if path.startswith((".", "[")) else f".{path}"
    found = list(_STEP.finditer(path))
    if "".join(each.group(0) for each in found) != path:
        raise ValueError(
            f'pulumi.com/waitFor: this stand-in understands plain paths such as {{.status.phase}}, not "{expression}"'
        )
    return [int(each.group(2)) if each.group(2) else each.group(1) or each.group(3) for each in found]


def _found(thing: Any, steps: list[str | int]) -> Any:
    for step in steps:
        if isinstance(thing, dict) and isinstance(step, str):
            thing = thing.get(step)
        elif isinstance(thing, list) and isinstance(step, int) and step < len(thing):
            thing = thing[step]
        else:
            return None
    return thing


def _matches(found: Any, wanted: str | None) -> bool:
    if found is None:
        return False
    return wanted is None or (str(found).lower() if isinstance(found, bool) else str(found)) == wanted
