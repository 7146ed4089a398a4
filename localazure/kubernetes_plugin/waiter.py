"""Waits until an object is ready or gone, and says why it isn't, from its pods and its events.

NotReadyError has what kept it from being ready: lines for people, the most telling first, each once; what can't be asked is left
out. A server that doesn't answer for a moment is waited for; one that stays silent ends the waiting.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from localazure.kubernetes_plugin import objects, readiness
from localazure.kubernetes_plugin.api import Api, ApiError, UnreachableError
from localazure.kubernetes_plugin.cluster import Cluster, NoMatchError
from localazure.kubernetes_plugin.kinds import Kind
from localazure.kubernetes_plugin.objects import Object, path
from localazure.kubernetes_plugin.readiness import READY, Check, Readiness, condition

_WITH_PODS = frozenset({"apps/DaemonSet", "apps/Deployment", "apps/StatefulSet", "batch/Job"})
_MOST = 10  # lines
_PODS_ASKED = 5  # whose events are read
_HARMLESS = frozenset({"ContainerCreating", "PodInitializing"})


def reasons(cluster: Cluster, kind: Kind, thing: Object) -> list[str]:
    """What is known about an object that isn't ready."""
    found: list[str] = []
    try:
        api = cluster.api
        pods = [thing] if kind.name == "Pod" else _pods(api, kind, thing)
        owners = [thing, *_replica_sets(api, kind, thing), *pods[:_PODS_ASKED]]
        lines = [line for pod in pods for line in pod_problems(pod)]
        lines += [line for owner in owners for line in _warnings(api, owner)]
        lines += _failing_conditions(thing)
        found = list(dict.fromkeys(lines))
    except (ApiError, UnreachableError):
        pass
    return found[:_MOST]


def pod_problems(pod: Object) -> Iterator[str]:
    """What a pod says of itself and of its containers."""
    who = f"[Pod {objects.identity(pod)}]"
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") == "False" and scheduled.get("message"):
        yield f"{who}: {scheduled['message']}"
    if path(pod, "status", "phase") == "Failed" and path(pod, "status", "message"):
        yield f"{who}: [{path(pod, 'status', 'reason') or 'Failed'}] {path(pod, 'status', 'message')}"
    for key in ("initContainerStatuses", "containerStatuses"):
        for status in path(pod, "status", key) or []:
            yield from (f"{who}: {line}" for line in _container_problems(status))


def _container_problems(status: Object) -> Iterator[str]:
    if status.get("ready"):
        return
    waiting = path(status, "state", "waiting") or {}
    if waiting.get("reason") and waiting["reason"] not in _HARMLESS:
        yield f"[{waiting['reason']}] {waiting.get('message', '')}".rstrip()
    ended = path(status, "state", "terminated") or path(status, "lastState", "terminated")
    if ended and ended.get("exitCode"):
        message = ended.get("message")
        yield f'container "{status.get("name")}" ended with exit code {ended["exitCode"]}' + (f": {message}" if message else "")


def _failing_conditions(thing: Object) -> Iterator[str]:
    for each in path(thing, "status", "conditions") or []:
        wrong = "False" if each.get("type") in ("Available", "Progressing", "Ready") else "True"
        telling = each.get("type") in ("Available", "Progressing", "Ready", "ReplicaFailure") or "Fail" in str(each.get("reason"))
        if each.get("status") == wrong and telling and each.get("message"):
            yield f"[{each.get('reason') or each.get('type')}] {each['message']}"


def _pods(api: Api, kind: Kind, thing: Object) -> list[Object]:
    labels = path(thing, "spec", "selector", "matchLabels")
    if kind.key not in _WITH_PODS or not labels:
        return []
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    found = api.get(f"/api/v1/namespaces/{quote(objects.namespace_or_default(thing))}/pods", labelSelector=selector)
    return list(found.get("items") or [])


def _replica_sets(api: Api, kind: Kind, thing: Object) -> list[Object]:
    """A Deployment's own events say little: those of its newest ReplicaSet do."""
    if kind.key != "apps/Deployment":
        return []
    found = api.get(f"/apis/apps/v1/namespaces/{quote(objects.namespace_or_default(thing))}/replicasets").get("items") or []
    uid = path(thing, "metadata", "uid")
    own = [each for each in found if any(o.get("uid") == uid for o in path(each, "metadata", "ownerReferences") or [])]
    return sorted(own, key=lambda each: str(path(each, "metadata", "creationTimestamp")))[-1:]


def _warnings(api: Api, thing: Object) -> Iterator[str]:
    about = f"involvedObject.uid={path(thing, 'metadata', 'uid')},type=Warning"
    found = api.get(f"/api/v1/namespaces/{quote(objects.namespace_or_default(thing))}/events", fieldSelector=about)
    # Controllers say the same of each pod that they couldn't make: the last of a kind is enough.
    latest = {each.get("reason"): each for each in sorted(found.get("items") or [], key=_told_at)}
    for reason, each in latest.items():
        yield f"[{path(each, 'involvedObject', 'kind')} {objects.identity(thing)}]: [{reason}] {each.get('message')}"


def _told_at(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or path(event, "metadata", "creationTimestamp"))


_FIRST_S, _LONGEST_S = 0.05, 1.0  # between two looks
_SILENT_S = 30.0  # how long a server may not answer
_SAID_AFTER_S = 0.5  # what takes no longer isn't worth a line
_SAID_EVERY_S = 5.0  # problems are told at least so far apart

# Whose deletion isn't waited for either where waiting is turned off.
_SKIPPED_DELETION = _WITH_PODS | {"/Namespace", "/Pod"}


class NotReadyError(Exception):
    """The object is there, and isn't what it should be, or is there still. `more`: what was seen."""

    def __init__(self, message: str, live: Object, more: list[str]) -> None:
        super().__init__(message)
        self.live = live
        self.more = more


class Waiting(NamedTuple):
    """What all waiting of one provider shares."""

    cluster: Cluster
    stopping: threading.Event
    say: Callable[[str, str], None]  # URN, line
    clock: Callable[[], float] = time.monotonic


def retried(
    waiting: Waiting, urn: str, pauses_s: Iterable[float], attempt: Callable[[], Object], in_vain: Callable[[ApiError], bool]
) -> Object:
    """What an object needs (its namespace, its definition) may be on its way: a program needn't say what comes first."""
    for number, pause in enumerate(pauses_s):
        try:
            return attempt()
        except (ApiError, NoMatchError) as error:
            if isinstance(error, ApiError) and in_vain(error):
                raise
            waiting.say(urn, f"Retry #{number}; creation failed: {error}")
        if waiting.stopping.wait(pause):
            break
    return attempt()


def check_for(cluster: Cluster, kind: Kind, inputs: Object) -> Check | None:
    """What the object has to fulfil, None where its being there is enough. ValueError: an annotation can't be read."""
    if objects.annotated(inputs, objects.SKIP_AWAIT):
        return None
    requested = readiness.requested(inputs)
    own = readiness.CHECKS.get(kind.key)
    if kind == Kind("", "v1", "Service"):
        own = _service_check(cluster)
    elif kind == Kind("", "v1", "PersistentVolumeClaim"):
        own = _claim_check(cluster)
    if requested is None:
        return own
    return requested if own is None else lambda thing: first if not (first := own(thing)).ready else requested(thing)


def until_ready(waiting: Waiting, urn: str, kind: Kind, live: Object, inputs: Object, timeout_s: float) -> Object:
    """The object when it is ready. NotReadyError."""
    check = check_for(waiting.cluster, kind, inputs)
    if check is None:
        return live
    own_path = waiting.cluster.path_of(kind, live)
    latest = live

    def look() -> Readiness:
        nonlocal latest
        found = waiting.cluster.api.find(own_path)
        if found is None:
            return Readiness(failed="it was deleted while it was waited for")
        latest = found
        return check(found)

    ended = _poll(waiting, urn, look, timeout_s or default_timeout(kind, inputs), lambda: reasons(waiting.cluster, kind, latest))
    if ended.ready:
        return latest
    raise NotReadyError(_ended(ended, latest, waiting), latest, [*_lines(ended), *reasons(waiting.cluster, kind, latest)])


def until_gone(waiting: Waiting, urn: str, kind: Kind, live: Object, inputs: Object, timeout_s: float) -> None:
    """NotReadyError where it is there still."""
    if objects.annotated(inputs, objects.SKIP_AWAIT) and kind.key in _SKIPPED_DELETION:
        return
    own_path, uid = waiting.cluster.path_of(kind, live), path(live, "metadata", "uid")
    latest = live

    def look() -> Readiness:
        nonlocal latest
        found = waiting.cluster.api.find(own_path)
        if found is None or (uid and path(found, "metadata", "uid") != uid):
            return READY
        latest = found
        return Readiness(f'Waiting for {kind.name} "{objects.identity(found)}" to be deleted')

    ended = _poll(waiting, urn, look, timeout_s or default_timeout(kind, inputs), lambda: [])
    if not ended.ready:
        finalizers = ", ".join(path(latest, "metadata", "finalizers") or path(latest, "spec", "finalizers") or [])
        held = [f"finalizers might be preventing deletion ({finalizers})"] if finalizers else []
        said = [str(each["message"]) for each in path(latest, "status", "conditions") or [] if each.get("status") == "True"]
        more = [*_lines(ended), *held, *(said if kind.name == "Namespace" else [])]
        late = f'timed out waiting for deletion of {kind} "{objects.identity(latest)}"'
        raise NotReadyError(_ended(ended, latest, waiting, late), latest, more)


def default_timeout(kind: Kind, inputs: Object) -> float:
    """The annotation's, or the kind's own."""
    text = objects.annotation(inputs, objects.TIMEOUT_SECONDS)
    return float(text) if text.isdigit() and int(text) else readiness.default_s(kind)


def _poll(
    waiting: Waiting, urn: str, look: Callable[[], Readiness], timeout_s: float, problems: Callable[[], list[str]]
) -> Readiness:
    """Looks until it is ready, failed, too late or cancelled. Says what is waited for, and problems as they come."""
    began = answered = waiting.clock()
    pause, said, told_at = _FIRST_S, "", began
    found = Readiness("Waiting")
    while True:
        try:
            found, answered = look(), waiting.clock()
        except UnreachableError as error:
            if waiting.clock() - answered > _SILENT_S:
                return Readiness(failed=str(error))
        except ApiError as error:
            if error.status < 500 and error.status != 429:
                return Readiness(failed=str(error))
        now = waiting.clock()
        if not found.waiting or now - began >= timeout_s or waiting.stopping.is_set():
            if said:
                waiting.say(urn, "")
            return found
        if now - told_at > (_SAID_EVERY_S if said else _SAID_AFTER_S):
            line = next(iter(problems()), found.waiting) if said else found.waiting
            if line != said:
                waiting.say(urn, line)
            said, told_at = line, now
        waiting.stopping.wait(min(pause, max(began + timeout_s - now, 0.0)))
        pause = min(pause * 1.5, _LONGEST_S)


def _ended(found: Readiness, live: Object, waiting: Waiting, late: str = "") -> str:
    """In the real provider's words (provider/pkg/await/error.go)."""
    own = objects.name(live)
    if found.failed:
        return f"Resource '{own}' was created but failed to initialize"
    if waiting.stopping.is_set():
        return f'Resource operation was cancelled for "{own}"'
    return late or f"'{own}' timed out waiting to be Ready"


def _lines(found: Readiness) -> list[str]:
    return [each for each in (found.failed, found.waiting) if each]


def _service_check(cluster: Cluster) -> Check:
    def check(thing: Object) -> Readiness:
        space, own = objects.namespace(thing), objects.name(thing)
        labels = f"kubernetes.io/service-name={own}"
        slices = cluster.api.get(f"/apis/discovery.k8s.io/v1/namespaces/{space}/endpointslices", labelSelector=labels)
        return readiness.service(thing, slices.get("items") or [])

    return check


def _claim_check(cluster: Cluster) -> Check:
    """A claim whose class waits for its first consumer is bound when a pod wants it, not before."""

    def check(thing: Object) -> Readiness:
        found = readiness.CHECKS["/PersistentVolumeClaim"](thing)
        name = path(thing, "spec", "storageClassName")
        if found.ready or not name:
            return found
        storage = cluster.api.find(f"/apis/storage.k8s.io/v1/storageclasses/{name}") or {}
        return READY if storage.get("volumeBindingMode") == "WaitForFirstConsumer" else found

    return check
