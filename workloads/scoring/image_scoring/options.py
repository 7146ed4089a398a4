"""Options from environment variables, with all defaults: limits of a request, scaling of pixels, and the model's folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

MODEL_VARIABLE = "AZUREML_MODEL_DIR"
# Beside score.py, as <name>/<version>: the server parses both from the path, as for a deployment's model.
MODEL_IN_IMAGE = Path(__file__).resolve().parents[1] / "model" / "1"
_MEBI = 1024 * 1024
_SCALES = {"0..1": (1 / 255, 0.0), "-1..1": (2 / 255, -1.0), "0..255": (1.0, 0.0)}  # factor and offset
_INPUTS = ("image", "text")


class Limits(NamedTuple):
    """`scale`: factor and offset of pixels of 0 to 255 for a model of floating-point numbers."""

    body_bytes: int = 32 * _MEBI
    body_seconds: float = 20.0  # from the first byte of a request to the last of its body
    images: int = 256  # in a request
    image_pixels: int = 25_000_000  # of one image; four times as many in a request
    scale: tuple[float, float] = _SCALES["0..1"]
    text: bool = False  # strings of a string input are text rather than encoded images

    @property
    def request_pixels(self) -> int:
        return 4 * self.image_pixels


def limits(environment: Mapping[str, str]) -> Limits:
    """The limits in `environment`. ValueError names every invalid variable with its allowed values."""
    problems: list[str] = []

    def whole(name: str, default: int, most: int) -> int:
        text = environment.get(name, str(default))
        if text.isascii() and text.isdigit() and 1 <= int(text) <= most:
            return int(text)
        problems.append(f"{name}={text!r}: expected a whole number from 1 to {most}")
        return default

    def one_of(name: str, default: str, allowed: tuple[str, ...]) -> str:
        text = environment.get(name, default)
        if text not in allowed:
            problems.append(f"{name}={text!r}: expected one of {', '.join(allowed)}")
            return default
        return text

    chosen = Limits(
        body_bytes=whole("SCORING_MAX_BODY_MIB", 32, 1024) * _MEBI,
        body_seconds=float(whole("SCORING_BODY_SECONDS", 20, 3600)),
        images=whole("SCORING_MAX_IMAGES", 256, 100_000),
        image_pixels=whole("SCORING_MAX_MEGAPIXELS", 25, 1000) * 1_000_000,
        scale=_SCALES[one_of("SCORING_SCALE", "0..1", tuple(_SCALES))],
        text=one_of("SCORING_INPUT", _INPUTS[0], _INPUTS) == "text",
    )
    if problems:
        raise ValueError("; ".join(problems))
    return chosen


def model_folder(environment: Mapping[str, str], in_image: Path = MODEL_IN_IMAGE) -> Path:
    """The deployment's model if there is one. ValueError without any model. A missing or empty folder counts as none: it is
    assumed that the service leaves the variable unset for a deployment without one. A wrong model is an error in the log."""
    named = environment.get(MODEL_VARIABLE, "")
    if not in_image.is_dir():
        if not named:
            raise ValueError(f"{MODEL_VARIABLE} is not set, and the image has no model; expected the folder of a SavedModel")
        return Path(named)
    return Path(named) if named and _holds_something(Path(named)) else in_image


def _holds_something(folder: Path) -> bool:
    return folder.is_file() or (folder.is_dir() and any(folder.iterdir()))
