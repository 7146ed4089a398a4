"""Finds secrets of a stack file that wouldn't stay secret, and plain values that look like secrets.

The engine passes every value decrypted to the program. Only keys for secrets keep them encrypted in the state and hidden in
Azure; at any other key an encrypted value would silently become plain text.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import stack_file
from azure_gpu.formats.stack_file import Steps
from azure_gpu.shared import secret_places
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.secret_places import FOR_SECRETS, Leaf, path
from azure_gpu.shared.validation import below, key_hints, may_be_secret
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.keys import FILE_VARIABLE, PROJECT, config_key

_FLAGGED_VARIABLE = "PULUMI_CONFIG_SECRET_KEYS"  # written by the engine: the top-level keys with a secret in them, as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Encrypted:
    """The encrypted values of a stack's configuration."""

    places: tuple[Steps, ...] = ()
    """The path of each value, from the section on: `("jobs", "train", "environment", "TOKEN")`."""
    unplaced: frozenset[str] = frozenset()
    """Sections with an encrypted value at an unknown path: their values don't come from the file."""


NOTHING_ENCRYPTED = Encrypted()


def in_text(text: str, project: str = PROJECT) -> Encrypted:
    """Finds the encrypted values of a stack file. StackFileError."""
    return Encrypted(places=tuple(_of_program(stack_file.encrypted(text), project)))


def of_engine(environment: Mapping[str, str], stack: str, project: str = PROJECT) -> Encrypted:
    """Finds the values that the engine flagged as secret, with their paths in the stack file where it can be read."""
    flagged = {key.removeprefix(config_key("", project)) for key in json.loads(environment.get(_FLAGGED_VARIABLE) or "[]")}
    if not flagged:
        return Encrypted()
    file = Path(environment.get(FILE_VARIABLE) or f"Pulumi.{stack}.yaml")
    try:
        text = file.read_text(encoding="utf-8")
        found, is_all = in_text(text, project).places, not stack_file.imports_environments(text)
    except (OSError, UnicodeDecodeError, stack_file.StackFileError):
        found, is_all = (), False
    places = tuple(steps for steps in found if steps[0] in flagged)
    placed = {steps[0] for steps in places} if is_all else set[str | int]()
    return Encrypted(places=places, unplaced=frozenset((flagged & key_hints(StackFile).keys()) - placed))


def problems(encrypted: Encrypted, given: Collection[str], keeping: Collection[str | int]) -> list[Problem]:
    """Returns a problem for each encrypted value at a plain text key, a warning where its path isn't known. `given`: the sections
    that are set; `keeping`: those with a value at a key for secrets."""
    refusing = [_refused(steps) for steps in encrypted.places if not _keeps_secrets(steps)]
    unplaced = sorted(encrypted.unplaced.intersection(given))
    return [
        *refusing,
        *(refused("secret.unplaced", each, command=COMMAND) for each in unplaced if each in keeping),
        *(refused("secret.unplaced_plain", each, key=FOR_SECRETS) for each in unplaced if each not in keeping),
    ]


def likely(found: Iterable[Leaf], encrypted: Encrypted) -> list[Problem]:
    """Returns a warning for each plain text value of those that look like a secret."""
    hints, placed = key_hints(StackFile), set(encrypted.places)
    by_section = sorted(found, key=lambda each: str(each.steps[0]))
    return [
        _warned(each)
        for each in by_section
        if each.steps[0] in hints and each.steps[0] not in encrypted.unplaced and each.steps not in placed
    ]


def _of_program(found: list[Steps], project: str) -> Iterator[Steps]:
    """Yields the paths in this project. A key without a namespace is the project's; `azure-gpu:config:jobs` is an old form of
    `azure-gpu:jobs`."""
    for first, *rest in found:
        namespace, colon, key = str(first).partition(":")
        if not colon or namespace == project:
            yield ((key if colon else namespace).removeprefix("config:"), *rest)


def _keeps_secrets(steps: Steps) -> bool:
    """Whether an encrypted value stays secret at this path."""
    annotation: Any = StackFile
    for step in steps:
        annotation = below(annotation, step)
    return annotation is Any or may_be_secret(annotation)


def _refused(steps: Steps) -> Problem:
    nearest = secret_places.nearest(steps, StackFile)
    plain = "write it in plain text if it isn't a secret"
    return refused(
        "secret.encrypted_plain_key",
        path(steps),
        allowed=f"a secret in {path((*nearest, FOR_SECRETS))}" if nearest else "plain text",
        fix=f"set it with {_command(_moved(steps, nearest))} and remove it here, or {plain}" if nearest else plain,
    )


def _warned(text: Leaf) -> Problem:
    nearest = secret_places.nearest(text.steps, StackFile)
    to = text.steps if text.is_kept else _moved(text.steps, nearest) if nearest else ()
    fix = f"set it with {_command(to)}{'' if text.is_kept else ' and remove it here'}" if to else "keep secrets out of this key"
    return refused("secret.likely_in_file" if text.is_kept else "secret.likely", path(text.steps), fix=fix)


def _moved(steps: Steps, nearest: Steps) -> Steps:
    """Returns the path where the value belongs: the same name, in the secrets of the object around it."""
    name = steps[-1] if isinstance(steps[-1], str) and len(steps) > len(nearest) + 1 else "<NAME>"
    return (*nearest, FOR_SECRETS, name)


def _command(steps: Steps) -> str:
    return f"`pulumi config set --secret --path '{path(steps)}'`"
