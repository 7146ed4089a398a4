"""Parses arrays of numbers in request bodies: JSON, and numpy's file format. simdjson parses into a buffer of numbers, whose
shape is derived from the brackets. Parsed numbers take up to 30 times the memory of their text, so values are counted first."""

import io
import re
import threading
from math import prod
from typing import Any

import numpy as np
import simdjson

from image_scoring.exchange import RefusedError

JSON_FORMS = '{"inputs": X}, {"instances": X} or just X, where X is an array of numbers or a list of images in base64'
NPY_FORM = "numpy's .npy format, version 1, of integers, floating-point numbers or booleans"
_KEYS = ("inputs", "instances")
_MOST_DIMENSIONS = 8
_KEPT_PARSER_BYTES = 4 * 1024 * 1024  # a parser keeps buffers of several times the largest body it has seen
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[],"))
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)

# Reusable parsers: simdjson rejects a second document while parts of the first are in use. Append and pop are atomic.
_SPARE: list[simdjson.Parser] = []
_LARGE = threading.Lock()


def read_json(body: bytes, whole_numbers: bool, most: int | None) -> np.ndarray | list[str]:
    """An array, of int64 if `whole_numbers` else of float64; or the strings of a list of images. `most`: maximum number of
    values, None for no limit."""
    if most is not None and _holds_more(body, most):
        raise RefusedError("the JSON holds too many values", f"at most {most}, in {JSON_FORMS}", 413)
    if len(body) <= _KEPT_PARSER_BYTES:
        return _read_json(body, whole_numbers)
    with _LARGE:  # one at a time: 30 MB of JSON take half a gigabyte for a moment
        return _read_json(body, whole_numbers)


def _holds_more(body: bytes, most: int) -> bool:
    """Whether it has more than `most` values, by the commas between them, and by the quotes of strings, at most four per item.
    Strings are parsed only if commas in them could matter."""
    if body.count(b",") < most:
        return False
    return body.count(b'"') - body.count(b'\\"') > 4 * most + 4 or _STRING.sub(b"", body).count(b",") >= most


def _read_json(body: bytes, whole_numbers: bool) -> np.ndarray | list[str]:
    is_kept = len(body) <= _KEPT_PARSER_BYTES
    parser = _SPARE.pop() if _SPARE and is_kept else simdjson.Parser()
    try:
        document = parser.parse(body)
    except (ValueError, RuntimeError) as error:  # a UnicodeDecodeError is a ValueError
        raise RefusedError(f"not JSON: {_reason(error)}", JSON_FORMS) from None
    value = _value(document)
    read = _strings(value)
    if read is None:
        read = _numbers(value, body, whole_numbers)
    del document, value  # a parser can be used again once nothing points into it; after an exception something may
    if is_kept:
        _SPARE.append(parser)
    return read


def _reason(error: Exception) -> str:
    """simdjson's message without error names. NaN and Infinity, which Python's json writes, end here too."""
    text = str(error).split(": ", 1)[-1].split(".")[0].strip()
    return f"{text} (NaN and Infinity aren't JSON)"


def _value(document: Any) -> Any:
    if not isinstance(document, simdjson.Object):
        return document
    keys = list(document.keys())
    if len(keys) != 1 or keys[0] not in _KEYS:
        shown = ", ".join(repr(key[:40]) for key in keys[:5]) or "none"
        raise RefusedError(f"the JSON object has the keys {shown}", JSON_FORMS)
    return document[keys[0]]


def _strings(value: Any) -> list[str] | None:
    """The strings of a list of images, each plain or {"b64": "…"}; None for anything else."""
    if isinstance(value, (str, simdjson.Object)):
        value = [value]
    if not isinstance(value, (list, simdjson.Array)) or not len(value) or not isinstance(value[0], (str, simdjson.Object)):
        return None
    strings: list[str] = []
    for number, each in enumerate(value):
        if isinstance(each, simdjson.Object):
            each = each["b64"] if list(each.keys()) == ["b64"] else None
        if not isinstance(each, str):
            raise RefusedError(f"item {number} of the list is not a string", 'each image as a base64 string or {"b64": "…"}')
        strings.append(each)
    return strings


def _numbers(value: Any, body: bytes, whole_numbers: bool) -> np.ndarray:
    if not isinstance(value, simdjson.Array):
        raise RefusedError("the JSON has no array", JSON_FORMS)
    shape = _shape(value)
    kind, dtype = ("i", np.int64) if whole_numbers else ("d", np.float64)
    try:
        flat = np.frombuffer(value.as_buffer(of_type=kind), dtype)
    except (TypeError, ValueError, RuntimeError):
        what = "whole numbers" if whole_numbers else "numbers"
        raise RefusedError(f"the array holds something other than {what}", f"an array of only {what}") from None
    # Sizes first: the brackets of a shape that fits are never longer than the body.
    if prod(shape) != flat.size or not _is_rectangular(body, shape):
        raise RefusedError("the array is ragged: its rows differ in length or depth", "rows of one length at each depth")
    return flat.reshape(shape)


def _shape(value: Any) -> tuple[int, ...]:
    """The shape according to the first item at each depth."""
    shape: list[int] = []
    while isinstance(value, simdjson.Array):
        shape.append(len(value))
        if len(shape) > _MOST_DIMENSIONS:
            raise RefusedError(f"the array is more than {_MOST_DIMENSIONS} deep", JSON_FORMS)
        if not shape[-1]:
            raise RefusedError("the array is empty", "at least one number")
        value = value[0]
    return tuple(shape)


def _is_rectangular(body: bytes, shape: tuple[int, ...]) -> bool:
    """Whether brackets and commas of the body are those of an array of this shape, which contains only numbers."""
    brackets = body.translate(None, _NOT_BRACKETS)
    expected = b""
    for size in reversed(shape):
        expected = b"[" + (expected + b",") * (size - 1) + expected + b"]"  # a join takes 80 bytes for each
    return brackets == expected


def read_npy(body: bytes) -> np.ndarray:
    """The array of a .npy file; it shares the body's memory and is read-only."""
    file = io.BytesIO(body)
    try:
        version = np.lib.format.read_magic(file)
        shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file) if version == (1, 0) else ((), False, None)
    except Exception as error:  # noqa: BLE001  # numpy evaluates the header as Python, which may raise anything
        reason = str(error) or type(error).__name__
        raise RefusedError(f"not a .npy file: {reason.splitlines()[0][:100]}", NPY_FORM) from None
    if dtype is None:
        raise RefusedError("a version of .npy other than 1", NPY_FORM)
    if dtype.kind not in "biuf":
        raise RefusedError(f"the .npy file holds {dtype.name}", NPY_FORM)
    if len(shape) > _MOST_DIMENSIONS or min(shape, default=1) < 1:
        raise RefusedError(f"the array of the .npy file is {shape}", f"1 to {_MOST_DIMENSIONS} dimensions and no empty one")
    start, needed = file.tell(), prod(shape) * dtype.itemsize
    if len(body) - start != needed:
        raise RefusedError(f"the .npy file has {len(body) - start} bytes of values", f"{needed} for {dtype.name} {shape}")
    flat = np.frombuffer(body, dtype, offset=start)
    return flat.reshape(shape, order="F" if by_columns else "C")
