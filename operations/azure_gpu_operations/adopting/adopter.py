"""Runs `import` of ids: reads existing resources, writes them as a stack file, and tries the adoption on a copy of the stack."""

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.arm_ids import parse
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.stack_file import StackFileError
from azure_gpu.formats.tags import PROPOSED_DAYS
from azure_gpu_operations.adopting import keys, matching
from azure_gpu_operations.adopting.keys import Part
from azure_gpu_operations.adopting.matching import Planned
from azure_gpu_operations.adopting.scratch import IMPORT_OPTIONS, Scratch, import_file, of_state
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.connection import Connection, connection_from, connection_in
from azure_gpu_operations.importing.blocks import Entry, block, comment_lines
from azure_gpu_operations.importing.merging import MergeError, merged
from azure_gpu_operations.stack import EngineError, Stack
from azure_gpu_operations.stack_options import file_of, stack_of
from azure_gpu_operations.terminal import printable

_READABLE_ELSEWHERE = ("passphrase", "cloud", "")  # secrets of a state that aren't bound to its backend; "": there are none


def run(options: argparse.Namespace) -> int:
    """Returns the exit code."""
    if not options.stack and (options.write or options.out):
        print("error: --write and --out require --stack", file=sys.stderr)
        return 2
    last_day: date = options.expires_after or days_later(datetime.now(UTC).date(), PROPOSED_DAYS)
    try:
        connection = _connection(options)
    except (OSError, StackFileError) as error:
        print(f"error: {file_of(options)}: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        return 1
    try:
        with closing(Arm(connection)) as arm:
            found, problems = keys.read(arm, options.sources)
            if problems:
                return _refuse(problems)
            part = keys.part_of(found, last_day.isoformat())
            if options.stack:
                return _into_stack(options, part, arm)
        print("\n".join(_lines(part, [])))
        return 0
    except MergeError as error:
        print(f"error: {file_of(options)}: {error}", file=sys.stderr)
        return 1


def _connection(options: argparse.Namespace) -> Connection:
    if options.stack:
        return connection_in(file_of(options))
    found = connection_from({}, os.environ)
    if found.subscription_id:
        return found
    given = parse(options.sources[0])
    return replace(found, subscription_id=given.subscription if given else "")


def _into_stack(options: argparse.Namespace, part: Part, arm: Arm) -> int:
    stack = stack_of(options)
    text = stack.file.read_text(encoding="utf-8")
    deployment = stack.deployment() if stack.exists() else {}
    taken_ids = {str(each.get("id", "")).lower(): each["urn"] for each in deployment.get("resources") or []}
    problems = [
        Problem(each.id.text, "already in the stack", fix=f"omit it: {taken_ids[each.id.key]}")
        for each in part.taken
        if each.id.key in taken_ids
    ]
    bound = str((deployment.get("secrets_providers") or {}).get("type", ""))
    if bound not in _READABLE_ELSEWHERE:
        fix = "adopt into a separate stack whose secrets are encrypted with a passphrase or a key vault"
        problems.append(
            Problem("--stack", "the secrets of the stack's state can be decrypted only by its backend", bound, fix=fix)
        )
    if problems:
        return _refuse(problems)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(Path(folder), stack, merged(text, _entries(part)))
        adoption = _Adoption(scratch, deployment, part, arm)
        problems = adoption.run()
        if problems:
            return _refuse(problems)
        whole = merged(text, _entries(part))
        scratch.configure(whole)
        results = list(adoption.tried())
    print("\n".join(_lines(part, results)))
    if options.out:
        _write(options.out, json.dumps(adoption.file, indent=2) + "\n")
    if options.write:
        _write(stack.file, whole)
    _say_next(options, stack)
    return 0


class _Adoption:
    """One try, on a copy of the stack."""

    def __init__(self, scratch: Scratch, deployment: Mapping[str, Any], part: Part, arm: Arm) -> None:
        self._scratch = scratch
        self._deployment = deployment
        self._part = part
        self._arm = arm
        self.file: dict[str, Any] = {}
        self._ids: dict[str, str] = {}

    def run(self) -> list[Problem]:
        """Finds what the plan has of what is there, reads it, and sets `overrides`."""
        plan = self._plan()
        planned = matching.planned(plan)
        ids = {each.id.key: each.id.text for each in self._part.taken}
        pairs = {one.urn: (one, text) for text in ids.values() for one in planned if one.has_id(text)}
        lost = [text for text in ids.values() if text not in {text for _, text in pairs.values()}]
        if lost:
            fix = "set the stack's `foundation.resource_group` to the group of the adopted resources"
            return [Problem(text, "the stack's plan has no resource with this id", fix=fix) for text in lost]
        pairs |= {one.urn: (one, text) for one in planned if one.urn not in pairs for text in self._within(one)}
        self._ids = {urn: text for urn, (_, text) in pairs.items()}
        steps = {step["urn"]: step["newState"] for step in plan if step.get("newState")}
        there = self._read([one for one, _ in pairs.values()], steps)
        apart = frozenset(text.rsplit("/", 1)[-1] for _, text in pairs.values() if "/agentpools/" in text.lower())
        states: dict[str, Mapping[str, Any]] = {}
        for urn, (one, _) in pairs.items():
            place = keys.overrides_of(one.azure_type.token, one.parent.rsplit("::", 1)[-1], one.name)
            taken = matching.take(one, there[urn]["inputs"], apart, pins=place is not None)
            if place is not None and taken.overrides:
                self._set(place, taken.overrides)
            states[urn] = {**there[urn], "inputs": taken.inputs}
        self.file = import_file([one for one, _ in pairs.values()], self._ids, steps, of_state(self._deployment), states)
        return []

    def tried(self) -> Iterator[str]:
        """The changes that a preview shows after importing the file. EngineError if that fails."""
        steps = self._plan(self.file)
        yield from (_changed(step) for step in steps if step["op"] not in ("same", "read", "create"))
        same = self._ids.keys() - {step["urn"] for step in steps if step["op"] != "same"}
        yield f"an update leaves {len(same)} of {len(self._ids)} adopted resources as they are"
        created = [step["newState"] for step in steps if step["op"] == "create" and step["newState"].get("custom")]
        counted = Counter(each["type"] for each in created if each["type"].startswith("azure-native:"))
        for token, count in sorted(counted.items()):
            yield f"an update creates {count} x {token}"

    def _within(self, one: Planned) -> Iterator[str]:
        """The id of what the program would create in something that is adopted, where it is there already."""
        for there in self._part.taken:
            found = one.id_within(there.azure_type, there.id.text)
            if found and self._arm.get(found, str(one.inputs["azureApiVersion"])) is not None:
                yield found

    def _plan(self, taken_in: Mapping[str, Any] | None = None) -> list[Mapping[str, Any]]:
        """`taken_in`: the file that is imported first."""
        self._scratch.put(self._deployment)
        if taken_in is not None:
            self._scratch.take_in(taken_in)
        planned = self._scratch.planned()
        if planned.errors:
            raise EngineError("\n".join(planned.errors))
        return planned.steps

    def _read(self, pairs: list[Planned], steps: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
        """The planned resources as the provider reads them, by URN."""
        self._scratch.take_in(import_file(pairs, self._ids, steps, of_state(self._deployment), {}))
        return {each["urn"]: each for each in self._scratch.deployment()["resources"] if each["urn"] in self._ids}

    def _set(self, place: tuple[str, ...], overrides: Mapping[str, Any]) -> None:
        at: dict[str, Any] = self._part.sections
        for step in place[:-1]:
            at = at[step]
        at[place[-1]] = overrides


def _changed(step: Mapping[str, Any]) -> str:
    paths = sorted(step.get("detailedDiff") or {})
    what = {"update": "changes", "replace": "replaces", "delete": "deletes"}.get(step["op"], step["op"])
    type_name, name = step["urn"].split("::")[-2:]
    return f"an update {what} {type_name.rsplit('$', 1)[-1]} {name}" + (f": {', '.join(paths)}" if paths else "")


def _entries(part: Part) -> list[Entry]:
    return [
        Entry(section, name, settings, [], [], active=True, unless_there=section == "foundation" or isinstance(settings, str))
        for section, of_section in part.sections.items()
        for name, settings in of_section.items()
    ]


def _lines(part: Part, results: list[str]) -> Iterator[str]:
    """For a stack file, with what is to be known as comments."""
    yield block(_entries(part)).rstrip("\n")
    for note in [*dict.fromkeys(part.notes), *results]:
        yield from comment_lines(note)


def _say_next(options: argparse.Namespace, stack: Stack) -> None:
    file = str(options.out or "FILE")
    config = ["--config-file", str(stack.config_file)] if stack.config_file else []
    import_ = " ".join(["pulumi", "import", "--file", file, *IMPORT_OPTIONS, "--stack", stack.name, *config])
    made = "" if stack.exists() else f"pulumi stack init {stack.name}, then "
    print(f"next: {made}{import_}", file=sys.stderr)


def _write(file: Path, text: str) -> None:
    with tempfile.NamedTemporaryFile("wb", dir=file.resolve().parent, prefix=f".{file.name}.", delete=False) as new:
        new.write(text.encode("utf-8"))
    made = Path(new.name)
    if file.exists():
        made.chmod(file.stat().st_mode)
    made.replace(file)
    print(f"{file}: written", file=sys.stderr)


def _refuse(problems: Iterable[Problem]) -> int:
    for problem in problems:
        print(printable(f"error: {problem}"), file=sys.stderr)
    return 1
