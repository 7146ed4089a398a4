"""Rules for the cause of a failed container group or job, the most specific first; one always matches. Pure."""

from collections.abc import Callable

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import container_rules, refusal_rules
from azure_gpu_operations.explain.facts import Cause, Facts, Finding, Kind

Rule = Callable[[Facts], Finding | None]

_STARTING = frozenset({"Pending", "Creating", "Processing", "InProgress", "Waiting", "Unknown", ""})


def explain(facts: Facts) -> Finding:
    """The finding of the first rule that matches."""
    return next(finding for rule in RULES if (finding := rule(facts)) is not None)


def _not_there(facts: Facts) -> Finding | None:
    if facts.exists:
        return None
    return refusal_rules.not_there(facts.kind.value)


def _never_started(facts: Facts) -> Finding | None:
    if facts.kind is not Kind.JOB or facts.execution:
        return None
    return Finding(Cause.NEVER_STARTED, "it has no executions yet", f"start one: {COMMAND} run --on job --stack STACK")


def _stopped(facts: Facts) -> Finding | None:
    if facts.state != "Stopped":
        return None
    return Finding(Cause.STOPPED, "it was stopped before it ended", "start it again")


def _healthy(facts: Facts) -> Finding | None:
    if facts.state not in ("Succeeded", "Running"):
        return None
    ended = facts.state == "Succeeded"
    what = "it succeeded: every container ended with exit code 0" if ended else "it is running; no problem found"
    return Finding(Cause.HEALTHY, what, "nothing to do")


def _starting(facts: Facts) -> Finding | None:
    if facts.state not in _STARTING or facts.provisioning == "Failed":
        return None
    what = "it hasn't started yet; a GPU machine and a large image take up to 10 minutes"
    evidence = facts.sentences[-3:]
    return Finding(Cause.STARTING, what, "wait, then check again", evidence)


def _unknown(facts: Facts) -> Finding:
    state = facts.state or facts.provisioning or "unknown"
    evidence = (*facts.sentences, *(detail for container in facts.containers for detail in container.details))[-5:]
    container = facts.containers[0].name if facts.containers else ""
    where = (
        "see the environment's system logs: ContainerAppSystemLogs in the stack's log workspace"
        if facts.kind is Kind.JOB
        else f"for details: az container show --ids {facts.id}"
    )
    return Finding(Cause.UNKNOWN, f"it is {state}; Azure gives no reason", where, evidence, container)


def _refused_and_not_there(facts: Facts) -> Finding | None:
    return None if facts.exists else refusal_rules.other(facts)


RULES: tuple[Rule, ...] = (
    *refusal_rules.RULES,
    _refused_and_not_there,
    _not_there,
    _stopped,
    *container_rules.RULES,
    refusal_rules.other,
    _never_started,
    _healthy,
    _starting,
    _unknown,
)
