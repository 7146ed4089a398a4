"""Writes scikit-learn's handwritten digits, which need no download, as IDX files in MNIST's format.

They are from the UCI data set "Optical Recognition of Handwritten Digits", 1,797 images of 8 x 8 pixels, and are never called
MNIST.
"""

import importlib.util
from pathlib import Path

import numpy as np

from . import idx, storage
from .files import TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS
from .refusal import RefusedError

HELD_OUT = 360  # a fifth of the digits, never trained on
# The split doesn't depend on --seed: it is the order of `train_test_split(test_size=360, random_state=20190417,
# stratify=labels)` of scikit-learn 1.9, with the held-out digits last. It is stored because importing scikit-learn
# takes a third as long as importing TensorFlow; a test compares it with scikit-learn's.
ORDER = Path(__file__).with_name("digits_order.npy")
_GREATEST = 16  # scikit-learn's pixels are counts from 0 to 16
_SCALE = 3  # 8 pixels become 24 ...
_BORDER = 2  # ... and 28 with a border, MNIST's size


def write_digits(folder: Path) -> None:
    """Writes the four files; the held-out digits have the same share of each class as the others."""
    rows = np.loadtxt(_table(), np.uint8, delimiter=",")[np.load(ORDER)]
    images, labels = _enlarged(rows[:, :-1].reshape(-1, 8, 8)), rows[:, -1]
    for kind, array in (
        (TRAIN_IMAGES, images[:-HELD_OUT]),
        (TRAIN_LABELS, labels[:-HELD_OUT]),
        (TEST_IMAGES, images[-HELD_OUT:]),
        (TEST_LABELS, labels[-HELD_OUT:]),
    ):
        content = idx.encode(idx.Array(array.shape, array.tobytes()))
        storage.write_whole(folder / kind.name, lambda path, content=content: path.write_bytes(content))


def _table() -> Path:
    """The file from which scikit-learn's `load_digits` reads: 64 pixels and a label in each line."""
    package = importlib.util.find_spec("sklearn")
    if package is None or not package.submodule_search_locations:
        raise RefusedError(["scikit-learn isn't installed: its digits are what is trained on without --data-dir and --download"])
    return Path(package.submodule_search_locations[0]) / "datasets" / "data" / "digits.csv.gz"


def _enlarged(images: np.ndarray) -> np.ndarray:
    """`(count, 8, 8)` numbers from 0 to 16 as `(count, 28, 28)` bytes from 0 to 255."""
    grey = np.rint(images * (255 / _GREATEST)).astype(np.uint8)
    larger = grey.repeat(_SCALE, axis=1).repeat(_SCALE, axis=2)
    return np.pad(larger, ((0, 0), (_BORDER, _BORDER), (_BORDER, _BORDER)))
