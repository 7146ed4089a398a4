"""Uploads a SavedModel to the stack's storage, for registration in its workspace.

    upload model runs/saved_model --name digits --version 2 --stack S           upload, and print the lines for the stack file
    upload model runs/saved_model --name digits --version 2 --stack S --write   the same, and write them to the stack file

It signs in as the stack does, without account keys, and needs the role Storage Blob Data Contributor. Files that are already
uploaded are skipped, so an interrupted upload can be continued; a version with different content is rejected.
"""

import argparse
import hashlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from azure_gpu.formats import bounded_yaml, stack_file, yaml_edit
from azure_gpu.formats.tags import MODEL_STORE
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.project import key_of as key_in_file
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view
from azure_gpu_operations.terminal import counted, size

HEADS = ("saved_model.pb", "saved_model.pbtxt")  # a SavedModel has one of them


class WrongModelError(ValueError):
    """The folder isn't a SavedModel, or differs from the uploaded one. The text is for the user."""


class ModelFile(NamedTuple):
    """One file. `name` is its path below the folder, with slashes."""

    name: str
    path: Path
    size: int
    sha256: str


def read_model(folder: Path) -> list[ModelFile]:
    """Every file below the folder. WrongModelError if it isn't a SavedModel, or has links to the outside."""
    if not folder.is_dir():
        raise WrongModelError(f"{folder} is not a folder; name the folder with {HEADS[0]}")
    if not any((folder / head).is_file() for head in HEADS):
        inner = sorted(path.parent for head in HEADS for path in folder.glob(f"*/{head}"))
        meant = f"; did you mean {inner[0]}?" if inner else f": it has no {HEADS[0]}"
        raise WrongModelError(f"{folder} is not a SavedModel{meant}")
    root = folder.resolve()
    found: list[ModelFile] = []
    for path in sorted(folder.rglob("*")):
        if not path.resolve().is_relative_to(root):
            raise WrongModelError(f"{path} links to a path outside the folder")
        if path.is_file():
            found.append(ModelFile(path.relative_to(folder).as_posix(), path, path.stat().st_size, _hash(path)))
    return found


def missing_files(
    files: Sequence[ModelFile], blobs: Mapping[str, tuple[int, str]], hash_of: Callable[[str], str], version: str
) -> list[ModelFile]:
    """Those to upload, saved_model.pb last, so that an incomplete upload isn't taken for a model. WrongModelError if the version
    exists with other content: versions are immutable.

    `blobs`: sizes and hashes by name; `hash_of` computes the hash of a blob without one.
    """
    known = {file.name: file for file in files}
    other = [name for name in blobs if name not in known]
    for name, (length, sha256) in blobs.items():
        file = known.get(name)
        if file is not None and (length != file.size or (sha256 or hash_of(name)) != file.sha256):
            other.append(name)
    if other:
        shown = ", ".join(sorted(other)[:3]) + (f" and {len(other) - 3} more" if len(other) > 3 else "")
        raise WrongModelError(
            f"{version} exists with different content ({shown}), and versions are immutable; choose a new --version"
        )
    return sorted((file for file in files if file.name not in blobs), key=lambda file: (file.name in HEADS, file.name))


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


SECTION = "ml_workspace"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,254}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,29}")
NAME_FORM = "1 to 255 letters, digits, '-' and '_'"
VERSION_FORM = "1 to 30 letters, digits, '-', '_' and '.'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder with saved_model.pb")
    parser.add_argument("--name", required=True, help="the model's name in the workspace")
    parser.add_argument("--version", required=True, help="the model's version in the workspace")
    stack_options.add_stack(parser, "the stack whose storage it is uploaded to")
    parser.add_argument("--write", action="store_true", help="write the lines to Pulumi.<stack>.yaml")


def run(options: argparse.Namespace) -> int:
    if not _NAME.fullmatch(options.name):
        return refuse(f"--name: {options.name!r} is not a valid model name; allowed: {NAME_FORM}")
    if not _VERSION.fullmatch(options.version):
        return refuse(f"--version: {options.version!r} is not a valid version; allowed: {VERSION_FORM}")
    try:
        found = view(stack_options.stack_of(options))
    except EngineError as error:
        return refuse(error)
    return _bring(found, options.folder, (options.name, options.version), stack_options.file_of(options), write=options.write)


def _bring(found: StackView, folder: Path, model: tuple[str, str], own_file: Path, *, write: bool) -> int:
    """Uploads a SavedModel and adds it to the stack's file, or prints the lines for it. Returns the exit code."""
    try:
        files = read_model(folder)
        if write:  # fails before the upload if the file can't be changed
            written(_text(own_file), *model)
    except (WrongModelError, yaml_edit.EditError, stack_file.StackFileError, OSError) as error:
        return refuse(error)
    if not found.storage:
        return refuse(f"stack {found.name} has no storage account; add `storage: create` to its foundation")
    try:
        sent = _upload(found, files, f"{'/'.join(model)}/")
    except WrongModelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    whole = sum(file.size for file in files)
    print(f"{counted(len(files), 'file')}, {size(whole)}: {sent} uploaded, {len(files) - sent} already there", file=sys.stderr)
    if not write:
        print(lines(*model), end="")
        return 0
    try:
        text = _text(own_file)  # read again: it may have changed during a long upload
        changed = written(text, *model)
    except (yaml_edit.EditError, OSError) as error:
        return refuse(error)
    if changed != text:
        own_file.write_bytes(changed.encode("utf-8"))
        print(f"{own_file}: ml_workspace.models.{key_of(*model)} added", file=sys.stderr)
    else:
        print(f"{own_file} already has it", file=sys.stderr)
    return 0


def key_of(name: str, version: str) -> str:
    """Key of this version in the stack file, beside other versions of the model."""
    return f"{name}-{re.sub(r'[^A-Za-z0-9]+', '-', version)}".lower().replace("_", "-")


def settings(name: str, version: str) -> dict[str, str]:
    return {"model_name": name, "version": version, "path": f"{name}/{version}"}


def lines(name: str, version: str) -> str:
    """The lines under `config:` of the stack file."""
    return bounded_yaml.dump({key_in_file(SECTION): {"models": {key_of(name, version): settings(name, version)}}})


def written(text: str, name: str, version: str) -> str:
    """The stack file's text with the model in it. EditError if the key has other settings."""
    model, key = settings(name, version), key_of(name, version)
    try:
        section = ((bounded_yaml.load(text) or {}).get("config") or {}).get(key_in_file(SECTION))
        models = (section.get("models") or {}) if isinstance(section, dict) else {}
        there = models.get(key)
    except (bounded_yaml.BoundedYamlError, AttributeError) as error:
        raise yaml_edit.EditError("the stack file can't be read as YAML, or has something else under `ml_workspace`") from error
    if section is None:
        raise yaml_edit.EditError(f"the stack file has no `ml_workspace` yet; add `{key_in_file(SECTION)}: create` first")
    if there is None:
        return yaml_edit.with_value(text, ("config", key_in_file(SECTION), "models", key), model, in_place_of=("create",))
    existing = {**there, "version": str(there.get("version", ""))} if isinstance(there, dict) else {}
    if any(existing.get(name) != value for name, value in model.items()):
        raise yaml_edit.EditError(f"ml_workspace.models.{key} is already in the stack file with other settings")
    return text


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise yaml_edit.EditError(f"{file} is not UTF-8 text") from error


def _upload(found: StackView, files: list[ModelFile], prefix: str) -> int:
    """Returns the number of uploaded files."""
    from azure.core.exceptions import ResourceExistsError  # here, because Azure's clients load slowly

    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.batch.blobs import Blobs

    with closing(Arm(found.connection)) as arm, closing(Blobs(arm, found.storage)) as blobs:
        blobs.make_container(MODEL_STORE)
        held = blobs.sizes_and_hashes(MODEL_STORE, prefix)
        missing = missing_files(files, held, lambda name: blobs.hash_of(MODEL_STORE, prefix + name), prefix.rstrip("/"))
        for number, file in enumerate(missing, start=1):
            print(f"{number} of {len(missing)}: {file.name}, {size(file.size)}", file=sys.stderr)
            try:
                blobs.put_file(MODEL_STORE, prefix + file.name, file.path, file.sha256)
            except ResourceExistsError as error:
                raise WrongModelError(f"{prefix}{file.name} was uploaded by another process in the meantime") from error
    return len(missing)
