"""Why a Batch pool has no nodes, or none that take tasks: one rule a cause, asked in order.

In: a `PoolSeen`. Out: a `Finding`. Pure. Codes: PoolResizeErrorCodes of Azure's .NET client; Microsoft's page on failing resizes
of pools has AccountVMSeriesCoreQuotaReached.
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
_RUNNING = f"see what else has nodes: {COMMAND} running"

Rule = Callable[[PoolSeen], Finding | None]


def explain(pool: PoolSeen) -> Finding:
    return next(finding for rule in RULES if (finding := rule(pool)) is not None)


def failure(pool: PoolSeen) -> Finding | None:
    """What is wrong with it; None where tasks may start."""
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
        f"the pool's start task failed{code} {where}, and a node takes no task before it went well",
        "correct `start_task` in the stack's file and run `pulumi up`; nodes that are there run it again after "
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
    fix = f"see that the package is there and active: {COMMAND} preflight"
    if cause is Cause.UNUSABLE_NODE:
        fix = (
            "an image without what the pool asks for, a subnet that keeps the node from Batch, and a full disk are the usual "
            "reasons; correct it and run `pulumi up`"
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
            f"ask for more in the portal (the Batch account, Quotas), ask for fewer nodes, or {_RUNNING}",
            evidence,
        )
    if code in _CAPACITY:
        return Finding(
            Cause.NO_CAPACITY,
            f"the region has no {facts.size} free at the moment, or none within the pool's resize timeout ({has})",
            f"Batch tries again with the next resize or evaluation; else take another size or region: {COMMAND} preflight",
            evidence,
        )
    if code == "ResizeStopped":
        return Finding(Cause.STOPPED, f"somebody stopped its resize ({has})", "run `pulumi up`, or resize it again", evidence)
    return Finding(Cause.RESIZE, f"its resize failed ({has})", "correct what the message names, then `pulumi up`", evidence)


def _formula(pool: PoolSeen) -> Finding | None:
    if not pool.formula_error:
        return None
    return Finding(
        Cause.FORMULA,
        "its autoscale formula can't be evaluated, so its number of nodes stays as it is",
        "correct `autoscale` in the stack's file, then `pulumi up`",
        (pool.formula_error,),
    )


def _evicted(pool: PoolSeen) -> Finding | None:
    gone = [node for node in pool.nodes if node.state == "preempted"]
    if not gone or len(gone) < len(pool.nodes):
        return None
    return Finding(
        Cause.EVICTED,
        f"Azure took {_nodes(len(gone))} away, as it may with Spot; their tasks wait for others",
        "Batch tries to bring them back; `dedicated_nodes`, or the scenario spot_fallback, stays",
    )


def _starting(pool: PoolSeen) -> Finding | None:
    facts = pool.facts
    if facts is None:
        return None
    coming = [node for node in pool.nodes if node.state in _COMING]
    if not coming and facts.allocation != "resizing":
        return None
    states = ", ".join(sorted({node.state for node in coming})) or f"{facts.nodes} → {facts.target} nodes"
    return Finding(Cause.STARTING, f"its nodes aren't all ready yet ({states})", "wait some minutes, then ask again")


def _healthy(pool: PoolSeen) -> Finding:
    facts = pool.facts
    if not pool.nodes and facts is not None and facts.formula:
        what = "it has no nodes, which costs nothing; its formula gives it some when tasks wait"
    elif not pool.nodes:
        what = "it has no nodes and was told to have none"
    else:
        what = f"it has {_nodes(len(pool.nodes))}, and nothing speaks against {'it' if len(pool.nodes) == 1 else 'them'}"
    return Finding(Cause.HEALTHY, what, "nothing to do")


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


FAILURES: tuple[Rule, ...] = (_not_there, _start_task, _unusable, _resize, _formula, _evicted)
RULES: tuple[Rule, ...] = (*FAILURES, _starting, _healthy)
