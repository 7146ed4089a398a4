"""Chooses the folder of the model: the deployment's, or the one in the image."""

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "AZUREML_MODEL_DIR"
# Beside score.py, as <name>/<version>: the server parses both from the path, as for a deployment's model.
IN_IMAGE = Path(__file__).resolve().parents[1] / "model" / "1"


def choose(environment: Mapping[str, str], in_image: Path = IN_IMAGE) -> Path:
    """The deployment's model if there is one. ValueError without any model.

    A missing or empty folder counts as no model: it is assumed that the service leaves the variable unset for a deployment
    without one. A folder with any content counts, so that a wrong model is an error and isn't hidden.
    """
    named = environment.get(VARIABLE, "")
    if not in_image.is_dir():
        if not named:
            raise ValueError(f"{VARIABLE} is not set, and the image has no model; expected the folder of a SavedModel")
        return Path(named)
    return Path(named) if named and _holds_something(Path(named)) else in_image


def _holds_something(folder: Path) -> bool:
    return folder.is_file() or (folder.is_dir() and any(folder.iterdir()))
