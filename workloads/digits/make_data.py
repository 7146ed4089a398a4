"""Writes the training data and the sample images of this folder, from scikit-learn's digits.

Runs in the environment of workloads/mnist: `python workloads/digits/make_data.py`. `data/` has four files in MNIST's format,
`samples/` the first held-out digit of each class as PNG, so that they aren't hand-picked.
"""

import gzip
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image  # which Matplotlib brings

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mnist"))

from mnist_training import files, sources

HERE = Path(__file__).resolve().parent


def main() -> None:
    with TemporaryDirectory() as folder:
        sources.write_digits(Path(folder))
        read = files.read_files(Path(folder))
        (HERE / "data").mkdir(exist_ok=True)
        for kind in files.KINDS:
            packed = gzip.compress((Path(folder) / kind.name).read_bytes(), mtime=0)
            (HERE / "data" / f"{kind.name}.gz").write_bytes(packed)
    images = np.frombuffer(read.test_images.values, np.uint8).reshape(read.test_images.shape)
    (HERE / "samples").mkdir(exist_ok=True)
    for digit in range(files.CLASSES):
        Image.fromarray(images[read.test_labels.values.index(digit)]).save(HERE / "samples" / f"{digit}.png", optimize=True)
    print(f"fingerprint of the data: {read.fingerprint}")


if __name__ == "__main__":
    main()
