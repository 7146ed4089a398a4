"""Decides whether the check before an update can be skipped, from a digest in the message of the last successful update.

The digest covers everything that affects resources with data: the program's files, the library, the providers and the stack's
file. This works only for the shipped program; a custom program may depend on anything.
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
from azure_gpu.formats import git, stack_file
from azure_gpu.formats.parts import PARTS
from azure_gpu.shared.provider_keys import cloud_from
from azure_gpu.stack.keys import OTHER_STACKS, config_key
from azure_gpu_operations.guard.held import WHAT
from azure_gpu_operations.project import is_shipped
from azure_gpu_operations.stack import Stack

# Sections that don't affect resources with data. All other sections do.
_HARMLESS = (
    *("as_of", "assign_roles", "image_source", "tags"),
    *(kind.section for kind in PARTS if not any(each.token in WHAT for each in kind.azure_types)),
)
# Keys of other sections that don't affect resources with data either.
_HARMLESS_BELOW = {
    "ml_workspace": ("code", "computes", "description", "environments", "friendly_name", "tags"),
    "batch_account": ("applications",),
}
_PROVIDERS = ("pulumi-azure-native", "pulumi-kubernetes")
_DIGITS = 16


def message(stack: Stack) -> str:
    """Message of an update: the engine's default, and the digest."""
    asked = ("git", "-C", str(stack.file.parent), "log", "-1", "--format=%s")
    try:
        subject = subprocess.run(asked, env=git.environment(), capture_output=True, text=True, check=False).stdout.strip()
    except OSError:  # no git
        subject = ""
    return f"{subject or 'up'} {_fingerprint(stack)}"


def is_unchanged(stack: Stack, deployment: Mapping[str, Any]) -> bool:
    """Whether the last update succeeded with the same digest, and wrote this state."""
    if not is_shipped(stack.project_folder) or _takes_values_from_elsewhere(stack):
        return False
    resources: list[Mapping[str, Any]] = deployment.get("resources") or []
    if any(each.get("delete") or each.get("taint") for each in resources):
        return False  # the update would continue another one's replacements
    last = next(iter(stack.history(1)), {})
    if last.get("kind") != "update" or last.get("result") != "succeeded":
        return False
    return str(last.get("message") or "").endswith(_fingerprint(stack)) and _wrote(last, deployment)


def _wrote(last: Mapping[str, Any], deployment: Mapping[str, Any]) -> bool:
    """Whether this update wrote the state, and not a later killed one or an import. The history has whole seconds."""
    written = datetime.fromisoformat(str(deployment["manifest"]["time"]))
    begun, ended = (datetime.fromisoformat(str(last[key])) for key in ("startTime", "endTime"))
    return begun <= written <= ended + timedelta(seconds=1)


def _fingerprint(stack: Stack) -> str:
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
    yield json.dumps([stack.project, stack.name, cloud_from(os.environ), kept], sort_keys=True).encode()
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
    """Whether its file imports Pulumi ESC environments, or uses outputs of other stacks."""
    try:
        return stack_file.imports_environments(stack.file.read_text(encoding="utf-8")) or stack.declares(OTHER_STACKS)
    except (OSError, UnicodeDecodeError, stack_file.StackFileError):
        return True
