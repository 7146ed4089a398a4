"""What a run on a cluster waits for: a node, the autoscaler, an image, or something that will never happen. Pure."""

from collections.abc import Sequence

from azure_gpu_operations.clusters import scheduling
from azure_gpu_operations.clusters.objects import GPU_PREFIXES, ContainerSeen, EventSeen, PodSeen
from azure_gpu_operations.clusters.scheduling import Reason

IMAGE_SECONDS = 120.0  # for which a pull may fail: a new role takes a minute to work
CONFIG_SECONDS = 60.0
MOST_EVICTIONS = 3  # by nodes under resource pressure, which a further pod wouldn't avoid
NEVER_PULLED = ("InvalidImageName", "ErrImageNeverPull")
PULL_FAILS = ("ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "SignatureValidationFailed")
CONFIG_FAILS = ("CreateContainerConfigError", "CreateContainerError")
_NOT_MADE = "FailedCreate"


def sentence(pod: PodSeen | None, events: Sequence[EventSeen], job_events: Sequence[EventSeen]) -> str:
    """Empty if the pod is running or has ended."""
    if pod is None:
        refused = last(job_events, _NOT_MADE)
        return f"the cluster creates no pod for it: {_short(refused.message)}" if refused else ""
    if pod.is_over or pod.phase == "Running":
        return ""
    if not pod.node:
        return _for_a_node(pod, events)
    return _on_node(pod, events)


def hopeless(pod: PodSeen | None, events: Sequence[EventSeen], waited_seconds: float, pods: Sequence[PodSeen]) -> str:
    """Why it will never run; "" if it may. `waited_seconds`: in the pod's current state."""
    evicted = [each for each in pods if each.reason == "Evicted"]
    if len(evicted) >= MOST_EVICTIONS:
        return f"its nodes evicted {len(evicted)} of its pods: {_short(evicted[-1].message)}"
    container = _waiting(pod) if pod is not None else None
    if pod is None or container is None:
        return ""
    if container.reason in NEVER_PULLED or (container.reason in PULL_FAILS and waited_seconds >= IMAGE_SECONDS):
        return f"the image {container.image} can't be pulled: {_pull_error(container, events)}"
    if container.reason in CONFIG_FAILS and waited_seconds >= CONFIG_SECONDS:
        return f"its container can't be created: {_short(container.message)}"
    return ""


def words(reasons: Sequence[Reason]) -> str:
    """Readable reasons: `2 of 3 nodes have not enough nvidia.com/gpu`."""
    total = sum(each.count for each in reasons)
    parts: list[str] = []
    for each in sorted(reasons, key=lambda one: -one.count):
        nodes = f"{each.count} of {total} nodes" if total > 1 else "the only node"
        many = each.count > 1
        if each.missing:
            parts.append(f"{nodes} {'have' if many else 'has'} not enough {each.missing}")
        elif each.is_taint:
            taint = f" {each.taint.key}={each.taint.value}" if each.taint and each.taint.value else ""
            parts.append(f"{nodes} {'have' if many else 'has'} an untolerated taint{taint}")
        elif scheduling.WRONG_SELECTOR in each.text:
            parts.append(f"{nodes} {'are' if many else 'is'} in another pool")
        else:
            parts.append(f"{nodes}: {each.text.removeprefix('node(s) ')}")
    return "; ".join(parts)


def last(events: Sequence[EventSeen], reason: str) -> EventSeen | None:
    return next((each for each in reversed(events) if each.reason == reason), None)


def _for_a_node(pod: PodSeen, events: Sequence[EventSeen]) -> str:
    decision = scheduling.last_word(events)
    scale_up = scheduling.scale_up(decision) if decision is not None else None
    reasons = scheduling.reasons(pod.unschedulable)
    if decision is not None and decision.reason == scheduling.TRIGGERED and not _has_come(decision, reasons, events):
        which = f" to {scale_up.pool} ({scale_up.before} → {scale_up.after})" if scale_up else ""
        return f"the autoscaler is adding a node{which}, which takes minutes"
    if not reasons:
        return f"no suitable node yet: {_short(pod.unschedulable)}" if pod.unschedulable else ""
    adds = ""
    if decision is not None and decision.reason == scheduling.NOT_TRIGGERED:
        why = scheduling.reasons(decision.message)
        at_most = any(scheduling.AT_MAX in each.text for each in why)
        adds = "; the autoscaler adds no node: " + (
            "the pool is at its maximum" if at_most else _short(decision.message.partition(": ")[2] or decision.message)
        )
    return f"no suitable node yet: {words(reasons)}{adds}"


def _has_come(decision: EventSeen, reasons: Sequence[Reason], events: Sequence[EventSeen]) -> bool:
    """Whether the requested node has joined but lacks GPUs, according to a later event of the scheduler."""
    looked = last(events, "FailedScheduling")
    lacks = any(each.missing.startswith(GPU_PREFIXES) for each in reasons if each.missing)
    return lacks and looked is not None and decision.at is not None and looked.at is not None and looked.at > decision.at


def _on_node(pod: PodSeen, events: Sequence[EventSeen]) -> str:
    container = _waiting(pod)
    if container is not None and container.reason in (*NEVER_PULLED, *PULL_FAILS):
        return f"the image {container.image} can't be pulled: {_pull_error(container, events)}"
    if container is not None and container.reason in CONFIG_FAILS:
        return f"its container can't be created: {_short(container.message)}"
    mounts = last(events, "FailedMount")
    if mounts is not None and container is not None:
        return f"a volume can't be mounted: {_short(mounts.message)}"
    newest = events[-1].reason if events else ""
    if newest == "Pulling":
        return f"the node {pod.node} is pulling the image, which takes minutes if it is large"
    return f"the node {pod.node} is preparing it"


def _pull_error(container: ContainerSeen, events: Sequence[EventSeen]) -> str:
    """From the event, which has the registry's message; the container's state lacks it during the kubelet's back-off."""
    failed = next((each for each in reversed(events) if each.reason == "Failed" and "pull" in each.message), None)
    return _short(failed.message if failed is not None else container.message or container.reason)


def _waiting(pod: PodSeen) -> ContainerSeen | None:
    """The waiting container."""
    return next((each for each in pod.containers if each.state == "waiting" and each.reason != "PodInitializing"), None)


def _short(text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else ""
    return first if len(first) <= 400 else f"{first[:397]}..."
