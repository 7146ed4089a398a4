"""Graphs of what the program's record holds: each case, each shipped stack file and each example, without running the program.

In: a name of `tests.components.recorded_bodies`. Out: what `graph.recorded` gives for it. The record's ids are by name, those of
a graph's recording by number; a registration's dependencies take the place of those of its inputs.
"""

import json
import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from typing import Any

from azure_gpu_operations.graph import reading, stand_ins
from azure_gpu_operations.graph.model import Graph
from azure_gpu_operations.graph.recorded import Recorded, Resource
from tests.components import recorded_bodies
from tests.components.recording import DEPLOYER, plain

DAY = date(2026, 11, 20)


def names() -> list[str]:
    """Of everything that declares something."""
    return sorted(name for name in recorded_bodies.recorded() if ".error." not in name)


@cache
def graph(name: str) -> Graph:
    return reading.graph_of(recorded(name), DAY)


def recorded(name: str) -> Recorded:
    return read(name, recorded_bodies.recorded()[name])


def read(name: str, found: Mapping[str, Any]) -> Recorded:
    """`found`: as `tests.components.recorded_bodies` has what a program declares."""
    numbers = {
        urn.rpartition("::")[2]: number for number, urn in enumerate(found["resources"], 1) if "azuregpu:" not in _type(urn)
    }
    components = {urn: number for number, urn in enumerate(found["resources"], 1001)}
    resources = [
        Resource(
            urn=urn,
            type=_type(urn),
            name=urn.rpartition("::")[2],
            parent=each["parent"],
            number=numbers.get(urn.rpartition("::")[2], components[urn]),
            inputs=_by_number(plain(each["wire"]), numbers),
            uses=tuple(each["dependencies"]),
            outputs=_by_number(found["outputs"].get(urn, {}), numbers),
            is_component="azuregpu:" in _type(urn),
        )
        for urn, each in sorted(found["resources"].items())
    ]
    return Recorded(name, tuple(resources), (), "")


def _type(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def _by_number(value: Any, numbers: dict[str, int]) -> Any:
    """With ids, principals and clients as a recording makes them up."""
    text = json.dumps(value).replace(DEPLOYER, stand_ins.DEPLOYER)
    text = re.sub(r"/id-of/([\w.-]+)", lambda found: _id(found, numbers), text)
    text = re.sub(r"(principal|client)-of-([\w.-]+)", lambda found: _of(found, numbers), text)
    return json.loads(text)


def _id(found: re.Match[str], numbers: dict[str, int]) -> str:
    return stand_ins.id_of(numbers[found[1]]) if found[1] in numbers else found[0]


def _of(found: re.Match[str], numbers: dict[str, int]) -> str:
    if found[2] in numbers:
        return f"{found[1]}-of-{numbers[found[2]]:06}"
    return stand_ins.principal_of(found[2]) if found[1] == "principal" else found[0]
