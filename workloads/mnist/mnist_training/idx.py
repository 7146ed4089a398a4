"""The IDX file format of the MNIST files: arrays of unsigned bytes with a header, optionally compressed with gzip.

Layout, as yann.lecun.com/exdb/mnist described it: two zero bytes, one byte for the type of the values (8 for unsigned bytes),
one byte for the number of dimensions, then each dimension as four bytes and the values, the last dimension running fastest.
All numbers are big-endian, so the first four bytes read as 0x00000801 for labels and 0x00000803 for images.
"""

import gzip
import math
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

LABELS_MAGIC = 0x00000801
IMAGES_MAGIC = 0x00000803
_UNSIGNED_BYTES = 0x0800  # the upper bytes of every magic number that is read here
_MOST_DIMENSIONS = 255
_GZIP_START = b"\x1f\x8b"
_CONTENT = {LABELS_MAGIC: "labels", IMAGES_MAGIC: "images"}


class IdxError(ValueError):
    """The file isn't the expected IDX file. The message has no path, which the caller adds."""


@dataclass(frozen=True, slots=True)
class Array:
    """Unsigned bytes in the order of the file, with their shape: `(count,)` for labels, `(count, rows, columns)` for images."""

    shape: tuple[int, ...]
    values: bytes

    def __post_init__(self) -> None:
        if len(self.values) != math.prod(self.shape):
            raise ValueError(f"shape {self.shape} holds {math.prod(self.shape)} values, {len(self.values)} were given")
        if not 1 <= len(self.shape) <= _MOST_DIMENSIONS:
            raise ValueError(f"an IDX file has 1 to {_MOST_DIMENSIONS} dimensions, {len(self.shape)} were given")


def encode(array: Array) -> bytes:
    """The bytes of an uncompressed IDX file."""
    return struct.pack(f">I{len(array.shape)}I", _UNSIGNED_BYTES + len(array.shape), *array.shape) + array.values


def decode(content: bytes, expected_magic: int) -> Array:
    """The array in `content`, compressed or not. `expected_magic` is `IMAGES_MAGIC` or `LABELS_MAGIC`."""
    content = _decompressed(content)
    if len(content) < 4:
        raise IdxError(f"{len(content)} bytes, too short for an IDX header; expected {_described(expected_magic)}")
    (magic,) = struct.unpack_from(">I", content)
    if magic != expected_magic:
        raise IdxError(f"magic number {_described(magic)}; expected {_described(expected_magic)}{_swap_hint(magic)}")
    dimensions = magic & 0xFF
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise IdxError(f"truncated: {len(content)} bytes; expected a header of {header} bytes")
    shape = struct.unpack_from(f">{dimensions}I", content, 4)
    promised = math.prod(shape)
    if len(content) - header != promised:
        damage = "truncated" if len(content) - header < promised else "too long"
        dimensions_text = " x ".join(str(size) for size in shape)
        raise IdxError(f"{damage}: {len(content) - header} values; expected {dimensions_text} = {promised}, as its header says")
    return Array(shape, content[header:])


def read(path: Path, expected_magic: int) -> Array:
    """The array in the file at `path`. Errors: `IdxError` for the content, `OSError` for the file."""
    return decode(path.read_bytes(), expected_magic)


def _decompressed(content: bytes) -> bytes:
    # By content, not by name: browsers and tools unpack .gz files without renaming them.
    if not content.startswith(_GZIP_START):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise IdxError(f"damaged or truncated gzip data ({len(content)} bytes): {error}; expected a whole gzip file") from error


def _described(magic: int) -> str:
    return f"0x{magic:08x} ({_CONTENT[magic]})" if magic in _CONTENT else f"0x{magic:08x}"


def _swap_hint(magic: int) -> str:
    return f"; the file holds {_CONTENT[magic]}: images and labels may be swapped" if magic in _CONTENT else ""
