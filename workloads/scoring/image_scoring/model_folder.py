"""Which model is served: the deployment's, or the one in the image.

In: environment variables, and the folder in which an image may have a model. Out: the folder to look for a SavedModel in.
"""

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "AZUREML_MODEL_DIR"
# Beside score.py, as <name>/<version>: the server reads both out of the path, as those of a deployment's model.
IN_IMAGE = Path(__file__).resolve().parents[1] / "model" / "1"


def choose(environment: Mapping[str, str], in_image: Path = IN_IMAGE) -> Path:
    """The deployment's model comes first. ValueError where there is neither.

    That the service leaves the variable unset for a deployment without a model is assumed: a folder that isn't there or is empty
    counts as none. One that holds anything counts, so that a wrong model of one's own is an error and never hidden.
    """
    named = environment.get(VARIABLE, "")
    if not in_image.is_dir():
        if not named:
            raise ValueError(f"{VARIABLE} is not set, and the image has no model; expected the folder of a SavedModel")
        return Path(named)
    return Path(named) if named and _holds_something(Path(named)) else in_image


def _holds_something(folder: Path) -> bool:
    return folder.is_file() or (folder.is_dir() and any(folder.iterdir()))
