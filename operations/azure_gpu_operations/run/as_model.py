"""`run --model NAME`: adds the SavedModel in a run's output to the stack's storage and file, for registration by `up`."""

import tempfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.machine_learning.upload_command import NAME_FORM, VERSION_FORM, Model, bring, is_name, is_version
from azure_gpu_operations.run.protocol import Say
from azure_gpu_operations.stack_view import StackView

SAVED_MODEL = "saved_model.pb"
_VERSION = "%Y%m%d-%H%M%S"


def resolve(text: str, outputs: list[str], view: StackView | None, *, detach: bool) -> tuple[Model | None, list[Problem]]:
    """None if not requested. The default version is the current time."""
    if not text:
        return None, []
    name, _, version = text.partition(":")
    problems: list[Problem] = []
    if not is_name(name):
        problems.append(Problem("--model", "not a valid model name", value=name, allowed=NAME_FORM))
    if version and not is_version(version):
        problems.append(Problem("--model", "not a valid version", value=version, allowed=VERSION_FORM))
    if not outputs:
        fix = "add --output with the folder of the SavedModel, such as output/saved_model"
        problems.append(Problem("--model", "requires --output", value=text, fix=fix))
    if detach:
        fix = f"remove one of the two; later run {COMMAND} logs --into FOLDER, then {COMMAND} upload model"
        problems.append(Problem("--detach", "can't be combined with --model: the model is made when the run ends", fix=fix))
    if view is not None and not view.ml_workspace:
        fix = "add `ml_workspace: create` to the stack's file and run `pulumi up`"
        problems.append(Problem("--model", "the stack has no Azure ML workspace", value=view.name, fix=fix))
    return Model(name, version or datetime.now(UTC).strftime(_VERSION)), problems


def make(view: StackView, run: str, model: Model, own_file: Path, say: Say) -> int:
    """Returns the exit code. `run`: the name of the run's files."""
    from azure_gpu_operations.azure import Arm
    from azure_gpu_operations.batch.blobs import Blobs
    from azure_gpu_operations.run import carried

    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        with closing(Arm(view.connection)) as arm, closing(Blobs(arm, view.storage)) as blobs:
            carried.fetch(blobs, run, folder)
        found = sorted(file.parent for file in folder.rglob(SAVED_MODEL))
        if len(found) != 1:
            what = "no SavedModel" if not found else f"{len(found)} SavedModels"
            say(f"error: the run's output contains {what}; to fetch it: {COMMAND} logs {run} --into FOLDER --stack {view.name}")
            return 1
        code = bring(view, found[0], model, own_file, write=True)
    if code == 0:
        say(f"the model {model.name}, version {model.version}: {COMMAND} up --stack {view.name} registers it")
    return code
