"""Image files: recognised by their first bytes, measured before decoding, and decoded to the model's size, as arrays of 0 to 255
(rows, columns, channels)."""

import io
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, UnidentifiedImageError

from image_scoring.exchange import RefusedError
from image_scoring.options import Limits

Image.preinit()  # loads the decoders now rather than with the first image
Image.MAX_IMAGE_PIXELS = None  # `measure` enforces the limits; Pillow's would only warn

FORMATS = ("PNG", "JPEG")
EXPECTED = "whole PNG or JPEG files"
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")


class Size(NamedTuple):
    """None: that of the image."""

    rows: int | None
    columns: int | None
    channels: int


def is_image(content: bytes) -> bool:
    return content.startswith(_SIGNATURES)


def measure(files: Sequence[bytes], limits: Limits) -> list[Image.Image]:
    """Opens the images without decoding. RefusedError for other formats, and for too many pixels."""
    opened: list[Image.Image] = []
    pixels = 0
    for number, content in enumerate(files):
        image = _open(content, number)
        pixels += image.width * image.height
        if image.width * image.height > limits.image_pixels or pixels > limits.request_pixels:
            raise RefusedError(
                f"image {number} is too large: {image.width} x {image.height} pixels",
                f"at most {limits.image_pixels} pixels an image and {limits.request_pixels} a request",
                413,
            )
        opened.append(image)
    return opened


def _open(content: bytes, number: int) -> Image.Image:
    try:
        return Image.open(io.BytesIO(content), formats=FORMATS)
    except UnidentifiedImageError:
        what = "is broken" if is_image(content) else "is neither a PNG nor a JPEG file"
    except Exception as error:  # noqa: BLE001  # for broken files Pillow raises almost anything
        what = _broken(error)
    raise RefusedError(f"image {number} {what}", EXPECTED)


def pixels(images: Sequence[Image.Image], size: Size) -> np.ndarray:
    """The images as one array of bytes (images, rows, columns, channels), each at `size`."""
    if not (size.rows and size.columns) and len({image.size for image in images}) > 1:
        raise RefusedError("the images differ in size", "images of one size in a request: the model takes every size")
    first = _decode(images[0], size, 0)
    batch = np.empty((len(images), *first.shape), np.uint8)
    batch[0] = first
    for number in range(1, len(images)):
        batch[number] = _decode(images[number], size, number)
    return batch


def _decode(image: Image.Image, size: Size, number: int) -> np.ndarray:
    mode = _MODES[size.channels]
    target = (size.columns or image.width, size.rows or image.height)
    try:
        if image.size != target:
            image.draft(mode, target)  # a JPEG is decoded to the nearest larger eighth of its size
        if image.mode.startswith("I"):  # 16 bits a pixel
            image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        image = image.convert(mode) if image.mode != mode else image
        image = image.resize(target, Image.Resampling.BILINEAR) if image.size != target else image
        return np.asarray(image).reshape(target[1], target[0], size.channels)
    except Exception as error:  # noqa: BLE001  # as above
        raise RefusedError(f"image {number} {_broken(error)}", EXPECTED) from None


def _broken(error: Exception) -> str:
    return f"is broken: {error}" if str(error) else "is broken"
