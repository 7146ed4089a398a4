"""Reads and validates the four files of a data set in MNIST's format: header, names, checksums, shapes and labels.

Layout of a file, as yann.lecun.com/exdb/mnist described it: two zero bytes, one byte for the type of the values (8 for unsigned
bytes), one byte for the number of dimensions, then each dimension as four bytes and the values, the last dimension running
fastest. All numbers are big-endian, so the first four bytes read as 0x00000801 for labels and 0x00000803 for images. A file may
be compressed with gzip. `RefusedError` has all problems of all four files.
"""

import gzip
import hashlib
import math
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from .refusal import RefusedError

LABELS_MAGIC = 0x00000801
IMAGES_MAGIC = 0x00000803
_UNSIGNED_BYTES = 0x0800  # the upper bytes of every magic number that is read here
_GZIP_START = b"\x1f\x8b"
_CONTENT = {LABELS_MAGIC: "labels", IMAGES_MAGIC: "images"}


class IdxError(ValueError):
    """The file isn't the expected IDX file. The message has no path, which the caller adds."""


class Array(NamedTuple):
    """Unsigned bytes in the order of the file, with their shape: `(count,)` for labels, `(count, rows, columns)` for images."""

    shape: tuple[int, ...]
    values: bytes


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
        raise IdxError(f"{damage}: {len(content) - header} values; expected {_sizes(shape)} = {promised}, as its header says")
    return Array(shape, content[header:])


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


CLASSES = 10
MNIST = "MNIST"
DIGITS = "scikit-learn digits"
UNNAMED = "IDX files"  # name of other data
_NAMES = {"c65580678af93f1e": MNIST, "02c362460dcd2249": DIGITS}  # by the fingerprint


class FileKind(NamedTuple):
    """One of the four files. `gzip_sha256`: of the published one, as torchvision's data set prototype states it
    (pytorch/vision, torchvision/prototype/datasets/_builtin/mnist.py)."""

    name: str
    gzip_sha256: str

    @property
    def magic(self) -> int:
        return IMAGES_MAGIC if "images" in self.name else LABELS_MAGIC


TRAIN_IMAGES = FileKind("train-images-idx3-ubyte", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609")
TRAIN_LABELS = FileKind("train-labels-idx1-ubyte", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c")
TEST_IMAGES = FileKind("t10k-images-idx3-ubyte", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6")
TEST_LABELS = FileKind("t10k-labels-idx1-ubyte", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6")
KINDS = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)


class Files(NamedTuple):
    """Four consistent arrays, with a fingerprint of their content."""

    train_images: Array
    train_labels: Array
    test_images: Array
    test_labels: Array
    fingerprint: str

    @property
    def name(self) -> str:
        """The name of the data set, by its content."""
        return _NAMES.get(self.fingerprint, UNNAMED)


def read_files(folder: Path) -> Files:
    """Reads the four files, plain or with `.gz`, and prints `Extracting <path>` for each one as TensorFlow's tutorial did."""
    if not folder.is_dir():
        raise RefusedError([f"{folder}: not a folder; expected one with {', '.join(kind.name for kind in KINDS)} (.gz or not)"])
    problems: list[str] = []
    read: dict[FileKind, tuple[Path, Array]] = {}
    for kind in KINDS:
        path = next((path for path in (folder / f"{kind.name}.gz", folder / kind.name) if path.exists()), None)
        if path is None:
            problems.append(f"{folder / kind.name}: not found, neither plain nor as {kind.name}.gz")
            continue
        print(f"Extracting {path}", flush=True)
        try:
            read[kind] = path, decode(path.read_bytes(), kind.magic)
        except IdxError as error:
            problems.append(f"{path}: {error}")
        except OSError as error:
            problems.append(f"{path}: can't be read: {error.strerror}")
    for images, labels in ((TRAIN_IMAGES, TRAIN_LABELS), (TEST_IMAGES, TEST_LABELS)):
        if labels in read:
            problems += _label_problems(*read[labels], read.get(images))
    problems += _size_problems(read)
    if problems:
        raise RefusedError(problems)
    arrays = [read[kind][1] for kind in KINDS]
    digests = "".join(hashlib.sha256(encode(array)).hexdigest() for array in arrays)
    return Files(*arrays, fingerprint=hashlib.sha256(digests.encode()).hexdigest()[:16])


def _label_problems(path: Path, labels: Array, images: tuple[Path, Array] | None) -> Iterator[str]:
    """Problems of a file of labels, by itself and with its images."""
    count = len(labels.values)
    wrong = [position for position, value in enumerate(labels.values) if value >= CLASSES]
    if wrong:
        first = f"the first is {labels.values[wrong[0]]} at {wrong[0]}; expected 0 to {CLASSES - 1}"
        yield f"{path}: {len(wrong)} of {count} labels are out of range, {first}"
    if images is not None and images[1].shape[0] != count:
        yield f"{path}: {count} labels; expected {images[1].shape[0]}, one for each image in {images[0]}"


def _size_problems(read: dict[FileKind, tuple[Path, Array]]) -> Iterator[str]:
    """Problems with the number and size of images."""
    found = [read[kind] for kind in (TRAIN_IMAGES, TEST_IMAGES) if kind in read]
    for path, array in found:
        if not array.values:
            yield f"{path}: holds no pixels ({_sizes(array.shape)}); expected at least one image of at least one pixel"
    if len(found) == 2 and found[0][1].shape[1:] != found[1][1].shape[1:]:
        (path, train), (test_path, test) = found
        yield f"{test_path}: images of {_sizes(test.shape[1:])}; expected {_sizes(train.shape[1:])}, as in {path}"


def _sizes(shape: Iterable[int]) -> str:
    return " x ".join(map(str, shape))
