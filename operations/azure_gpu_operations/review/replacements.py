"""What a change of an argument does: nothing, an update, a replacement of its own resource or of others, an interruption.

The table is replacements.csv. `python -m tests.replacements.renew --renew` makes it by changing each argument and previewing
that on the real engine; nothing in it is written by hand. `effect_of` finds the row of a path. Pure.
`python -m azure_gpu_operations.review.replacements` prints docs/replacements.md.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import groupby
from pathlib import Path

from azure_gpu_operations.review import interruptions
from azure_gpu_operations.review.interruptions import Interruption

TABLE = Path(__file__).with_name("replacements.csv")
COLUMNS: tuple[str, ...] = (
    "argument",
    "component",
    "effect",
    "replaced",
    "updated",
    "created",
    "deleted",
    "change",
    "also",
    "stack",
    "why",
)
_NAME, _ENTRY = "<name>", "[]"


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


def effect_of(path: str | Sequence[str | int]) -> Row | None:
    """The row of a place in a stack file: `pools.train.size`, or its steps, where a name holds a dot. Below an argument whose
    value has no arguments of its own, such as `pools.train.tags.cost`, it is the argument's. None where there is no such
    argument."""
    steps = _steps(path) if isinstance(path, str) else [f"[{step}]" if isinstance(step, int) else step for step in path]
    here, found = _tree(), None
    for step in steps:
        following = here.below.get(step) or here.below.get(_ENTRY if step.startswith("[") else _NAME)
        if following is None:
            return found if not here.below else None
        here, found = following, following.row or found
    return here.row or found


@cache
def rows() -> tuple[Row, ...]:
    """The whole table, in the order of the stack file's keys."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return tuple(_row(each) for each in csv.DictReader(file))


def _row(cells: dict[str, str]) -> Row:
    return Row(
        argument=cells["argument"],
        component=cells["component"],
        effect=Effect(cells["effect"]),
        replaced=tuple(cells["replaced"].split()),
        updated=tuple(_updated(each) for each in _parts(cells["updated"])),
        created=tuple(cells["created"].split()),
        deleted=tuple(cells["deleted"].split()),
        change=cells["change"],
        also=tuple(_parts(cells["also"])),
        stack=cells["stack"],
        why=cells["why"],
    )


def _parts(cell: str) -> list[str]:
    return cell.split("; ") if cell else []


def _updated(text: str) -> Updated:
    """`azure-native:batch:Pool: metadata, startTask`."""
    kind, _, properties = text.partition(": ")
    return Updated(kind, tuple(each for each in properties.split(", ") if each))


def cells(row: Row) -> dict[str, str]:
    """The row as the table has it."""
    return {
        "argument": row.argument,
        "component": row.component,
        "effect": row.effect,
        "replaced": " ".join(row.replaced),
        "updated": "; ".join(f"{each.type}: {', '.join(each.properties)}" for each in row.updated),
        "created": " ".join(row.created),
        "deleted": " ".join(row.deleted),
        "change": row.change,
        "also": "; ".join(row.also),
        "stack": row.stack,
        "why": row.why,
    }


def write(every: Iterable[Row]) -> None:
    """Writes the table again."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(cells(each) for each in every)
    rows.cache_clear()
    _tree.cache_clear()


class _Node:
    """A key of stack files, with those below it."""

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.row: Row | None = None


@cache
def _tree() -> _Node:
    root = _Node()
    for row in rows():
        here = root
        for step in _steps(row.argument):
            here = here.below.setdefault(step, _Node())
        here.row = row
    return root


def _steps(path: str) -> list[str]:
    return re.findall(r"\[[^\]]*\]|[^.\[\]]+", path)


_HEAD = """# What a change of an argument does

For every key of a stack file: what a change of it does to a stack that is up. The table is made on the real engine by
`python -m tests.replacements.renew --renew`: each argument is changed, added and removed in small stacks, and each change is
previewed; the row shows the one that does most, and beside it changes that do less. `operations review` reads the same table.
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
