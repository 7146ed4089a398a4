"""Rules of code for a pod that doesn't run or failed. The others are rows of `findings.yaml`. Pure.

`placing_rules` explains a pod that waits for a node, `container_rules` failures in its containers.
"""

from collections.abc import Callable
from typing import Any

from azure_gpu_operations.explain import container_rules, placing_rules, table
from azure_gpu_operations.explain.cluster_facts import PodCase
from azure_gpu_operations.explain.facts import Cause, Facts, Finding

Rule = Callable[[PodCase], Finding | None]
_SETTINGS = ("CreateContainerConfigError", "CreateContainerError", "InvalidImageName")
_ACR = (
    "give the identity of the cluster's kubelet the role AcrPull on the registry (`assign_roles: true` in the stack's file "
    "does), wait a minute until it takes effect; for another registry set a pull secret of the namespace"
)
_EDGE_PULL = "create a pull secret (`kubectl create secret docker-registry`) in the namespace, and set --pull-secret"


def explain(case: PodCase) -> Finding:
    return table.explain_surely(
        "pod", case.pod, {name: lambda _, rule=rule: rule(case) for name, rule in _RULES.items()}, _values(case)
    )


def failure(case: PodCase) -> Finding | None:
    """The failure; None if it runs, has run or is starting."""
    found = explain(case)
    return None if found.cause in (Cause.HEALTHY, Cause.STARTING, Cause.UNKNOWN) else found


def _values(case: PodCase) -> dict[str, Any]:
    """What rows of the table name beside the pod's attributes."""
    pod = case.pod
    node = next((each for each in case.around.nodes or () if each.name == pod.node), None)
    with_node = "DeletionByPodGC" in pod.disruption or "DeletionByTaintManager" in pod.disruption
    is_lost = node is not None and not node.is_ready and not pod.is_over
    end = f"{pod.reason}: {pod.message}".rstrip(": ")
    return {
        "end": end,
        "was_taken": pod.disruption and pod.phase != "Succeeded",
        "went_with_node": with_node,
        "went_with_spot": with_node and ((node is not None and node.is_spot) or _of_spot(case)),
        "is_refused_by_node": table.first("admission", (f"{pod.reason} {pod.message}",)),
        "lost_node": node.not_ready if node is not None and is_lost else "",
        "waits": any(each.state == "waiting" for each in pod.containers),
        "called_phase": pod.phase or "in no known state",
        "first_container": pod.containers[0].name if pod.containers else "",
        "last_two": [each.sentence for each in case.events[-2:]],
        "last_three": [each.sentence for each in case.events[-3:]],
    }


def _of_spot(case: PodCase) -> bool:
    """Whether its pool is Spot, if the node itself is gone."""
    return any(pool.is_spot and (pool.is_meant(case.pod.pool) or f"-{pool.name}-" in case.pod.node) for pool in case.around.pools)


def _settings(case: PodCase) -> Finding | None:
    for container in case.pod.containers:
        if container.state != "waiting" or container.reason not in _SETTINGS:
            continue
        missing = table.phrase("missing object").search(container.message)
        name = (missing["object"] or missing["holder"]) if missing else ""
        fix = f"create {name} in the namespace {case.pod.namespace}, or correct the name" if name else "correct it"
        if container.reason == "InvalidImageName":
            fix = "write it as registry/name:tag, in lower case"
        what = f"the container {container.name} can't be created from its definition"
        return Finding(Cause.SETTINGS, what, fix, (container.sentence,), container.name)
    return None


def _pull(case: PodCase) -> Finding | None:
    found = container_rules.pull(case.as_facts())
    if found is None or found.cause is not Cause.NO_RIGHT_TO_PULL:
        return found
    return found._replace(fix=_EDGE_PULL if case.around.is_edge else _ACR)


def _no_gpu_seen(case: PodCase) -> Finding | None:
    """A program without a GPU: it didn't ask for one, or its device plugin doesn't know of its sharing."""
    for container in case.pod.containers:
        matched = table.first("no GPU seen", case.logs.get(container.name, ()))
        code = container.last_exit_code if container.exit_code is None else container.exit_code
        if matched and code not in (None, 0) and not any(case.pod.gpus.values()):
            return Finding(
                Cause.PROGRAM_ERROR,
                f"the program in container {container.name} found no GPU: the pod doesn't request one",
                "request one: `resources.limits` with nvidia.com/gpu: 1 (operations run --gpus 1); on a device without a plugin, "
                "NVIDIA_VISIBLE_DEVICES",
                (matched.strip(),),
                container.name,
            )
    return None


def _crash_loop(case: PodCase) -> Finding | None:
    found = container_rules.crash_loop(case.as_facts())
    if found is None:
        return None
    fix = "see its last lines below; restartPolicy Never or OnFailure stops the restarts"
    return found._replace(fix=fix if "exit code 0 " not in found.what else "the program ends by itself: make it a Job")


def _volume(case: PodCase) -> Finding | None:
    if case.pod.phase != "Pending" or not case.pod.node:
        return None
    found = container_rules.volume(case.as_facts())
    fix = "check that the volume's source exists in this namespace; see `kubectl describe pod`"
    return found._replace(fix=fix) if found else None


def _of_containers(rule: Callable[[Facts], Finding | None]) -> Rule:
    def for_pod(case: PodCase) -> Finding | None:
        found = rule(case.as_facts())
        return found._replace(what=found.what.replace("restart_policy", "restartPolicy")) if found else None

    return for_pod


_RULES: dict[str, Rule] = {
    "unplaced": placing_rules.unplaced,
    "settings": _settings,
    "pull": _pull,
    "volume": _volume,
    "no_gpu_seen": _no_gpu_seen,
    "crash_loop": _crash_loop,
    "probe": _of_containers(container_rules.probe),
    "no_command": _of_containers(container_rules.no_command),
    "gpu_memory": _of_containers(container_rules.gpu_memory),
    "memory": _of_containers(container_rules.memory),
    "program": _of_containers(container_rules.program),
}
