"""Container groups and jobs of Container Apps, their containers that may have failed, and executions of jobs, for the rows of
`findings.yaml` about them. Pure.
"""

from collections.abc import Callable, Iterator
from typing import Any

from azure_gpu_operations.explain import refusal_rules, table
from azure_gpu_operations.explain.facts import ENDED_BY_TERM, KILLED, Container, Facts, Finding
from azure_gpu_operations.explain.refusal_rules import about, of_image
from azure_gpu_operations.job_bodies import WAITING

_CLOSE = 0.97  # of the time that a job may take: it is stopped a little before or after
_USUAL_SECONDS = 600.0  # until a container starts on a GPU machine
_AT_ONCE = 60.0  # seconds, in which a machine hasn't pulled an image with a GPU's libraries


def pull(facts: Facts) -> Finding | None:
    for container in _suspects(facts):
        if container.began is None and table.first("image pull", container.details):
            evidence = [
                text for text in container.details if table.first("image pull", [text]) or table.first("no right to pull", [text])
            ]
            return of_image(facts, container.image, tuple(evidence[-3:]), container.name)
    return None


def place(facts: Facts) -> Finding | None:
    """A container without a machine: it waits, or reached its time limit before it had one."""
    for container in _suspects(facts):
        for name in ("quota", "no capacity") if container.began is None else ():
            found = table.first(name, container.details)
            if found:
                return about(name, found, container.name)
    return None


def volume(facts: Facts) -> Finding | None:
    for container in _suspects(facts):
        found = table.first("volume", container.details)
        if found:
            return about("volume", found, container.name)
    return None


def execution(facts: Facts) -> Finding | None:
    return table.explain("execution", facts, values=_of_execution(facts))


def _of_container(what: str) -> Callable[[Facts], Finding | None]:
    def rule(facts: Facts) -> Finding | None:
        found = (table.explain(f"container's {what}", each, values=_values(each)) for each in _suspects(facts))
        return next((each for each in found if each is not None), None)

    return rule


def _values(container: Container) -> dict[str, Any]:
    """What rows of the table name beside the container's attributes."""
    code = container.last_exit_code
    about_command = table.first("no command", (*container.details, *container.log[-3:]))
    return {
        "about_probes": [text for text in container.details if "probe" in text.lower()][-3:],
        "about_command": about_command or f"exit code {code}",
        "had_memory": f". It had {container.memory}" if container.memory else "",
        "code": f"exit code {code}",
        "so_far": f" ({container.restarts} times so far)" if container.restarts else "",
        "with_code": "" if code is None else f" with exit code {code}",
        "last_detail": container.details[-1:],
    }


def _of_execution(facts: Facts) -> dict[str, Any]:
    """What rows of the table name beside the facts' attributes."""
    ran, limit, containers = facts.ran_seconds, facts.timeout_seconds, facts.containers
    codes = {each.last_exit_code for each in containers} or {None}
    done = [each.name for each in containers if each.last_exit_code == 0]
    others = [each.name for each in containers if each.last_exit_code is None]
    details = [detail for each in containers for detail in each.details]
    matched = table.first("timeout", (*facts.sentences, *details))
    is_late = facts.state == "Failed" and limit > 0 and ran is not None and ran >= limit * _CLOSE
    has_run = any(each.last_exit_code is not None or each.log for each in containers)
    waits = ran is not None and not has_run and bool(containers) and all(each.state == WAITING for each in containers)
    took = "" if ran is None else f"{ran:.0f} s" if ran <= _AT_ONCE else f"{ran / 60:.0f} minutes"
    return {
        "names": ", ".join(each.name for each in containers),
        "waits": waits,
        "is_long": ran is not None and ran >= _USUAL_SECONDS,
        "never_ran": ran is not None and not has_run and (waits or ran <= _AT_ONCE),
        "took": took,
        "last_details": [*facts.sentences, *details][-3:],
        "is_late": bool(matched) or is_late,
        "at_limit": f"after {ran / 60:.1f} minutes" if ran is not None else "at its time limit",
        "limit": f"{limit / 60:g}",
        "about_limit": matched or facts.sentences[-1:],
        "why_late": matched or f"the run took {ran or 0:.0f} of {limit} seconds",
        "done": ", ".join(done) if len(done) + len(others) == len(containers) else "",
        "first_done": done[0] if done else "",
        "all_done": done and len(done) == len(containers),
        "others": ", ".join(others),
        "first_other": next((each.name for each in containers if each.last_exit_code != 0), ""),
        "was_killed": codes & {KILLED, ENDED_BY_TERM},  # by the service, with a signal's exit code
        "has_no_code": None in codes,
    }


def _suspects(facts: Facts) -> Iterator[Container]:
    """Containers that may have failed, init containers first.

    A running container counts only if it was restarted; one that succeeded never, whatever events earlier runs have.
    """
    for container in sorted(facts.containers, key=lambda each: not each.is_init):
        ended_well = container.exit_code == 0 and facts.state in ("Succeeded", "Running")
        runs_well = container.state == "Running" and container.restarts == 0 and container.previous_exit_code in (None, 0)
        if not ended_well and not (runs_well and facts.state == "Running"):
            yield container


probe, no_command = _of_container("probe"), _of_container("command")
gpu_memory, memory = _of_container("GPU memory"), _of_container("memory")
crash_loop, program = _of_container("crash loop"), _of_container("program")
_RULES = (pull, place, volume, execution, probe, no_command, gpu_memory, memory, crash_loop, program)


def first(facts: Facts) -> Finding | None:
    """The first of them that finds something."""
    return next((finding for rule in _RULES if (finding := rule(facts)) is not None), None)


_STARTING = frozenset({"Pending", "Creating", "Processing", "InProgress", "Waiting", "Unknown", ""})


def explain(facts: Facts) -> Finding:
    details = (detail for container in facts.containers for detail in container.details)
    values = {
        "is_starting": facts.state in _STARTING and facts.provisioning != "Failed",
        "known_state": facts.state or facts.provisioning or "unknown",
        "last_sentences": facts.sentences[-3:],
        "all_said": [*facts.sentences, *details][-5:],
        "first_container": facts.containers[0].name if facts.containers else "",
    }
    rules: dict[str, table.Rule] = {
        "refused": refusal_rules.specific,
        "not_there": _not_there,
        "containers": first,
        "other": refusal_rules.other,
    }
    return table.explain_surely("group or job", facts, rules, values)


def _not_there(facts: Facts) -> Finding | None:
    return None if facts.exists else refusal_rules.other(facts) or refusal_rules.not_there(facts.kind.value)
