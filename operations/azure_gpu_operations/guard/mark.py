"""Whether a look can be spared: the history of a stack says under which circumstances its last update went well.

In: a stack and its deployment. Out: the message of an update, which ends in a digest of everything that decides about what is
held, and whether the last one had the same. Only the shipped program is known well enough for that: its own files, the library,
the providers and the stack's file decide. A program of one's own may read anything.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any, cast

import azure_gpu
from azure_gpu.aks.login import login_from
from azure_gpu.formats import stack_file
from azure_gpu.stack import other_stacks
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.project import is_shipped
from azure_gpu_operations.stack import Stack

# Sections that name, place and shape nothing of what is held. A section that isn't here decides.
_HARMLESS = (
    *(
        "as_of",
        "assign_roles",
        "budget",
        "container_groups",
        "edges",
        "gallery_images",
        "image_source",
        "job_environment",
        "jobs",
    ),
    *("pools", "tags", "vms"),
)
# Of a section that decides, what names, places and shapes nothing of what is held either.
_HARMLESS_BELOW = {
    "ml_workspace": ("code", "computes", "description", "environments", "friendly_name", "tags"),
    "batch_account": ("applications",),
}
_PROVIDERS = ("pulumi-azure-native", "pulumi-kubernetes")
_DIGITS = 16


def message(stack: Stack) -> str:
    """What the history calls an update: what the engine itself would, and the digest."""
    git = ("git", "-C", str(stack.file.parent), "log", "-1", "--format=%s")
    try:
        subject = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no git
        subject = ""
    return f"{subject or 'up'} {_mark(stack)}"


def is_as_it_was(stack: Stack, deployment: Mapping[str, Any]) -> bool:
    """Whether the last update went well with all that decides now, and left this state."""
    if not is_shipped(stack.project_folder) or _takes_values_from_elsewhere(stack):
        return False
    resources: list[Mapping[str, Any]] = deployment.get("resources") or []
    if any(each.get("delete") or each.get("taint") for each in resources):
        return False  # an update would go on with what another began, or make anew
    last = next(iter(stack.history(1)), {})
    if last.get("kind") != "update" or last.get("result") != "succeeded":
        return False
    return str(last.get("message") or "").endswith(_mark(stack)) and _wrote(last, deployment)


def _wrote(last: Mapping[str, Any], deployment: Mapping[str, Any]) -> bool:
    """Whether the state is the one that this update wrote: neither of a later one that was killed, nor an older one that was
    imported. The history has whole seconds."""
    written = datetime.fromisoformat(str(deployment["manifest"]["time"]))
    begun, ended = (datetime.fromisoformat(str(last[key])) for key in ("startTime", "endTime"))
    return begun <= written <= ended + timedelta(seconds=1)


def _mark(stack: Stack) -> str:
    digest = hashlib.sha256()
    for part in _deciding(stack):
        digest.update(part)
        digest.update(b"\0")
    return f"[{digest.hexdigest()[:_DIGITS]}]"


def _deciding(stack: Stack) -> Iterator[bytes]:
    harmless = {config_key(section, stack.project) for section in _HARMLESS}
    kept: dict[str, object] = {key: value for key, value in stack.configuration().items() if key not in harmless}
    for section, names in _HARMLESS_BELOW.items():
        value = stack_file.decoded(str(kept.get(key := config_key(section, stack.project)) or ""))
        if isinstance(value, dict):
            kept[key] = {name: each for name, each in cast(dict[str, object], value).items() if name not in names}
    yield json.dumps([stack.project, stack.name, login_from(os.environ), kept], sort_keys=True).encode()
    yield " ".join(f"{name} {metadata.version(name)}" for name in _PROVIDERS).encode()
    library = Path(azure_gpu.__file__).parent
    for folder, files in ((stack.project_folder, "Pulumi.yaml"), (stack.project_folder, "*.py"), (library, "**/*.py")):
        yield from _contents(folder, files)
    yield from _contents(library, "**/*.csv")


def _contents(folder: Path, files: str) -> Iterator[bytes]:
    for file in sorted(folder.glob(files)):
        yield file.relative_to(folder).as_posix().encode()
        yield file.read_bytes()


def _takes_values_from_elsewhere(stack: Stack) -> bool:
    """Whether its file imports environments of Pulumi ESC, or takes outputs of other stacks."""
    try:
        return stack_file.imports_environments(stack.file.read_text(encoding="utf-8")) or stack.declares(other_stacks.SECTION)
    except (OSError, UnicodeDecodeError, stack_file.StackFileError):
        return True
