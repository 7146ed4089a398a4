"""The kinds of parts that a stack file can have: what is known of each without its code, in the order in which they are declared.

The row of `azure_gpu.stack.kinds` adds how a part is resolved. What only needs a kind's section, component, names or types in
Azure reads it here, without Pulumi: names that are taken, paths of parts, what an update can't lose, ends, and the graph.
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType


class Drawn(NamedTuple):
    """How the graph shows the parts of a kind."""

    noun: str
    layer: str  # the name of its group
    used: str  # the words of a dependency on it


@dataclass(frozen=True, kw_only=True)
class PartKind:
    """A row of `parts.csv`, where `flags` are those that hold, and types in Azure are named as in `azure_types`."""

    section: str  # of the stack file
    component: str  # the public name of its class
    module: str  # of this class, below `azure_gpu`; its arguments are in `args` beside it
    noun: str  # for messages
    name: str  # logical name where the section is one part; empty: the user's name of each, or a region
    requires: str  # the section without which it can't be
    azure_types: tuple[AzureType, ...]  # to which the engine's options apply, and not to others of a part, such as roles
    overridden: AzureType | None  # the one whose properties `overrides` set; None: the first, if it has any
    name_key: str  # the key that sets its name in Azure
    name_within: tuple[str, ...]  # keys that set where this name has to be the only one
    inner: tuple[str, ...]  # keys with parts inside of one, by name, that can be switched off
    drawn: Drawn | None  # None: its resources are parts of their own in the graph
    by_name: bool = False  # whether the section has entries by name
    is_work: bool = False  # whether its name is unique among all kinds, as outputs and commands identify parts by it
    ends: bool = False  # whether it has `expires_after`, and an hourly cost
    can_be_kept: bool = False  # whether it may stay in Azure when the stack is destroyed
    writes_blobs: bool = False  # whether it reads and writes blobs as the stack's identity

    @property
    def token(self) -> str:
        """Pulumi's type of the component."""
        return f"azuregpu:index:{self.component}"

    @property
    def of_overrides(self) -> AzureType | None:
        return self.overridden or next(iter(self.azure_types), None)

    def path(self, name: str) -> str:
        """Returns the path of a part in the stack file."""
        return f"{self.section}.{name}" if self.by_name else self.section


_TEXTS = ("section", "component", "module", "noun", "name", "requires", "name_key")


def _read() -> Iterator[PartKind]:
    with Path(__file__).with_name("parts.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            plain: dict[str, Any] = {**{key: row[key] for key in _TEXTS}, **dict.fromkeys(row["flags"].split(), True)}
            yield PartKind(
                **plain,
                azure_types=tuple(getattr(azure_types, each) for each in row["azure_types"].split()),
                overridden=getattr(azure_types, row["overridden"]) if row["overridden"] else None,
                name_within=tuple(row["name_within"].split()),
                inner=tuple(row["inner"].split()),
                drawn=Drawn(row["drawn"], row["layer"], row["used"]) if row["drawn"] else None,
            )


PARTS = tuple(_read())
BY_SECTION: Mapping[str, PartKind] = {part.section: part for part in PARTS}
BY_COMPONENT: Mapping[str, PartKind] = {part.component: part for part in PARTS}


def path_of_part(component: str, name: str) -> str:
    """Returns the path of a part in the stack file; "" for a component of somebody's own."""
    return BY_COMPONENT[component].path(name) if component in BY_COMPONENT else ""
