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
    read: dict[FileKind, tuple[Path, idx.Array]] = {}
    for kind in KINDS:
        path = next((path for path in (folder / f"{kind.name}.gz", folder / kind.name) if path.exists()), None)
        if path is None:
            problems.append(f"{folder / kind.name}: not found, neither plain nor as {kind.name}.gz")
            continue
        print(f"Extracting {path}", flush=True)
        try:
            read[kind] = path, idx.read(path, kind.magic)
        except idx.IdxError as error:
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
    digests = [hashlib.sha256(idx.encode(array)).hexdigest() for array in arrays]
    return Files(
        *arrays,
        is_mnist=digests == [kind.sha256 for kind in KINDS],
        fingerprint=hashlib.sha256("".join(digests).encode()).hexdigest()[:16],
    )


def _label_problems(path: Path, labels: idx.Array, images: tuple[Path, idx.Array] | None) -> list[str]:
    """Problems of a file of labels, by itself and with its images."""
    problems: list[str] = []
    wrong = [position for position, value in enumerate(labels.values) if value >= CLASSES]
    if wrong:
        problems.append(
            f"{path}: {len(wrong)} of {len(labels.values)} labels are out of range, the first is {labels.values[wrong[0]]} at "
            f"{wrong[0]}; expected 0 to {CLASSES - 1}"
        )
    if images is not None and images[1].shape[0] != len(labels.values):
        count = f"expected {images[1].shape[0]}, one for each image in {images[0]}"
        problems.append(f"{path}: {len(labels.values)} labels; {count}")
    return problems


def _size_problems(read: dict[FileKind, tuple[Path, idx.Array]]) -> list[str]:
    """Problems with the number and size of images."""
    found = [read[kind] for kind in (TRAIN_IMAGES, TEST_IMAGES) if kind in read]
    problems = [
        f"{path}: holds no pixels ({' x '.join(map(str, array.shape))}); expected at least one image of at least one pixel"
        for path, array in found
        if not array.values
    ]
    if len(found) == 2:
        (path, train), (test_path, test) = found
        if train.shape[1:] != test.shape[1:]:
            expected = f"expected {train.shape[1]} x {train.shape[2]}, as in {path}"
            problems.append(f"{test_path}: images of {test.shape[1]} x {test.shape[2]}; {expected}")
    return problems
