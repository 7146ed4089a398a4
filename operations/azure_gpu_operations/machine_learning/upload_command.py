"""`python -m operations upload-model`: brings a SavedModel into the stack's storage, from where the workspace registers it.

    upload-model runs/saved_model --name digits --version 2 --stack S           uploads, and prints the lines for the stack file
    upload-model runs/saved_model --name digits --version 2 --stack S --write   the same, and puts them into the stack file

It signs on as the stack does, never by a key; the role Storage Blob Data Contributor allows it. What is there unchanged is left
alone, so that an upload that was broken off goes on; a version that holds something else is refused.
"""

import argparse
import logging
import re
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import yaml

from azure_gpu.formats import bounded_yaml, stack_file, yaml_edit
from azure_gpu.formats.tags import MODEL_STORE
from azure_gpu_operations import stack_options
from azure_gpu_operations.command_line import refuse
from azure_gpu_operations.machine_learning import model_folder
from azure_gpu_operations.project import key_of as key_in_file
from azure_gpu_operations.stack import EngineError
from azure_gpu_operations.stack_view import StackView, view
from azure_gpu_operations.terminal import size

SECTION = "ml_workspace"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,254}")
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,29}")


NAME_FORM = "1 to 255 letters, digits, '-' and '_'"
VERSION_FORM = "1 to 30 letters, digits, '-', '_' and '.'"


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def is_version(text: str) -> bool:
    return _VERSION.fullmatch(text) is not None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the one with saved_model.pb")
    parser.add_argument("--name", required=True, help="the model's name in the workspace")
    parser.add_argument("--version", required=True, help="its version there")
    parser.add_argument("--stack", required=True, help="the stack whose storage it is for")
    stack_options.add_config_folder(parser)
    parser.add_argument("--write", action="store_true", help="put the lines into Pulumi.<stack>.yaml")


def run(options: argparse.Namespace) -> int:
    if not is_name(options.name):
        return refuse(f"--name: {options.name!r} can't be a model's name; allowed are {NAME_FORM}")
    if not is_version(options.version):
        return refuse(f"--version: {options.version!r} can't be a version; allowed are {VERSION_FORM}")
    try:
        found = view(stack_options.stack_of(options))
    except EngineError as error:
        return refuse(error)
    return bring(found, options.folder, Model(options.name, options.version), stack_options.file_of(options), write=options.write)


class Model(NamedTuple):
    """A model's name and version in the workspace."""

    name: str
    version: str


def bring(found: StackView, folder: Path, model: Model, own_file: Path, *, write: bool) -> int:
    """Uploads a SavedModel and names it in the stack's file, or prints the lines for it. The exit code."""
    try:
        files = model_folder.read(folder)
        if write:  # before anything is sent: whether it can be written
            written(_text(own_file), *model)
    except (model_folder.WrongModelError, yaml_edit.EditError, stack_file.StackFileError, OSError) as error:
        return refuse(error)
    if not found.storage:
        return refuse(f"stack {found.name} has no storage account of its own; add `storage: create` to its foundation")
    try:
        sent = _upload(found, files, f"{model.name}/{model.version}/")
    except model_folder.WrongModelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    whole = sum(file.size for file in files)
    print(f"{len(files)} files, {size(whole)}: {sent} uploaded, {len(files) - sent} were there", file=sys.stderr)
    if not write:
        print(lines(*model), end="")
        return 0
    try:
        text = _text(own_file)  # once more: an upload may take an hour, in which people write
        changed = written(text, *model)
    except (yaml_edit.EditError, OSError) as error:
        return refuse(error)
    if changed != text:
        own_file.write_bytes(changed.encode("utf-8"))
        print(f"{own_file}: ml_workspace.models.{key_of(*model)} added", file=sys.stderr)
    else:
        print(f"{own_file} has it already", file=sys.stderr)
    return 0


def key_of(name: str, version: str) -> str:
    """What the stack file calls this version, so that it stands beside others of the same model."""
    return f"{name}-{re.sub(r'[^A-Za-z0-9]+', '-', version)}".lower().replace("_", "-")


def settings(name: str, version: str) -> dict[str, str]:
    return {"model_name": name, "version": version, "path": f"{name}/{version}"}


def lines(name: str, version: str) -> str:
    """As they stand under `config:` of the stack file."""
    return yaml.safe_dump({key_in_file(SECTION): {"models": {key_of(name, version): settings(name, version)}}}, sort_keys=False)


def written(text: str, name: str, version: str) -> str:
    """The stack file's text with the model in it. EditError where something else is called so there."""
    wanted, key = settings(name, version), key_of(name, version)
    try:
        section = ((bounded_yaml.load(text) or {}).get("config") or {}).get(key_in_file(SECTION))
        models = (section.get("models") or {}) if isinstance(section, dict) else {}
        there = models.get(key)
    except (bounded_yaml.BoundedYamlError, AttributeError) as error:
        raise yaml_edit.EditError("the stack file can't be read as YAML, or has something else under `ml_workspace`") from error
    if section is None:
        raise yaml_edit.EditError(f"the stack file has no `ml_workspace` yet; add `{key_in_file(SECTION)}: create` first")
    if there is None:
        return yaml_edit.with_value(text, ("config", key_in_file(SECTION), "models", key), wanted, in_place_of=("create",))
    said = {**there, "version": str(there.get("version", ""))} if isinstance(there, dict) else {}
    if any(said.get(name) != value for name, value in wanted.items()):
        raise yaml_edit.EditError(f"ml_workspace.models.{key} is in the stack file and says something else")
    return text


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise yaml_edit.EditError(f"{file} is no text in UTF-8") from error


def _upload(found: StackView, files: list[model_folder.ModelFile], prefix: str) -> int:
    """How many files were sent."""
    from azure.core.exceptions import ResourceExistsError  # here, because Azure's clients take seconds to load

    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.batch.blobs import Blobs

    logging.getLogger("azure.identity").setLevel(logging.ERROR)
    with closing(Arm(found.connection)) as arm, closing(Blobs(arm, found.storage)) as blobs:
        blobs.make_container(MODEL_STORE)
        held = blobs.sizes_and_hashes(MODEL_STORE, prefix)
        plan = model_folder.plan(files, held, lambda name: blobs.hash_of(MODEL_STORE, prefix + name), prefix.rstrip("/"))
        for number, file in enumerate(plan.missing, start=1):
            print(f"{number} of {len(plan.missing)}: {file.name}, {size(file.size)}", file=sys.stderr)
            try:
                blobs.put_file(MODEL_STORE, prefix + file.name, file.path, file.sha256)
            except ResourceExistsError as error:
                raise model_folder.WrongModelError(f"{prefix}{file.name} was uploaded by somebody else meanwhile") from error
    return len(plan.missing)
