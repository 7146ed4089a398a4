"""`run --model NAME`: the SavedModel that a run has left becomes a model of the stack's workspace.

In: the word of the command line, the run's files in the stack's storage. Out: a `Model` and problems; the model in the stack's
model store and in its file, from where `up` registers it.
"""

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
    """None where none was requested. Without a version it is the time."""
    if not text:
        return None, []
    name, _, version = text.partition(":")
    problems: list[Problem] = []
    if not is_name(name):
        problems.append(Problem("--model", "this can't be a model's name", value=name, allowed=NAME_FORM))
    if version and not is_version(version):
        problems.append(Problem("--model", "this can't be a version", value=version, allowed=VERSION_FORM))
    if not outputs:
        fix = "add --output with the folder that the program writes, such as output/saved_model"
        problems.append(Problem("--model", "nothing of the run is kept", value=text, fix=fix))
    if detach:
        fix = f"leave out one of the two; later: {COMMAND} fetch, then {COMMAND} upload-model"
        problems.append(Problem("--detach", "nobody is left to make a model of what the run leaves", fix=fix))
    if view is not None and not view.ml_workspace:
        fix = "add `ml_workspace: create` to the stack's file and run `pulumi up`"
        problems.append(Problem("--model", "the stack has no Azure ML workspace", value=view.name, fix=fix))
    return Model(name, version or datetime.now(UTC).strftime(_VERSION)), problems


def make(view: StackView, run: str, model: Model, own_file: Path, say: Say) -> int:
    """The exit code. `run`: the name under which the run's files are kept."""
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
            say(f"error: the run has left {what}; its files: {COMMAND} fetch {run} --into FOLDER --stack {view.name}")
            return 1
        code = bring(view, found[0], model, own_file, write=True)
    if code == 0:
        say(f"the model {model.name}, version {model.version}: {COMMAND} up --stack {view.name} registers it")
    return code
