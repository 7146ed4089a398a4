"""A finding as text, as JSON and as an exit code."""

import textwrap
from typing import Any

from azure_gpu_operations.explain.facts import NO_FAILURE, Cause, Facts, Finding, Kind
from azure_gpu_operations.terminal import coloured, printable

EXPLAINED = 1
NOT_KNOWN = 3
# Kinds whose log sources have descriptive names, not container names.
_SAY_WHAT = (Kind.POOL, Kind.BATCH_JOB, Kind.ML_JOB, Kind.MACHINE)
_OF_KUBERNETES = (Kind.POD, Kind.KUBERNETES_JOB)


def lines(facts: Facts, finding: Finding, width: int | None = None) -> list[str]:
    """The cause, the evidence, the container's last lines with their colours, and the fix. Sentences wrap at `width`."""
    what = f"execution {facts.execution} of the job" if facts.execution else facts.kind.value
    state = f", {facts.state}" if facts.state else ""
    who = "Kubernetes" if facts.kind in _OF_KUBERNETES else "Azure"
    found = _wrapped(f"{facts.name} ({what}{state}): {finding.cause.value}", "", width)
    for text in (finding.what, *(f"{who} says: {each}" for each in finding.evidence)):
        found += _wrapped(printable(text), "  ", width)
    log = _log(facts, finding)
    if log:
        whose = finding.container if facts.kind in _SAY_WHAT else f"container {finding.container}"
        found += [f"  last lines of {whose}:", *(f"    {coloured(line)}" for line in log)]
    return [*found, *_wrapped(f"fix: {printable(finding.fix)}", "  ", width)]


def as_json(facts: Facts, finding: Finding) -> dict[str, Any]:
    return {
        "name": facts.name,
        "id": facts.id,
        "kind": facts.kind.value,
        "state": facts.state,
        "execution": facts.execution or None,
        "cause": finding.cause.name,
        "what": finding.what,
        "fix": finding.fix,
        "evidence": list(finding.evidence),
        "container": finding.container or None,
        "last_lines": list(_log(facts, finding)),
    }


def exit_code(finding: Finding) -> int:
    if finding.cause in NO_FAILURE:
        return 0
    return NOT_KNOWN if finding.cause is Cause.UNKNOWN else EXPLAINED


def _wrapped(text: str, indent: str, width: int | None) -> list[str]:
    if width is None:
        return [f"{indent}{text}"]
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _log(facts: Facts, finding: Finding) -> tuple[str, ...]:
    return next((container.log for container in facts.containers if container.name == finding.container), ())
