"""What the engine said to each change of the table, and what follows from it for the argument.

`outcomes_of` runs the engine, many changes at once; `rows` judges. Nothing here is of one component alone, but for the names of
what an argument is about.
"""

import json
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from azure_gpu_operations.review import interruptions
from tests.components.recording import KEYS
from tests.components.settings_of import configuration
from tests.replacements.changes import Change, every_change_of, left_out, values, written
from tests.replacements.engine import PROVIDER_KEYS, Base, Outcome, outcomes
from tests.replacements.table import Effect, Row, Updated
from tests.upgrades.stacks import EngineFailedError

MOST_BESIDE = 3  # changes that a row shows beside the one that does most
MOST_AT_ONCE = 40  # changes in one run of the engine


def outcomes_of(changes: Sequence[Change], engine_bin: Path) -> list[Outcome]:
    """What each of them does, in their order."""
    found: dict[int, Outcome] = {}
    batches = list(_batches(changes))
    while batches:
        batch = batches.pop()
        try:
            found |= _of_batch([(number, changes[number]) for number in batch], engine_bin)
        except EngineFailedError as error:  # which one of them is to blame for
            half = len(batch) // 2
            batches += [batch[:half], batch[half:]] if half else []
            found |= {} if half else {batch[0]: Outcome(refused=[_last_error(str(error))])}
    return [found[number] for number in range(len(changes))]


def _last_error(text: str) -> str:
    errors = re.findall(r"error: (.+?)(?:\\n|\n|\"|$)", text)
    return errors[-1] if errors else "the engine failed"


def _batches(changes: Sequence[Change]) -> Iterator[list[int]]:
    """Numbers of changes that can be tried together: of one configuration of the provider, and one set of answers."""
    together: dict[str, list[int]] = defaultdict(list)
    for number, change in enumerate(changes):
        of_provider = {key: value for key, value in change.before.items() if key.startswith(PROVIDER_KEYS)}
        together[json.dumps([of_provider, change.answers], sort_keys=True)].append(number)
    for numbers in together.values():
        ordered = sorted(numbers, key=lambda number: (json.dumps(changes[number].before, default=str), number))
        for start in range(0, len(ordered), MOST_AT_ONCE):
            yield ordered[start : start + MOST_AT_ONCE]


def _of_batch(numbered: Sequence[tuple[int, Change]], engine_bin: Path) -> dict[int, Outcome]:
    by_base: dict[str, dict[str, Change]] = defaultdict(dict)
    numbers: dict[str, int] = {}
    for index, (number, change) in enumerate(numbered):
        variant = f"v{index:03}"
        numbers[variant] = number
        by_base[json.dumps(change.before, default=str)][variant] = change
    bases = {
        f"b{index:03}": Base(
            configuration(next(iter(of_base.values())).before), {key: configuration(each.after) for key, each in of_base.items()}
        )
        for index, of_base in enumerate(by_base.values())
    }
    answers = {**KEYS, **numbered[0][1].answers}
    folder = Path(tempfile.mkdtemp())
    try:
        found = outcomes(bases, answers, folder, engine_bin)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {numbers[variant]: outcome for variant, outcome in found.items()}


COMPONENTS = {
    "foundation": "Foundation",
    "container_groups": "ContainerGroup",
    "jobs": "ServerlessGpuJob",
    "job_environment": "JobEnvironment",
    "batch_account": "BatchAccount",
    "gallery_images": "GalleryImage",
    "pools": "BatchPool",
    "clusters": "GpuCluster",
    "edges": "EdgeSharing",
    "ml_workspace": "MlWorkspace",
    "ml_endpoints": "MlEndpoint",
    "vms": "GpuVm",
}
# What is said where nothing is prepared for a look-up: by the provider without an Azure, and by the program that asked it.
_UNANSWERED = ("no resource", "not found")


def own_types(argument: str) -> tuple[str, ...]:
    """The types of the resources that an argument is about; none of what is the stack's own."""
    own = values()["own"]
    fitting = [prefix for prefix in own if argument == prefix or argument.startswith(f"{prefix}.")]
    return tuple(own[max(fitting, key=len)]) if fitting else ()


def effect_of(argument: str, outcome: Outcome) -> Effect:
    """What one change does."""
    if outcome.refused_before or any(words in why for words in _UNANSWERED for why in outcome.refused):
        return Effect.NOT_TRIED
    if outcome.refused:
        return Effect.REFUSED
    done = {(step.operation, step.type in own_types(argument)) for step in outcome.steps}
    if ("replace", True) in done or (("replace", False) in done and not own_types(argument)):
        return Effect.REPLACES
    return next((effect for operation, is_own, effect in _BY_OPERATION if (operation, is_own) in done), Effect.NOTHING)


# What counts most first: what is done to others counts less than what is done to the argument's own resource.
_BY_OPERATION = (
    ("replace", False, Effect.REPLACES_BELOW),
    ("delete", True, Effect.DELETES),
    ("update", True, Effect.UPDATES),
    ("delete", False, Effect.DELETES),
    ("update", False, Effect.UPDATES),
    ("create", True, Effect.CREATES),
    ("create", False, Effect.CREATES),
)
_ORDER = list(Effect)


def row(argument: str, tried: Sequence[tuple[Change, Outcome]]) -> Row:
    """The row of an argument. `tried`: every change of it, with what the engine planned."""
    found = [(change, outcome, effect_of(argument, outcome)) for change, outcome in tried]
    judged = [each for each in found if each[2] is not Effect.NOT_TRIED]
    component = COMPONENTS.get(argument.partition(".")[0], "")
    if not judged:
        why = left_out(argument) or next((_why(outcome) for _, outcome, _ in found), "no legal value was found to try")
        return Row(argument, component, Effect.NOT_TRIED, (), (), (), (), "", (), "", why)
    rows = [_row(argument, component, *each) for each in judged]
    most = max(rows, key=_weight)
    also = dict.fromkeys(f"{each.change}: {each.effect}" for each in rows if each.effect is not most.effect)
    return replace(most, also=tuple(also)[:MOST_BESIDE])


def _weight(row: Row) -> tuple[int, int, int]:
    """How much a change does: by its effect, by what it interrupts, by how many types of resources it touches."""
    touched = (*row.replaced, *row.deleted, *row.updated, *row.created)
    return _ORDER.index(row.effect), interruptions.ORDER.index(row.interruption.interrupts), len(touched)


class Tried(NamedTuple):
    """A change that a row shows, and what it does now."""

    row: Row
    change: Change
    outcome: Outcome


def again(rows: Sequence[Row], engine_bin: Path) -> list[Tried]:
    """The changes that the rows show, tried once more. ValueError where there is no such change any more."""
    changes = [(row, change) for row in rows for change in _shown(row)]
    outcomes = outcomes_of([change for _, change in changes], engine_bin)
    return [Tried(row, change, outcome) for (row, change), outcome in zip(changes, outcomes, strict=True)]


def rows_of(found: Sequence[Tried]) -> list[Row]:
    """The rows as they would be by this."""
    now: dict[str, list[Row]] = defaultdict(list)
    for row, change, outcome in found:
        effect = effect_of(row.argument, outcome)
        now[row.argument].append(replace(_row(row.argument, row.component, change, outcome, effect), also=row.also))
    rows = list(dict.fromkeys(each.row for each in found))
    return [row if row in now[row.argument] else now[row.argument][0] for row in rows]


def _shown(row: Row) -> list[Change]:
    """The change that a row shows; the same words may be a change in two places of a stack."""
    found: dict[str, Change] = {}
    for change in every_change_of(row.argument):
        if (_text(change), change.stack) == (row.change, row.stack):
            found.setdefault(written(change.at), change)
    if not found:
        raise ValueError(f"{row.argument}: {row.change} of {row.stack} is tried no longer")
    return list(found.values())


def _text(change: Change) -> str:
    return " ".join(change.text.replace(";", ",").split())


def _row(argument: str, component: str, change: Change, outcome: Outcome, effect: Effect) -> Row:
    planned = Outcome() if effect is Effect.REFUSED else outcome
    types = {done: _types(planned, done) for done in ("replace", "create", "delete")}
    return Row(
        argument=argument,
        component=component,
        effect=effect,
        replaced=types["replace"],
        updated=tuple(_updated(planned)),
        created=types["create"],
        deleted=types["delete"],
        change=_text(change),
        also=(),
        stack=change.stack,
        why=_why(outcome) if effect is Effect.REFUSED else "",
    )


def _types(outcome: Outcome, operation: str) -> tuple[str, ...]:
    return tuple(sorted({step.type for step in outcome.steps if step.operation == operation}))


def _updated(outcome: Outcome) -> Iterator[Updated]:
    properties: dict[str, set[str]] = defaultdict(set)
    for step in outcome.steps:
        if step.operation == "update":
            properties[step.type].update(step.properties)
    for kind in sorted(properties):
        yield Updated(kind, tuple(sorted(properties[kind])))


def _why(outcome: Outcome) -> str:
    told = [*outcome.refused_before, *outcome.refused]
    return " ".join(told[0].split())[:300] if told else ""
