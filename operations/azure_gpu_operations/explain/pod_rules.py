"""Rules for the cause of a pod that doesn't run or failed, tried in order; one always matches. Pure.

`placing_rules` explains a pod that waits for a node, `container_rules` failures in its containers.
"""

from collections.abc import Callable

from azure_gpu_operations.explain import container_rules, kubernetes_phrases as phrases, placing_rules
from azure_gpu_operations.explain.cluster_facts import PodCase
from azure_gpu_operations.explain.facts import Cause, Facts, Finding

Rule = Callable[[PodCase], Finding | None]
_ACR = (
    "give the identity of the cluster's kubelet the role AcrPull on the registry (`assign_roles: true` in the stack's file "
    "does), wait a minute until it takes effect; for another registry set a pull secret of the namespace"
)
_EDGE_PULL = "create a pull secret (`kubectl create secret docker-registry`) in the namespace, and set --pull-secret"


def explain(case: PodCase) -> Finding:
    return next(finding for rule in RULES if (finding := rule(case)) is not None)


def failure(case: PodCase) -> Finding | None:
    """The failure; None if it runs, has run or is starting."""
    found = explain(case)
    return None if found.cause in (Cause.HEALTHY, Cause.STARTING, Cause.UNKNOWN) else found


def _settings(case: PodCase) -> Finding | None:
    for container in case.pod.containers:
        if container.state != "waiting" or container.reason not in phrases.SETTINGS:
            continue
        missing = phrases.MISSING_OBJECT.search(container.message) or phrases.MISSING_KEY.search(container.message)
        fix = f"create {missing['name']} in the namespace {case.pod.namespace}, or correct the name" if missing else "correct it"
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


def _taken_away(case: PodCase) -> Finding | None:
    """Evicted or deleted: with its node, by a user, or by a pod of higher priority."""
    pod = case.pod
    if pod.reason == "Evicted" and pod.message:
        return Finding(
            Cause.PRESSURE,
            f"the node {pod.node} ran out of a resource and evicted the pod",
            "request what it needs (`resources.requests` of memory and ephemeral-storage), or write less to the node's disk",
            (f"{pod.reason}: {pod.message}",),
        )
    if not pod.disruption or pod.phase == "Succeeded":
        return None
    node = next((each for each in case.around.nodes or () if each.name == pod.node), None)
    was_spot = (node is not None and node.is_spot) or _of_spot(case)
    gone = "DeletionByPodGC" in pod.disruption or "DeletionByTaintManager" in pod.disruption
    if gone and was_spot:
        return Finding(
            Cause.EVICTED,
            f"the Spot node {pod.node} was evicted while the pod ran on it; a Job creates another pod, which starts over",
            "save checkpoints and resume, or use a pool that isn't Spot",
            (pod.disruption,),
        )
    what = f"the node {pod.node} was removed while the pod ran on it" if gone else "the pod was evicted before it finished"
    return Finding(Cause.STOPPED, what, "a Job creates another pod; create a standalone pod again", (pod.disruption,))


def _admission(case: PodCase) -> Finding | None:
    pod = case.pod
    if pod.phase != "Failed" or not phrases.ADMISSION.search(f"{pod.reason} {pod.message}"):
        return None
    evidence = (f"{pod.reason}: {pod.message}".rstrip(": "),)
    if phrases.MORE_THAN_ONE_SHARE.search(pod.message):
        return Finding(
            Cause.NO_FREE_GPU,
            "it requests several GPUs of a pool with shared GPUs, where a container gets one share",
            "request one (operations run --gpus 1), or use a pool whose GPUs aren't shared",
            evidence,
        )
    return Finding(
        Cause.NO_FREE_GPU,
        f"the node {pod.node} couldn't allocate what the scheduler assigned to the pod",
        "start it again; if it recurs, check that the node's device plugin runs: kubectl get pods -A --field-selector "
        f"spec.nodeName={pod.node}",
        evidence,
    )


def _deadline(case: PodCase) -> Finding | None:
    if case.pod.reason != "DeadlineExceeded":
        return None
    fix = "set a longer activeDeadlineSeconds (--timeout), or save checkpoints and resume"
    return Finding(
        Cause.TIMEOUT, "it reached its time limit and was stopped", fix, (case.pod.message,) if case.pod.message else ()
    )


def _no_gpu_seen(case: PodCase) -> Finding | None:
    """A program without a GPU: it didn't ask for one, or its device plugin doesn't know of its sharing."""
    for container in case.pod.containers:
        matched = next((line for line in case.logs.get(container.name, ()) if phrases.NO_GPU_SEEN.search(line)), "")
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


def _lost(case: PodCase) -> Finding | None:
    """A node that doesn't respond: its pods keep their last known state."""
    pod = case.pod
    node = next((each for each in case.around.nodes or () if each.name == pod.node), None)
    if node is None or node.is_ready or pod.is_over:
        return None
    return Finding(
        Cause.NODE_NOT_READY,
        f"the pod's node {pod.node} isn't ready",
        "wait some minutes; if it stays so, delete the node's machine, which the pool replaces: az aks nodepool delete-machines",
        (node.not_ready,),
    )


def _healthy(case: PodCase) -> Finding | None:
    pod = case.pod
    if pod.phase == "Succeeded":
        return Finding(Cause.HEALTHY, "it succeeded: every container ended with exit code 0", "nothing to do")
    if pod.phase == "Running" and all(each.state != "waiting" for each in pod.containers):
        return Finding(Cause.HEALTHY, f"it is running on node {pod.node}; no problem found", "nothing to do")
    return None


def _starting(case: PodCase) -> Finding | None:
    if case.pod.phase not in ("Pending", ""):
        return None
    evidence = tuple(each.sentence for each in case.events[-2:])
    where = f"the node {case.pod.node} is preparing it" if case.pod.node else "the scheduler hasn't processed it yet"
    return Finding(Cause.STARTING, f"{where}; a large image takes minutes", "wait, then check again", evidence)


def _unknown(case: PodCase) -> Finding:
    evidence = (case.pod.message, *(each.sentence for each in case.events[-3:]))
    return Finding(
        Cause.UNKNOWN,
        f"it is {case.pod.phase or 'in no known state'}; Kubernetes gives no reason",
        f"for details: kubectl describe pod {case.pod.name} --namespace {case.pod.namespace}",
        tuple(text for text in evidence if text),
        case.pod.containers[0].name if case.pod.containers else "",
    )


def _of_spot(case: PodCase) -> bool:
    """Whether its pool is Spot, if the node itself is gone."""
    return any(pool.is_spot and (pool.is_meant(case.pod.pool) or f"-{pool.name}-" in case.pod.node) for pool in case.around.pools)


RULES: tuple[Rule, ...] = (
    placing_rules.unplaced,
    _taken_away,
    _settings,
    _pull,
    _volume,
    _admission,
    _deadline,
    _lost,
    _of_containers(container_rules.probe),
    _of_containers(container_rules.no_command),
    _of_containers(container_rules.gpu_memory),
    _of_containers(container_rules.memory),
    _no_gpu_seen,
    _crash_loop,
    _of_containers(container_rules.program),
    _healthy,
    _starting,
    _unknown,
)
