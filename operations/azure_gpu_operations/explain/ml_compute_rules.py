"""Rules for the cause of an Azure ML compute without nodes, or of a failed job on one, tried in order. Pure."""

from collections.abc import Callable

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import ml_phrases, phrases, refusal_rules
from azure_gpu_operations.explain.container_rules import KILLED
from azure_gpu_operations.explain.facts import Cause, Finding
from azure_gpu_operations.explain.ml_facts import ComputeCase, JobCase

_UP = "then `pulumi up`"
_RUNNING = f"{COMMAND} running"
_QUEUED = ("NotStarted", "Queued", "Preparing", "Starting", "Provisioning")
_COMING = ("Creating", "Updating")


def explain(case: ComputeCase) -> Finding:
    return next(finding for rule in COMPUTE_RULES if (finding := rule(case)) is not None)


def explain_job(case: JobCase) -> Finding:
    return next(finding for rule in JOB_RULES if (finding := rule(case)) is not None)


# Computes


def _refused(case: ComputeCase | JobCase) -> Finding | None:
    facts = case.as_facts()
    if case.exists and facts.provisioning != "Failed":
        return None
    matched = phrases.first(ml_phrases.QUOTA, (each.message for each in facts.refusals))
    if matched:
        return _quota_finding(matched, case.size if isinstance(case, ComputeCase) else "")
    return refusal_rules.first(facts) or (None if case.exists else refusal_rules.not_there(facts.kind.value))


def _quota(case: ComputeCase) -> Finding | None:
    matched = phrases.first(ml_phrases.QUOTA, case.errors)
    return _quota_finding(matched, case.size) if matched else None


def _quota_finding(matched: str, size: str) -> Finding:
    return Finding(
        Cause.QUOTA,
        f"Azure Machine Learning's quota for {size or 'its machines'} is used up in the region; compute quota is separate",
        f"request more in the portal (Azure Machine Learning, Quota), request fewer nodes, or stop what uses it: {_RUNNING}",
        (matched,),
    )


def _capacity(case: ComputeCase) -> Finding | None:
    matched = phrases.first(phrases.NO_CAPACITY, case.errors)
    return refusal_rules.capacity_finding(matched, "") if matched else None


def _errors(case: ComputeCase) -> Finding | None:
    if not case.errors and case.state != "Failed":
        return None
    what = "its nodes can't be created" if case.kind == "AmlCompute" else "it can't be attached"
    return Finding(Cause.RESIZE, what, f"fix the error named in the message, {_UP}", case.errors)


def _unusable(case: ComputeCase) -> Finding | None:
    count = case.nodes.get("unusableNodeCount", 0)
    if not count:
        return None
    return Finding(
        Cause.UNUSABLE_NODE,
        f"{count} of its nodes {'is' if count == 1 else 'are'} unusable",
        "usual reasons: the subnet blocks traffic to Azure, or the image can't be pulled; the cluster replaces them",
    )


def _evicted(case: ComputeCase) -> Finding | None:
    count = case.nodes.get("preemptedNodeCount", 0)
    if not count or sum(case.nodes.values()) > count:
        return None
    return Finding(
        Cause.EVICTED,
        f"Azure evicted its {'node' if count == 1 else f'{count} nodes'} (Spot)",
        "jobs wait for new nodes; `spot: false` avoids evictions",
    )


def _coming_compute(case: ComputeCase) -> Finding | None:
    preparing = case.nodes.get("preparingNodeCount", 0)
    if case.state not in _COMING and case.allocation != "Resizing" and not preparing:
        return None
    return Finding(Cause.STARTING, "its nodes aren't all ready yet", "wait some minutes, then check again")


def _compute_healthy(case: ComputeCase) -> Finding:
    if case.attached:
        name = case.attached.rsplit("/", 1)[-1]
        return Finding(
            Cause.HEALTHY, f"{name} is attached; its workloads belong to it", f"{COMMAND} explain {name} --stack STACK"
        )
    working = sum(case.nodes.get(f"{state}NodeCount", 0) for state in ("idle", "running", "leaving"))
    what = f"it has {working} nodes" if working else "it has no nodes and costs nothing; a job adds nodes"
    return Finding(Cause.HEALTHY, what.replace(" 1 nodes", " 1 node"), "nothing to do")


# Jobs


def _gpu_memory(case: JobCase) -> Finding | None:
    matched = phrases.first(phrases.GPU_MEMORY, case.log)
    if not matched or case.status != "Failed":
        return None
    return Finding(
        Cause.OUT_OF_GPU_MEMORY,
        "the program requested more memory than the GPU has",
        f"use a smaller batch, lower precision, or a GPU with more memory: {COMMAND} sizes --gpu-memory 80",
        (matched.strip(),),
        case.called,
    )


def _memory(case: JobCase) -> Finding | None:
    matched = phrases.first(ml_phrases.KILLED, (case.error, *case.log[-5:]))
    if case.status != "Failed" or not (matched or case.exit_code in (KILLED, -9)):
        return None
    return Finding(
        Cause.OUT_OF_MEMORY,
        "the program was killed, probably out of memory on its node",
        "reduce its memory use: smaller batches, fewer data loaders; or use a larger size",
        tuple(text for text in (matched or case.error,) if text),
        case.called,
    )


def _timeout(case: JobCase) -> Finding | None:
    matched = phrases.first(phrases.TIMEOUT, (case.error,))
    if case.status not in ("Failed", "Canceled") or not matched:
        return None
    limit = f" of {case.timeout_seconds / 60:g} minutes" if case.timeout_seconds else ""
    return Finding(
        Cause.TIMEOUT,
        f"it was stopped at its time limit{limit}",
        "set a longer --timeout, or save checkpoints",
        (matched,),
        case.called,
    )


def _package(case: JobCase) -> Finding | None:
    matched = phrases.first(ml_phrases.NO_MODULE, case.log)
    found = ml_phrases.NO_MODULE.search(matched) if matched else None
    if found is None or case.status != "Failed":
        return None
    return Finding(
        Cause.MISSING_PACKAGE,
        f"the program imports {found['name']}, which isn't in its environment",
        "add it to the environment's requirements, or use an image that has it",
        (matched.strip(),),
        case.called,
    )


def _no_gpu(case: JobCase) -> Finding | None:
    matched = phrases.first(ml_phrases.NO_GPU, case.log)
    if not matched or case.status != "Failed":
        return None
    return Finding(
        Cause.NO_GPU,
        "the program requires a GPU, but its node has none or no driver for it",
        f"run it on a compute whose size has a GPU: {COMMAND} sizes",
        (matched.strip(),),
        case.called,
    )


def _image(case: JobCase) -> Finding | None:
    if case.status != "Failed" or not case.error:
        return None
    for pattern in (ml_phrases.IMAGE_MISSING, phrases.IMAGE_PULL, ml_phrases.NOT_ALLOWED):
        if pattern.search(case.error):
            return refusal_rules.of_image(case.as_facts(), "", (case.error,), case.called)
    return None


def _failed(case: JobCase) -> Finding | None:
    if case.status != "Failed":
        return None
    code = "" if case.exit_code is None else f" with exit code {case.exit_code}"
    matched = ml_phrases.exception(case.log)
    what = f"the program ended{code}" + (f": {matched}" if matched else "")
    evidence = (case.error,) if case.error else ()
    if not (case.error or case.log):
        return Finding(Cause.UNKNOWN, "it failed; Azure gives no reason", "see its logs in the studio")
    fix = "see its last lines; the program defines its exit codes"
    return Finding(Cause.PROGRAM_ERROR, what, fix, evidence, case.called)


def _canceled(case: JobCase) -> Finding | None:
    if case.status not in ("Canceled", "CancelRequested"):
        return None
    return Finding(Cause.STOPPED, "it was canceled", "submit it again", (case.error,) if case.error else (), case.called)


def _coming_job(case: JobCase) -> Finding | None:
    if case.status not in _QUEUED:
        return None
    compute = case.compute.rsplit("/", 1)[-1]
    return Finding(
        Cause.STARTING,
        f"it is {case.status} and waits for {_nodes(case.nodes)} of {compute or 'its compute'}",
        f"wait some minutes; {COMMAND} explain {compute or 'COMPUTE'} --stack STACK shows the state of the compute",
    )


def _nodes(count: int) -> str:
    return "a node" if count == 1 else f"{count} free nodes at once"


def _job_healthy(case: JobCase) -> Finding:
    what = "it succeeded" if case.status == "Completed" else f"it is {case.status or 'there'}; no problem found"
    return Finding(Cause.HEALTHY, what, "nothing to do")


COMPUTE_RULES: tuple[Callable[[ComputeCase], Finding | None], ...] = (
    _refused,
    _quota,
    _capacity,
    _errors,
    _unusable,
    _evicted,
    _coming_compute,
    _compute_healthy,
)
JOB_RULES: tuple[Callable[[JobCase], Finding | None], ...] = (
    _refused,
    _gpu_memory,
    _memory,
    _timeout,
    _package,
    _no_gpu,
    _image,
    _failed,
    _canceled,
    _coming_job,
    _job_healthy,
)
