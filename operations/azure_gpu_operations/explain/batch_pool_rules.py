"""Rules for the cause of a Batch pool without nodes, or without nodes that run tasks, tried in order. Pure.

Codes: PoolResizeErrorCodes of Azure's .NET client; Microsoft's page on failing resizes of pools has
AccountVMSeriesCoreQuotaReached.
"""

import re
from collections.abc import Callable

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import phrases, refusal_rules
from azure_gpu_operations.explain.batch_facts import PoolSeen
from azure_gpu_operations.explain.facts import Cause, Finding

_QUOTA = re.compile(r"CoreQuotaReached|QuotaReached|QuotaExceeded")
_CAPACITY = ("AllocationFailed", "AllocationTimedOut")
_COMING = ("creating", "starting", "waitingforstarttask", "rebooting", "reimaging")
_RUNNING = f"see which pools have nodes: {COMMAND} running"

Rule = Callable[[PoolSeen], Finding | None]


def explain(pool: PoolSeen) -> Finding:
    return next(finding for rule in RULES if (finding := rule(pool)) is not None)


def failure(pool: PoolSeen) -> Finding | None:
    """The failure; None if tasks can start."""
    return next((finding for rule in FAILURES if (finding := rule(pool)) is not None), None)


def _not_there(pool: PoolSeen) -> Finding | None:
    if pool.facts is not None:
        return None
    return refusal_rules.first(pool.as_facts()) or refusal_rules.not_there("pool")


def _start_task(pool: PoolSeen) -> Finding | None:
    failed = [node for node in pool.nodes if node.state == "starttaskfailed"]
    if not failed:
        return None
    first = failed[0]
    code = "" if first.start_exit_code is None else f" with exit code {first.start_exit_code}"
    where = "on its node" if len(pool.nodes) == 1 else f"on {len(failed)} of {len(pool.nodes)} nodes"
    return Finding(
        Cause.START_TASK,
        f"the pool's start task failed{code} {where}; a node runs no task before it succeeds",
        "correct `start_task` in the stack's file and run `pulumi up`; existing nodes run it again after "
        f"`az batch node reboot --pool-id {pool.facts.id if pool.facts else pool.name} --node-id {first.id}`",
        (first.start_failure,) if first.start_failure else (),
        first.start_task,
    )


def _unusable(pool: PoolSeen) -> Finding | None:
    broken = [node for node in pool.nodes if node.state == "unusable"] or [node for node in pool.nodes if node.errors]
    if not broken:
        return None
    first = broken[0]
    text = "\n".join(first.errors)
    if phrases.IMAGE_PULL.search(text) or "ContainerInvalidImage" in text or "ContainerInvalidRegistry" in text:
        return refusal_rules.of_image(pool.as_facts(), "", first.errors, "")
    cause = Cause.PACKAGE if "ApplicationPackage" in text else Cause.UNUSABLE_NODE
    fix = f"check that the package exists and is active: {COMMAND} preflight"
    if cause is Cause.UNUSABLE_NODE:
        fix = (
            "usual reasons: the image lacks something that the pool requires, the subnet blocks Batch, or the disk is full; "
            "fix it and run `pulumi up`"
        )
    what = f"{len(broken)} of {len(pool.nodes)} nodes {'is' if len(broken) == 1 else 'are'} {first.state}"
    return Finding(cause, what, fix, first.errors)


def _resize(pool: PoolSeen) -> Finding | None:
    facts = pool.facts
    if facts is None or not facts.resize_errors:
        return None
    evidence = tuple(f"{code}: {message}".rstrip(": ") for code, message in facts.resize_errors)
    code = facts.resize_errors[0][0]
    has = f"it has {_nodes(facts.nodes)} of {facts.target}"
    if any(_QUOTA.search(each) for each, _ in facts.resize_errors):
        return Finding(
            Cause.QUOTA,
            f"the Batch account's vCPU quota for {facts.size} is used up ({has})",
            f"request more in the portal (the Batch account, Quotas), request fewer nodes, or {_RUNNING}",
            evidence,
        )
    if code in _CAPACITY:
        return Finding(
            Cause.NO_CAPACITY,
            f"no {facts.size} was free in the region within the pool's resize timeout ({has})",
            f"Batch tries again with the next resize or evaluation; otherwise use another size or region: {COMMAND} preflight",
            evidence,
        )
    if code == "ResizeStopped":
        return Finding(Cause.STOPPED, f"its resize was stopped ({has})", "run `pulumi up`, or resize it again", evidence)
    return Finding(Cause.RESIZE, f"its resize failed ({has})", "fix the error named in the message, then `pulumi up`", evidence)


def _formula(pool: PoolSeen) -> Finding | None:
    if not pool.formula_error:
        return None
    return Finding(
        Cause.FORMULA,
        "its autoscale formula can't be evaluated, so its number of nodes doesn't change",
        "correct `autoscale` in the stack's file, then `pulumi up`",
        (pool.formula_error,),
    )


def _evicted(pool: PoolSeen) -> Finding | None:
    gone = [node for node in pool.nodes if node.state == "preempted"]
    if not gone or len(gone) < len(pool.nodes):
        return None
    return Finding(
        Cause.EVICTED,
        f"Azure evicted {_nodes(len(gone))} (Spot); their tasks wait for new nodes",
        "Batch tries to restore them; to avoid evictions use `dedicated_nodes`, or the scenario spot_fallback",
    )


def _starting(pool: PoolSeen) -> Finding | None:
    facts = pool.facts
    if facts is None:
        return None
    coming = [node for node in pool.nodes if node.state in _COMING]
    if not coming and facts.allocation != "resizing":
        return None
    states = ", ".join(sorted({node.state for node in coming})) or f"{facts.nodes} → {facts.target} nodes"
    return Finding(Cause.STARTING, f"its nodes aren't all ready yet ({states})", "wait some minutes, then check again")


def _healthy(pool: PoolSeen) -> Finding:
    facts = pool.facts
    if not pool.nodes and facts is not None and facts.formula:
        what = "it has no nodes and costs nothing; its formula adds nodes when tasks wait"
    elif not pool.nodes:
        what = "it has no nodes, as configured"
    else:
        what = f"it has {_nodes(len(pool.nodes))}; no problem found"
    return Finding(Cause.HEALTHY, what, "nothing to do")


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


FAILURES: tuple[Rule, ...] = (_not_there, _start_task, _unusable, _resize, _formula, _evicted)
RULES: tuple[Rule, ...] = (*FAILURES, _starting, _healthy)
