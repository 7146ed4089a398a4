"""Reads and resolves a stack's file by the library, as the program does.

Sends no requests to Azure, and runs the engine only for outputs of other stacks. Encrypted values have placeholders.
UnreadableStackFileError if the file can't be read.
"""

import contextlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azure_gpu.formats import stack_file
from azure_gpu.stack.common_file import extended
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.project import name_of, project
from azure_gpu_operations.stack import EngineError, run_engine

# The library's components take half a second to load, which `--help` shouldn't: the functions that need them import them.
if TYPE_CHECKING:
    from azure_gpu.stack.inventory import Inventory
    from azure_gpu.stack.other_stacks import Outputs
    from azure_gpu.stack.secret_values import Encrypted
    from azure_gpu.stack.settings import Settings

_HIDDEN = "[secret]"  # what `pulumi stack output` shows of a secret


class UnreadableStackFileError(ValueError):
    """A configuration file that can't be read. The text is for the user."""


def settings(file: Path) -> "Settings":
    """The file's sections with the library's types; what is wrong in them is left out, and is in `problems`."""
    from azure_gpu.stack.settings import read

    project_name = name_of(project().files)
    given, encrypted = configuration(file, project_name)
    return read(given, _today(), encrypted, project_name, project().files, outputs_of)


def switched_off(file: Path, name: str, section: str = "") -> str:
    """The sentence about a part of this name that the file switches off; "" where there is none, or the file can't be read.
    `name`: as the file calls the part, with or without the one around it: `shared`, `shared/t4`; "" for any of the section's own.
    `section`: the key that the part is below, such as `clusters` or `ml_workspace.computes`; "" for any."""
    try:
        off = settings(file).off
    except UnreadableStackFileError:
        return ""
    name_steps, around = name.split("/") if name else [], section.split(".") if section else []
    for path in off:
        steps = path.split(".")
        within = steps[: len(around)] == around[: len(steps)]  # or around the whole section
        named = steps[-1] == name_steps[-1] and set(name_steps) <= set(steps) if name_steps else len(steps) <= len(around) + 1
        if named and within:
            return f"{path} is switched off: enabled: false in {file.name}"
    return ""


def whole(file: Path, folder: Path | None = None) -> dict[str, Any]:
    """A file's configuration with what it extends, each value as it is and not as text; keys of the project without its
    namespace. `folder`: of the project whose file it is, where that isn't this process's."""
    folder = folder or project().files
    project_name = name_of(folder)
    given, _ = configuration(file, project_name)
    merged = extended(given, project_name, folder)
    if merged.problems:
        raise UnreadableStackFileError(f"{file.name}: " + "; ".join(map(str, merged.problems)))
    return {
        key.removeprefix(config_key("", project_name)): stack_file.decoded(text) for key, text in merged.configuration.items()
    }


def inventory(project_folder: Path, file: Path, stack: str, as_of: str = "") -> "Inventory":
    """What the stack would take in Azure. `as_of`: a day in place of the stack's own; "": the stack's own, else today."""
    from azure_gpu.stack import inventory as inventories, own_source

    project_name = name_of(project_folder)
    given, encrypted = configuration(file, project_name)
    if as_of:
        given[config_key("as_of", project_name)] = as_of
    with contextlib.chdir(project_folder):  # where the program runs, and relative paths of a stack file begin
        return inventories.take(given, project_name, stack, _today(), encrypted, outputs_of, own_source.find)


def configuration(file: Path, project_name: str) -> tuple[dict[str, str], "Encrypted"]:
    """A file's keys as the program gets them, and what of them is encrypted. Behind the file: what the provider takes from the
    environment."""
    from azure_gpu.shared.provider_keys import cloud_from
    from azure_gpu.stack import secret_values

    try:
        text = file.read_text(encoding="utf-8")
        return {**cloud_from(os.environ), **stack_file.configuration(text)}, secret_values.in_text(text, project_name)
    except OSError as error:
        raise UnreadableStackFileError(f"{file} can't be read: {error.strerror}") from None
    except (UnicodeDecodeError, stack_file.StackFileError) as error:
        raise UnreadableStackFileError(f"{file}: {error}") from None


def outputs_of(stack: str) -> "Outputs":
    """What another stack of the environment's backend exports. OutputsError."""
    from azure_gpu.stack.other_stacks import Outputs, OutputsError

    try:
        text = run_engine(project().files, "stack", "output", "--json", "--stack", stack, quiet=True)
    except EngineError as error:
        raise OutputsError(str(error)) from None
    values: dict[str, object] = json.loads(text)
    return Outputs(values, frozenset(name for name, value in values.items() if value == _HIDDEN))


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
