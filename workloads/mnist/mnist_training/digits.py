"""Real handwritten digits that need no download: scikit-learn's, written as IDX files in MNIST's form.

In: a folder. Out: the four files in it. The digits are those of the UCI data set "Optical Recognition of Handwritten Digits",
1,797 images of 8 x 8 pixels; they are not MNIST and never called so.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from . import idx, storage
from .files import TEST_IMAGES, TEST_LABELS, TRAIN_IMAGES, TRAIN_LABELS

HELD_OUT = 360  # a fifth of the digits, never trained on
_SPLIT_SEED = 20190417  # fixed, and apart from --seed: which digits are held out must not depend on the run
_GREATEST = 16  # scikit-learn's pixels are counts from 0 to 16
_SCALE = 3  # 8 pixels become 24 ...
_BORDER = 2  # ... and 28 with a border, MNIST's size


def write_digits(folder: Path) -> None:
    """Writes the four files, each class in the same share among the held-out digits as among the others."""
    digits = load_digits()
    images = _enlarged(digits.images)
    labels = digits.target.astype(np.uint8)
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, labels, test_size=HELD_OUT, random_state=_SPLIT_SEED, stratify=labels
    )
    for kind, array in (
        (TRAIN_IMAGES, train_images),
        (TRAIN_LABELS, train_labels),
        (TEST_IMAGES, test_images),
        (TEST_LABELS, test_labels),
    ):
        content = idx.encode(idx.Array(array.shape, array.tobytes()))
        storage.write_whole(folder / kind.name, lambda path, content=content: path.write_bytes(content))


def _enlarged(images: np.ndarray) -> np.ndarray:
    """`(count, 8, 8)` numbers from 0 to 16 as `(count, 28, 28)` bytes from 0 to 255."""
    grey = np.rint(images * (255 / _GREATEST)).astype(np.uint8)
    larger = grey.repeat(_SCALE, axis=1).repeat(_SCALE, axis=2)
    return np.pad(larger, ((0, 0), (_BORDER, _BORDER), (_BORDER, _BORDER)))
