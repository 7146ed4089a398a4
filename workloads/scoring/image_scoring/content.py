"""Converts a request's images or array to the model's input. `RefusedError` for invalid content."""

import binascii
from collections.abc import Sized
from math import prod

import numpy as np

from image_scoring import arrays, pictures
from image_scoring.exchange import RefusedError
from image_scoring.options import Limits
from image_scoring.signature import ModelInput, Takes

_NPY = b"\x93NUMPY"
_IMAGES = ("image/png", "image/jpeg", "image/jpg")
_JSON = ("application/json", "text/json")
_ARRAYS = ("application/x-npy", "application/npy")
_SAYS_NOTHING = ("", "application/octet-stream")
_TYPES = "Content-Type image/png, image/jpeg, application/json or application/x-npy"


def read(content_type: str, body: bytes, model: ModelInput, limits: Limits) -> np.ndarray | list[bytes]:
    """The items of the request: an array whose first dimension counts them, or a list of strings."""
    kind = content_type.split(";")[0].strip().lower()
    if kind in _SAYS_NOTHING:
        kind = _told(body)
    if kind in _IMAGES:
        return _images([body], model, limits)
    if kind in _ARRAYS:
        return _array(arrays.read_npy(body), model, limits, stored=True)
    if kind not in _JSON:
        raise RefusedError(f"the content type is {content_type[:60]!r}", _TYPES, 415)
    read = arrays.read_json(body, model.dtype.startswith(("int", "uint")), _most_values(model, limits))
    if isinstance(read, np.ndarray):
        return _array(read, model, limits, stored=False)
    _count(read, limits)
    if model.takes is Takes.FILES and limits.text:
        return [text.encode() for text in read]
    return _images([_unpacked(text, number) for number, text in enumerate(read)], model, limits)


def _told(body: bytes) -> str:
    if pictures.is_image(body):
        return _IMAGES[0]
    if body.startswith(_NPY):
        return _ARRAYS[0]
    if body.lstrip()[:1] in (b"{", b"["):
        return _JSON[0]
    raise RefusedError("the body is not PNG, JPEG, .npy or JSON, and no content type is set", _TYPES, 415)


def _unpacked(text: str, number: int) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:  # also text beyond ASCII
        raise RefusedError(f"item {number} is not base64: {error}", "each image as a base64 string") from None


def _most_values(model: ModelInput, limits: Limits) -> int | None:
    """Maximum number of values of a request: numbers, or images as strings. None if the model's input has no fixed shape."""
    if model.shape is None or None in model.shape:
        return None if model.takes is not Takes.FILES else limits.images
    return limits.images * prod(size for size in model.shape if size)


def _count(items: Sized, limits: Limits) -> None:
    if len(items) > limits.images:
        raise RefusedError(f"the request has {len(items)} items", f"at most {limits.images} a request", 413)


def _images(files: list[bytes], model: ModelInput, limits: Limits) -> np.ndarray | list[bytes]:
    if model.takes is Takes.NUMBERS:
        raise RefusedError("the model takes no images", model.described(), 415)
    opened = pictures.measure(files, limits)
    if model.size is None:
        return files
    return _scaled(pictures.pixels(opened, model.size), model, limits)


def _scaled(batch: np.ndarray, model: ModelInput, limits: Limits) -> np.ndarray:
    """Pixels as the model's numbers, in its shape."""
    if model.is_floating:
        factor, added = limits.scale
        batch = batch.astype(np.float32)
        batch *= factor
        if added:
            batch += added
    batch = batch.astype(model.dtype, copy=False)
    return batch[..., 0] if model.shape is not None and len(model.shape) == 2 else batch


def _array(array: np.ndarray, model: ModelInput, limits: Limits, stored: bool) -> np.ndarray:
    """An array unchanged, except for pixels stored as bytes, which are scaled like those of a PNG."""
    if model.takes is Takes.FILES:
        raise RefusedError("the model takes no arrays", model.described())
    batch = _batch(array, model)
    _count(batch, limits)
    if stored and array.dtype == np.uint8 and model.takes is Takes.PIXELS and model.is_floating:
        return _scaled(batch.reshape(*batch.shape[:3], -1), model, limits)
    return _converted(batch, model)


def _batch(array: np.ndarray, model: ModelInput) -> np.ndarray:
    """The array with a batch dimension, which is added to a single item."""
    if model.shape is None:
        return array if array.ndim else array[None]
    fits = [
        len(shape) == len(model.shape) and all(want in (None, have) for want, have in zip(model.shape, shape, strict=True))
        for shape in (array.shape, array.shape[1:])
    ]
    if array.ndim and fits[1]:
        return array
    if fits[0]:
        return array[None]
    raise RefusedError(f"the array is {'x'.join(map(str, array.shape)) or 'a single number'}", model.described())


def _converted(batch: np.ndarray, model: ModelInput) -> np.ndarray:
    kinds = "iuf" if model.is_floating else "b" if model.dtype == "bool" else "iu"
    if batch.dtype.kind not in kinds:
        raise RefusedError(f"the array is of {batch.dtype.name}", model.described())
    if kinds == "iu":
        least, most = np.iinfo(model.dtype).min, np.iinfo(model.dtype).max
        if batch.min() < least or batch.max() > most:
            raise RefusedError("the array holds numbers that don't fit", f"whole numbers from {least} to {most}")
    with np.errstate(over="ignore"):
        converted = batch.astype(model.dtype, copy=False)
    if model.is_floating and not np.isfinite(converted).all():
        raise RefusedError("the array holds NaN, infinity or a number too large", f"finite numbers of {model.dtype}")
    return converted
