"""What today's program plans over a recorded state."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tests.upgrades.answers import COMPUTED
from tests.upgrades.records import Record
from tests.upgrades.stacks import RecordedStack

_STAY = ("same", "read")
# Of clusters for which no record has an answer.
_ASKED_SINCE = ("azure-native:containerservice:getManagedCluster", "azure-native:network:getVirtualNetwork")
# Of what the stack itself has; Azure answers what the state says. The function, and what it is asked by.
_OF_STATE = {
    "azure-native:app:ManagedEnvironment": (
        "azure-native:app:getManagedEnvironment",
        ("resourceGroupName", "environmentName"),
    )
}


@dataclass(frozen=True, slots=True)
class Plan:
    changes: list[str]  # a line for each resource that wouldn't stay as it is
    unchanged: int  # resources that stay


def over(
    record: Record,
    folder: Path,
    engine_bin: Path,
    config: dict[str, str] | None = None,
    answers: Mapping[str, Any] = MappingProxyType({}),
) -> Plan:
    """`config`: another than the recorded one. `answers`: what functions say that no record has answers of, by their tokens."""
    by_token = {**dict.fromkeys(_ASKED_SINCE, COMPUTED), **answers}
    prepared = {"calls": [*record["invokes"], *_answers(record)], "by_token": by_token}
    stack = RecordedStack(folder, record["stack"], config or record["config"], engine_bin=engine_bin, prepared=prepared)
    stack.take(record["state"])
    preview = stack.preview()
    steps = [_line(step) for step in preview["steps"] if step["op"] not in _STAY]
    return Plan(steps, sum(preview["changeSummary"].get(operation, 0) for operation in _STAY))


def _answers(record: Record) -> Iterator[dict[str, Any]]:
    for resource in record["state"]["resources"]:
        if resource["type"] in _OF_STATE:
            token, keys = _OF_STATE[resource["type"]]
            arguments = {key: resource["inputs"][key] for key in keys}
            yield {"token": token, "arguments": arguments, "answer": {**resource["outputs"], "id": resource["id"]}}


def resources(record: Record) -> int:
    """As many as a plan counts: those that the engine has by itself, its default providers, aren't among them."""
    return sum("::default" not in resource["urn"] for resource in record["state"]["resources"])


def _line(step: dict[str, Any]) -> str:
    because = step.get("replaceReasons") or sorted(step.get("detailedDiff") or step.get("diffReasons") or ())
    return f"{step['op']} {step['urn'].split('::', 2)[-1]}" + (f": {', '.join(because)}" if because else "")
