"""What a stack is, looked at from outside: its state, what the embedded Azure's store holds, and the processes that belong to it.

In: a state folder. Out: values of two lives of the same stack that are equal where nothing was lost or doubled: ids that only one
life has (names of role assignments, principals) are written alike.
"""

import json
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localazure.folder import LocalFolder

_GUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
_SUFFIX = re.compile(r"[0-9a-f]{8}(?=/|$)")  # of names that the provider makes up
_SUBSCRIPTION = re.compile(r"/subscriptions/[^/]+", re.IGNORECASE)
_TRACES = ("Traceback (most recent call last)", "panic: ", "\ngoroutine ", "fatal error: ", "stack trace")
_AZURE, _STACKS = "azure-native:", "pulumi:"


@dataclass(frozen=True, slots=True)
class Looks:
    """What there is: in Azure by id, and in the state by urn and by id. Each with how often."""

    azure: Counter[str]
    urns: Counter[str]
    ids: Counter[str]

    def problems(self, calm: "Looks") -> list[str]:
        """How this differs from a calm life."""
        return [
            *_differing("Azure", self.azure, calm.azure),
            *_differing("the state", self.urns, calm.urns),
            *_differing("the state's ids", self.ids, calm.ids),
        ]


def _differing(where: str, found: Counter[str], wanted: Counter[str]) -> list[str]:
    return [
        *(f"{where} lacks {each}" for each in sorted((wanted - found).elements())),
        *(f"{where} has too much: {each}" for each in sorted((found - wanted).elements())),
    ]


def looks(state: Path, deployment: Mapping[str, Any]) -> Looks:
    """At a stack that is up."""
    resources = deployment.get("resources") or []
    return Looks(
        Counter(each for each, _ in in_azure(state)),
        Counter(each["urn"] for each in resources),
        Counter(
            _alike(each["id"])
            for each in resources
            if each["type"].startswith(_AZURE) and each.get("id") and not each.get("external")
        ),
    )


def in_azure(state: Path) -> list[tuple[str, str]]:
    """Every resource of the embedded Azure, as lives have it alike, with its state of provisioning."""
    with closing(sqlite3.connect(f"file:{LocalFolder(state).database}?mode=ro", uri=True, timeout=30)) as store:
        return sorted((_alike(key), str(given)) for key, given in store.execute("SELECT key, state FROM resources"))


def unfinished(state: Path, deployment: Mapping[str, Any]) -> list[str]:
    """What isn't as it was asked for: in Azure, or by the engine's own notes."""
    resources = deployment.get("resources") or []
    return [
        *(f"{each} is {given} in Azure" for each, given in in_azure(state) if given != "Succeeded"),
        *(
            f"the state waits for {each['type']} of {each['resource']['urn']}"
            for each in deployment.get("pending_operations") or []
        ),
        *(f"{each['urn']} is to be deleted" for each in resources if each.get("delete")),
        *(f"{each['urn']} has errors: {'; '.join(each['initErrors'])}" for each in resources if each.get("initErrors")),
    ]


def _alike(resource_id: str) -> str:
    return _SUFFIX.sub("*", _GUID.sub("*", _SUBSCRIPTION.sub("", resource_id.lower())))


def traces(text: str) -> list[str]:
    """The first trace in what a user sees: how it begins, and the first line after it that isn't indented, which says why."""
    found = [(text.find(trace), trace) for trace in _TRACES if trace in text]
    for at, trace in sorted(found)[:1]:
        lines = text[at:].strip().splitlines()
        why = next((line for line in lines[1:] if line.strip() and not line[0].isspace()), "")
        return [f"{trace.strip()} {why[:500]}".strip()]
    return []


@dataclass(frozen=True, slots=True)
class Process:
    pid: int
    command: str


def processes(state: Path, names: Iterable[str] = ("",)) -> list[Process]:
    """The processes that belong to a state folder, by their command line or their environment, whose command line has one of the
    names. Of this process none. Linux alone: elsewhere nothing is found."""
    mark = str(state).encode()
    wanted = tuple(names)
    found: list[Process] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
            status = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            continue  # it has ended, or is somebody else's
        text = command.replace(b"\0", b" ").decode(errors="replace").strip()
        if status != "Z" and int(folder.name) != os.getpid() and (mark in command or mark in environment):
            found += [Process(int(folder.name), text)] if any(name in text for name in wanted) else []
    return found


def steps_of(preview: str) -> list[str]:
    """What a preview in JSON would do, as `operation name`."""
    steps = json.loads(preview)["steps"]
    return sorted(
        f"{each['op']} {each['urn'].rsplit('::', 1)[-1]}" for each in steps if each["op"] not in ("same", "read", "refresh")
    )
