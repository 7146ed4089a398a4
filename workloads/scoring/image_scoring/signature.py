"""Finds a SavedModel, and derives from its signature `serving_default` how images and arrays become its input."""

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from image_scoring.pictures import Size

SIGNATURE = "serving_default"
ONE_INPUT = "This score.py only supports one input"
_FILES = ("saved_model.pb", "saved_model.pbtxt")
_CHANNELS = (1, 3, 4)
_NUMBERS = ("float", "bfloat", "int", "uint", "bool")  # how the names of TensorFlow's types begin
_NO_PIXELS = ("int8", "bool")  # 0 to 255 doesn't fit

Shape = tuple[int | None, ...] | None  # None: of any number of dimensions


class Takes(Enum):
    FILES = "encoded images"  # strings: the model decodes
    PIXELS = "images"  # this program decodes; arrays are taken too
    NUMBERS = "arrays"


class ModelInput(NamedTuple):
    """`shape`: of one item; `batch`: items per call, None for any number, 0 for one without batch dimension."""

    name: str
    dtype: str  # numpy's name; "string"
    batch: int | None
    shape: Shape
    takes: Takes
    size: Size | None  # of an image

    @property
    def is_floating(self) -> bool:
        return self.dtype.startswith(_NUMBERS[:2])

    def described(self) -> str:
        """Description of the input, for errors."""
        if self.takes is Takes.FILES:
            return "PNG or JPEG files: one as the body, or a JSON list of base64 strings"
        shape = "of any shape" if self.shape is None else "x".join("any" if size is None else str(size) for size in self.shape)
        array = f"an array of {self.dtype} {shape or 'numbers'} or a batch of them"
        return f"PNG or JPEG files, or {array}" if self.takes is Takes.PIXELS else array


def find(folder: Path) -> Path:
    """The folder of the only SavedModel in `folder` or below. ValueError for none or several."""
    found = {file.parent for name in _FILES for file in folder.glob(f"**/{name}")} if folder.is_dir() else set[Path]()
    if folder in found:
        return folder
    if len(found) == 1:
        return found.pop()
    what = ", ".join(str(one.relative_to(folder)) for one in sorted(found)[:5]) or "none"
    raise ValueError(f"{folder} has to hold one SavedModel (a folder with {_FILES[0]}); found: {what}")


def read(inputs: Mapping[str, tuple[str, Shape]]) -> ModelInput:
    """`inputs`: each with type and shape. ValueError for several inputs, with the message of the document's script."""
    if len(inputs) != 1:
        raise ValueError(ONE_INPUT)
    ((name, (dtype, shape)),) = inputs.items()
    if dtype == "string":
        return _strings(name, shape)
    if not dtype.startswith(_NUMBERS):
        raise ValueError(f"the input {name!r} is of {dtype}; expected strings, integers, floating-point numbers or booleans")
    if shape is None:
        return ModelInput(name, dtype, None, None, Takes.NUMBERS, None)
    size, has_batch = _image(shape) if dtype not in _NO_PIXELS else (None, False)
    if size is not None:
        item = shape[1:] if has_batch else shape
        return ModelInput(name, dtype, shape[0] if has_batch else 0, item, Takes.PIXELS, size)
    if not shape:
        return ModelInput(name, dtype, 0, (), Takes.NUMBERS, None)
    # Without an open first dimension a batch can't be distinguished from the array itself.
    has_batch = shape[0] is None or (shape[0] == 1 and len(shape) > 1)
    return ModelInput(name, dtype, shape[0] if has_batch else 0, shape[1:] if has_batch else shape, Takes.NUMBERS, None)


def _strings(name: str, shape: Shape) -> ModelInput:
    if shape is not None and len(shape) > 1:
        raise ValueError(f"the input {name!r} is an array of strings {shape}; expected one string, or a row of them")
    batch = None if shape is None else shape[0] if shape else 0
    return ModelInput(name, "string", batch, (), Takes.FILES, None)


def _image(shape: Sequence[int | None]) -> tuple[Size | None, bool]:
    """The size if the input is an image, and whether its first dimension is a batch."""
    match tuple(shape):
        case (_, rows, columns, channels) if channels in _CHANNELS:
            return Size(rows, columns, channels), True
        case (_, rows, columns, None):
            return Size(rows, columns, 3), True
        case (None, int(rows), int(columns)):
            return Size(rows, columns, 1), True
        case (rows, columns, channels) if channels in _CHANNELS:
            return Size(rows, columns, channels), False
        case _:
            return None, False
