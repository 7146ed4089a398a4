"""The replacement table, replacements.csv, and the page that is made of it: what a change of each argument does.

`python -m tests.replacements.renew --renew` makes it by changing each argument and previewing that on the real engine; nothing in
it is written by hand. `python -m tests.replacements.table` prints docs/replacements.md.
"""

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from azure_gpu_operations.review import interruptions
from azure_gpu_operations.review.interruptions import Interruption

TABLE = Path(__file__).with_name("replacements.csv")


class Effect(StrEnum):
    """The largest effect of all tried changes of an argument; the largest last."""

    NOT_TRIED = "not tried"
    REFUSED = "refused"
    NOTHING = "nothing"
    CREATES = "creates"
    UPDATES = "updates"
    DELETES = "deletes"
    REPLACES_BELOW = "replaces below"
    REPLACES = "replaces"


MEANINGS = {
    Effect.NOT_TRIED: "no change was tried; see the last column",
    Effect.REFUSED: "the program rejects every change that was tried",
    Effect.NOTHING: "no resource is touched",
    Effect.CREATES: "resources are added",
    Effect.UPDATES: "resources are updated in place",
    Effect.DELETES: "resources are deleted",
    Effect.REPLACES_BELOW: "its own resource stays; others are replaced",
    Effect.REPLACES: "its own resource is replaced, and what is listed with it",
}


@dataclass(frozen=True, slots=True)
class Updated:
    """A type of resource that is updated in place."""

    type: str
    properties: tuple[str, ...]
    """The paths of the inputs that differ: `scaleSettings.fixedScale.targetDedicatedNodes`."""


@dataclass(frozen=True, slots=True)
class Row:
    """The effect of a change of one argument."""

    argument: str
    """Its path in a stack file: `pools.<name>.size`; what a user names is `<name>`, an entry of a list `[]`."""
    component: str
    """The component that it is an argument of, such as BatchPool; empty of what is the stack's own."""
    effect: Effect
    replaced: tuple[str, ...]
    """Types of resources, such as `azure-native:batch:Pool`."""
    updated: tuple[Updated, ...]
    created: tuple[str, ...]
    """Types, as those that are deleted."""
    deleted: tuple[str, ...]
    change: str
    """The change with this effect, such as `30 to 31`."""
    also: tuple[str, ...]
    """Other changes that were tried and have another effect: `removed 30: nothing`."""
    stack: str
    """The stack in which it was tried, under tests/replacements/stacks or tests/components/cases."""
    why: str
    """Why it wasn't tried, or what it is refused with; else empty."""

    @property
    def interruption(self) -> Interruption:
        """The largest interruption of running work by this change."""
        if self.effect in (Effect.NOT_TRIED, Effect.REFUSED):
            return interruptions.NOT_KNOWN
        return interruptions.worst(
            [
                *(interruptions.of_step("replace", each) for each in self.replaced),
                *(interruptions.of_step("delete", each) for each in self.deleted),
                *(interruptions.of_step("update", each.type, each.properties) for each in self.updated),
                *(interruptions.of_step("create", each) for each in self.created),
            ]
        )


@cache
def rows() -> tuple[Row, ...]:
    """The whole table, in the order of the stack file's keys."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return tuple(Row(**{name: _READ.get(name, str)(cell) for name, cell in each.items()}) for each in csv.DictReader(file))


def _parts(cell: str) -> tuple[str, ...]:
    return tuple(cell.split("; ")) if cell else ()


def _words(cell: str) -> tuple[str, ...]:
    return tuple(cell.split())


def _updated(cell: str) -> tuple[Updated, ...]:
    """`azure-native:batch:Pool: metadata, startTask; …`."""
    found = (text.partition(": ") for text in _parts(cell))
    return tuple(Updated(kind, tuple(each for each in properties.split(", ") if each)) for kind, _, properties in found)


# How a cell is read and written, by its column; the others are texts.
_READ: Mapping[str, Callable[[str], Any]] = {
    "effect": Effect,
    "replaced": _words,
    "updated": _updated,
    "created": _words,
    "deleted": _words,
    "also": _parts,
}
_WRITTEN: Mapping[str, Callable[[Any], str]] = {
    "replaced": " ".join,
    "updated": lambda every: "; ".join(f"{each.type}: {', '.join(each.properties)}" for each in every),
    "created": " ".join,
    "deleted": " ".join,
    "also": "; ".join,
}


def cells(row: Row) -> dict[str, str]:
    """The row as the table has it."""
    return {each.name: _WRITTEN.get(each.name, str)(getattr(row, each.name)) for each in fields(row)}


def write(every: Iterable[Row]) -> None:
    """Writes the table again."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells(each) for each in every)
    rows.cache_clear()


_HEAD = """# What a change of an argument does

For every key of a stack file: what a change of it does to a stack that is up. The table is made on the real engine by
`python -m tests.replacements.renew --renew`: each argument is changed, added and removed in small stacks, and each change is
previewed; the row shows the one that does most, and beside it changes that do less.
{counts}

- **effect**: {effects}.
- **interrupts**: whether work that runs is ended or kept waiting. *can* depends on the values, such as a number of nodes that
  becomes smaller; *not known*: no source. A replacement includes everything that is replaced with it.
- Data is protected unless `protect_data` is false; the stacks of this table have it false, to show what would be replaced.
- Names of Azure's types are shortened: `batch:Pool` is azure-native's `azure-native:batch:Pool`.
"""
BAR = "\\|"
_COLUMNS = "| argument | effect | resources | interrupts | tried |\n| --- | --- | --- | --- | --- |"


def page() -> str:
    """docs/replacements.md."""
    every = rows()
    tried = sum(each.effect is not Effect.NOT_TRIED for each in every)
    counts = f"{tried} of {len(every)} arguments were tried; the others have a reason in the last column."
    effects = "; ".join(f"*{effect}*: {meaning}" for effect, meaning in MEANINGS.items())
    parts = [_HEAD.format(counts=counts, effects=effects)]
    for section, of_section in groupby(every, key=lambda each: (each.component, _section(each.argument))):
        component, key = section
        parts += [f"## {component or 'The stack'}{f': `{key}`' if component else ''}\n", _COLUMNS]
        parts += [*(_line(each) for each in of_section), ""]
    sources = sorted({(each.interruption.source, each.interruption.url) for each in every if each.interruption.url})
    parts += ["## Sources\n", *(f"- [{title}]({url})" for title, url in sources)]
    return "\n".join(parts) + "\n"


def _section(argument: str) -> str:
    return argument.partition(".")[0]


def _line(row: Row) -> str:
    effect = f"**{row.effect}**" if row.effect in (Effect.REPLACES, Effect.REPLACES_BELOW, Effect.DELETES) else row.effect
    groups = (
        ("replaced", row.replaced),
        ("deleted", row.deleted),
        ("updated", tuple(each.type for each in row.updated)),
        ("created", row.created),
    )
    resources = "; ".join(f"{done}: {', '.join(map(_short, types))}" for done, types in groups if types)
    interrupts = f"{row.interruption.interrupts}{f': {row.interruption.what}' if row.interruption.what else ''}"
    if row.effect in (Effect.NOT_TRIED, Effect.REFUSED):
        interrupts = ""
    tried = "; ".join(each for each in (row.change, *row.also, row.why) if each)
    argument, *others = (f"`{row.argument}`", effect, resources, interrupts, tried)
    return f"| {' | '.join([argument, *(each.replace('|', BAR).replace('<', '&lt;') for each in others)])} |"


def _short(resource_type: str) -> str:
    return f"`{resource_type.removeprefix('azure-native:').removeprefix('kubernetes:')}`"


if __name__ == "__main__":
    print(page(), end="")
