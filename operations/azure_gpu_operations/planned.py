"""What a stack's file configures, and what would be declared from it: read and resolved by the library, as for the program.

In: the file. Out: the library's `Settings` and `Inventory`. WrongStackFileError where the file can't be read. Neither Azure
nor the engine is asked: a value that is encrypted in the file has a stand-in.
"""

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path

from azure_gpu.formats import stack_file
from azure_gpu.stack import inventory as inventories
from azure_gpu.stack.connection import login_from
from azure_gpu.stack.inventory import Inventory
from azure_gpu.stack.keys import PROJECT, config_key
from azure_gpu.stack.settings import Settings, read


class WrongStackFileError(ValueError):
    """A configuration file that can't be read. The text is for the user."""


def settings(file: Path) -> Settings:
    """The file's sections with the library's types; what is wrong in them is left out, and is in `problems`."""
    return read(_configuration(file), _today())


def inventory(project_folder: Path, file: Path, stack: str, as_of: str = "") -> Inventory:
    """What the stack would take in Azure. `as_of`: a day in place of the stack's own; "": the stack's own, else today."""
    configuration = _configuration(file)
    if as_of:
        configuration[config_key("as_of")] = as_of
    with contextlib.chdir(project_folder):  # where the program runs, and relative paths of a stack file begin
        return inventories.take(configuration, PROJECT, stack, _today())


def _configuration(file: Path) -> dict[str, str]:
    """As the program gets it: behind the file, what the provider takes from the environment."""
    try:
        return {**login_from(os.environ), **stack_file.configuration(file.read_text(encoding="utf-8"))}
    except OSError as error:
        raise WrongStackFileError(f"{file} can't be read: {error.strerror}") from None
    except (UnicodeDecodeError, stack_file.StackFileError) as error:
        raise WrongStackFileError(f"{file}: {error}") from None


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
