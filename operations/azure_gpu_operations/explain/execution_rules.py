"""Rules for executions of Container Apps jobs: what the service says of the execution, held against its containers. Pure.

The service fails an execution without having started a container (microsoft/azure-container-apps issues 1809, 2026-08-12, and
1511, 2025-06), runs and bills one whose container waits (1763, 2026-06-09), and lets one run to its limit after its program has
ended (1649, 2026-02-02, and 1071, 2024-02).
"""

from collections.abc import Callable

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.explain import phrases
from azure_gpu_operations.explain.facts import ENDED_BY_TERM, KILLED, Cause, Facts, Finding, Kind
from azure_gpu_operations.jobs import WAITING

_CLOSE = 0.97  # of the time that a job may take: it is stopped a little before or after
_USUAL_SECONDS = 600.0  # until a container starts on a GPU machine
_AT_ONCE = 60.0  # seconds, in which a machine hasn't pulled an image with a GPU's libraries
_ELSEWHERE = "or use another region or GPU"


def no_container(facts: Facts) -> Finding | None:
    """One that waits for its container, or ended without one."""
    ran, waits = facts.ran_seconds, bool(facts.containers) and all(each.state == WAITING for each in facts.containers)
    has_run = any(each.last_exit_code is not None or each.log for each in facts.containers)
    if facts.kind is not Kind.JOB or ran is None or has_run:
        return None
    names = ", ".join(each.name for each in facts.containers)
    evidence = (*facts.sentences, *(detail for each in facts.containers for detail in each.details))[-3:]
    if facts.state == "Running" and waits:
        what = f"its container {names} has waited for {ran / 60:.0f} minutes"
        if ran < _USUAL_SECONDS:
            what = f"{what}; a GPU machine and a large image take up to 10"
            return Finding(Cause.STARTING, what, "wait, then check again", evidence)
        stop = f"stop it ({COMMAND} stop {facts.execution} --stack STACK) and start it again, {_ELSEWHERE}"
        return Finding(Cause.NO_CONTAINER, f"{what} and hasn't started, while the execution is billed", stop, evidence)
    if facts.state != "Failed" or not (waits or ran <= _AT_ONCE):
        return None
    took = f"{ran:.0f} s" if ran < _USUAL_SECONDS else f"{ran / 60:.0f} minutes"
    what = f"Container Apps ended it after {took}, before any container had run: the program isn't the reason"
    fix = f"start it again; set `retries` so that the service tries again by itself, {_ELSEWHERE}"
    return Finding(Cause.NO_CONTAINER, what, fix, evidence)


def went_on(facts: Facts) -> Finding | None:
    """One whose program has ended well, while it runs or ran on."""
    done = [each.name for each in facts.containers if each.last_exit_code == 0]
    others = [each.name for each in facts.containers if each.last_exit_code is None]
    matched, is_late = _at_limit(facts)
    going = facts.state == "Running" and not others
    if facts.kind is not Kind.JOB or not done or len(done) + len(others) < len(facts.containers):
        return None
    if not going and (facts.state != "Failed" or (others and not is_late)):
        return None
    ended = f"the program in container {', '.join(done)} ended with exit code 0"
    evidence = (matched,) if matched else facts.sentences[-1:]
    if going:
        fix = f"check again in a minute; if it still runs then, stop it: {COMMAND} stop {facts.execution} --stack STACK"
        return Finding(Cause.WENT_ON, f"{ended}, but the execution still runs and is billed", fix, evidence, done[0])
    fix = "what it wrote is there; a longer `timeout_minutes` only costs more, a shorter one less when this happens again"
    if others:
        them = ", ".join(others)
        what = f"{ended}, but {them} ran on until the job's limit: an execution ends when all of its containers have"
        return Finding(Cause.WENT_ON, what, f"let {them} end with the program; {fix}", evidence, done[0])
    how = f"went on until the job's limit of {facts.timeout_seconds / 60:g} minutes" if is_late else "failed nevertheless"
    return Finding(Cause.WENT_ON, f"{ended}, but the execution {how}", fix, evidence, done[0])


def timeout(facts: Facts) -> Finding | None:
    """One that worked longer than the job allows. The service kills its program, with a signal's exit code."""
    matched, is_late = _at_limit(facts)
    codes = {each.last_exit_code for each in facts.containers} or {None}
    if facts.kind is not Kind.JOB or not is_late or not codes & {None, KILLED, ENDED_BY_TERM}:
        return None
    ran = facts.ran_seconds
    took = f"after {ran / 60:.1f} minutes" if ran is not None else "at its time limit"
    fix = "set a longer `timeout_minutes`, or save checkpoints and resume"
    if codes == {None}:  # of a program that was killed, the service tells a signal's code
        fix = f"see when it wrote its last line: if it was still working, {fix}; if it had ended, a longer limit only costs more"
    return Finding(
        Cause.TIMEOUT,
        f"it was stopped {took}: the job's limit is {facts.timeout_seconds / 60:g} minutes",
        fix,
        (matched,) if matched else (f"the run took {ran:.0f} of {facts.timeout_seconds} seconds",),
        next((each.name for each in facts.containers if each.last_exit_code != 0), ""),
    )


def _at_limit(facts: Facts) -> tuple[str, bool]:
    """What the service says about the job's limit, and whether the execution was stopped at it."""
    details = (detail for each in facts.containers for detail in each.details)
    matched = phrases.first(phrases.TIMEOUT, (*facts.sentences, *details))
    limit, ran = facts.timeout_seconds, facts.ran_seconds
    is_late = facts.state == "Failed" and limit > 0 and ran is not None and ran >= limit * _CLOSE
    return matched, bool(matched) or is_late


RULES: tuple[Callable[[Facts], Finding | None], ...] = (no_container, went_on, timeout)
