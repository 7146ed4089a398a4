"""The stacks in which arguments are changed: happy cases of the components, the examples, and those in `stacks/`.

Each is a stack file's content with the answers of Azure that it needs. Nothing in it is protected, so that a preview shows what
a change would replace in place of refusing it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import yaml

from azure_gpu.stack.keys import PROJECT
from tests.components.recorded_bodies import CASES, EXAMPLE_VALUES, EXAMPLES

_SOURCE = "https://github.com/someone/fork.git#0123abc"
OWN = Path(__file__).parent / "stacks"


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack file's content."""

    name: str
    says: Mapping[str, Any]
    answers: Mapping[str, Any]  # of functions of the provider, by token


@cache
def every() -> list[Stack]:
    """Those that are made for it come first."""
    return [*_cases(OWN.glob("*.yaml")), *_cases(CASES.glob("*.happy.*.yaml")), *_examples()]


def _cases(paths: Any) -> Iterator[Stack]:
    for path in sorted(paths):
        case = yaml.safe_load(path.read_text(encoding="utf-8"))
        yield Stack(path.stem, _whole(case["says"]), case.get("azure_answers", {}))


def _examples() -> Iterator[Stack]:
    for path in sorted(EXAMPLES.glob("*/stack.yaml")):
        text = Template(path.read_text(encoding="utf-8")).substitute(EXAMPLE_VALUES)
        given = yaml.safe_load(text)["config"]
        says = {key.removeprefix(f"{PROJECT}:"): value for key, value in given.items() if key.startswith(f"{PROJECT}:")}
        yield Stack(f"example.{path.parent.name}", _whole(says), {})


def _whole(says: Mapping[str, Any]) -> dict[str, Any]:
    return {"team": "vision", "location": "westeurope", "image_source": _SOURCE, **says, "protect_data": False}
