"""Reads and validates the four files of a data set in MNIST's format: names, checksums, shapes and labels.

`RefusedError` has all problems of all four files.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from . import idx
from .refusal import RefusedError

CLASSES = 10
MNIST = "MNIST"
DIGITS = "scikit-learn digits"
UNNAMED = "IDX files"  # name of other data


@dataclass(frozen=True, slots=True)
class FileKind:
    """One of the four files.

    The checksums are SHA-256. `gzip_sha256` is that of the published file, as torchvision's data set prototype states it
    (pytorch/vision, torchvision/prototype/datasets/_builtin/mnist.py); `sha256` that of its unpacked content.
    """

    name: str
    magic: int
    gzip_sha256: str
    sha256: str


TRAIN_IMAGES = FileKind(
    "train-images-idx3-ubyte",
    idx.IMAGES_MAGIC,
    "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
)
TRAIN_LABELS = FileKind(
    "train-labels-idx1-ubyte",
    idx.LABELS_MAGIC,
    "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
)
TEST_IMAGES = FileKind(
    "t10k-images-idx3-ubyte",
    idx.IMAGES_MAGIC,
    "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
)
TEST_LABELS = FileKind(
    "t10k-labels-idx1-ubyte",
    idx.LABELS_MAGIC,
    "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
)
KINDS = (TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS)
_DIGITS_FINGERPRINT = "02c362460dcd2249"  # of the four files that `digits` writes


@dataclass(frozen=True, slots=True)
class Files:
    """Four consistent arrays.

    `is_mnist`: every byte is that of the published data set; `fingerprint`: of the uncompressed content.
    """

    train_images: idx.Array
    train_labels: idx.Array
    test_images: idx.Array
    test_labels: idx.Array
    is_mnist: bool
    fingerprint: str

    @property
    def name(self) -> str:
        """The name of the data set, by its content."""
        if self.is_mnist:
            return MNIST
        return DIGITS if self.fingerprint == _DIGITS_FINGERPRINT else UNNAMED


def read_files(folder: Path) -> Files:
    """Reads the four files, plain or with `.gz`, and prints `Extracting <path>` for each one as TensorFlow's tutorial did."""
    if not folder.is_dir():
        raise RefusedError([f"{folder}: not a folder; expected one with {', '.join(kind.name for kind in KINDS)} (.gz or not)"])
    problems: list[str] = []
    arrays: dict[FileKind, idx.Array] = {}
    paths: dict[FileKind, Path] = {}
    for kind in KINDS:
        path = _path_of(folder, kind)
        if path is None:
            problems.append(f"{folder / kind.name}: not found, neither plain nor as {kind.name}.gz")
            continue
        paths[kind] = path
        print(f"Extracting {path}", flush=True)
        try:
            arrays[kind] = idx.read(path, kind.magic)
        except idx.IdxError as error:
            problems.append(f"{path}: {error}")
        except OSError as error:
            problems.append(f"{path}: can't be read: {error.strerror}")
    problems += _pair_problems(arrays, paths, TRAIN_IMAGES, TRAIN_LABELS)
    problems += _pair_problems(arrays, paths, TEST_IMAGES, TEST_LABELS)
    problems += _size_problems(arrays, paths)
    if problems:
        raise RefusedError(problems)
    digests = [hashlib.sha256(idx.encode(arrays[kind])).hexdigest() for kind in KINDS]
    return Files(
        *(arrays[kind] for kind in KINDS),
        is_mnist=digests == [kind.sha256 for kind in KINDS],
        fingerprint=hashlib.sha256("".join(digests).encode()).hexdigest()[:16],
    )


def _path_of(folder: Path, kind: FileKind) -> Path | None:
    candidates = (folder / f"{kind.name}.gz", folder / kind.name)
    return next((path for path in candidates if path.exists()), None)


def _pair_problems(
    arrays: dict[FileKind, idx.Array], paths: dict[FileKind, Path], images: FileKind, labels: FileKind
) -> list[str]:
    """Problems of a file of labels, by itself and with its images."""
    if labels not in arrays:
        return []
    problems: list[str] = []
    values = arrays[labels].values
    if values and max(values) >= CLASSES:
        wrong = next(position for position, value in enumerate(values) if value >= CLASSES)
        count = sum(value >= CLASSES for value in values)
        problems.append(
            f"{paths[labels]}: {count} of {len(values)} labels are out of range, the first is {values[wrong]} at {wrong}; "
            f"expected 0 to {CLASSES - 1}"
        )
    if images in arrays and arrays[images].shape[0] != len(values):
        problems.append(
            f"{paths[labels]}: {len(values)} labels; expected {arrays[images].shape[0]}, one for each image in {paths[images]}"
        )
    return problems


def _size_problems(arrays: dict[FileKind, idx.Array], paths: dict[FileKind, Path]) -> list[str]:
    """Problems with the number and size of images."""
    problems: list[str] = []
    for kind in (TRAIN_IMAGES, TEST_IMAGES):
        if kind in arrays and not arrays[kind].values:
            text = " x ".join(str(size) for size in arrays[kind].shape)
            problems.append(f"{paths[kind]}: holds no pixels ({text}); expected at least one image of at least one pixel")
    if TRAIN_IMAGES in arrays and TEST_IMAGES in arrays:
        train, test = arrays[TRAIN_IMAGES].shape[1:], arrays[TEST_IMAGES].shape[1:]
        if train != test:
            problems.append(
                f"{paths[TEST_IMAGES]}: images of {test[0]} x {test[1]}; "
                f"expected {train[0]} x {train[1]}, as in {paths[TRAIN_IMAGES]}"
            )
    return problems
