"""Reasons why an object isn't ready, from its pods and its events.

Lines are for people, the most telling first, each once. What can't be asked is left out.
"""

from collections.abc import Iterator
from urllib.parse import quote

from localazure.kubernetes_plugin import objects
from localazure.kubernetes_plugin.api import Api, ApiError, UnreachableError
from localazure.kubernetes_plugin.kinds import Kind
from localazure.kubernetes_plugin.objects import Object, path
from localazure.kubernetes_plugin.waiting.readiness import condition

_WITH_PODS = frozenset({("apps", "DaemonSet"), ("apps", "Deployment"), ("apps", "StatefulSet"), ("batch", "Job")})
_MOST = 10  # lines
_PODS_ASKED = 5  # whose events are read
_HARMLESS = frozenset({"ContainerCreating", "PodInitializing"})


def reasons(api: Api, kind: Kind, thing: Object) -> list[str]:
    """What is known about an object that isn't ready."""
    found: list[str] = []
    try:
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
    if (kind.group, kind.name) not in _WITH_PODS or not labels:
        return []
    selector = ",".join(f"{key}={value}" for key, value in labels.items())
    found = api.get(f"/api/v1/namespaces/{quote(_namespace(thing))}/pods", labelSelector=selector)
    return list(found.get("items") or [])


def _replica_sets(api: Api, kind: Kind, thing: Object) -> list[Object]:
    """A Deployment's own events say little: those of its newest ReplicaSet do."""
    if (kind.group, kind.name) != ("apps", "Deployment"):
        return []
    found = api.get(f"/apis/apps/v1/namespaces/{quote(_namespace(thing))}/replicasets").get("items") or []
    uid = path(thing, "metadata", "uid")
    own = [each for each in found if any(o.get("uid") == uid for o in path(each, "metadata", "ownerReferences") or [])]
    return sorted(own, key=lambda each: str(path(each, "metadata", "creationTimestamp")))[-1:]


def _warnings(api: Api, thing: Object) -> Iterator[str]:
    about = f"involvedObject.uid={path(thing, 'metadata', 'uid')},type=Warning"
    found = api.get(f"/api/v1/namespaces/{quote(_namespace(thing))}/events", fieldSelector=about)
    # Controllers say the same of each pod that they couldn't make: the last of a kind is enough.
    latest = {each.get("reason"): each for each in sorted(found.get("items") or [], key=_told_at)}
    for reason, each in latest.items():
        yield f"[{path(each, 'involvedObject', 'kind')} {objects.identity(thing)}]: [{reason}] {each.get('message')}"


def _told_at(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or path(event, "metadata", "creationTimestamp"))


def _namespace(thing: Object) -> str:
    return objects.namespace(thing) or objects.DEFAULT_NAMESPACE
