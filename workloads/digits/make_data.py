"""Writes the training data and the sample images of this folder, from scikit-learn's digits.

Runs in the environment of workloads/mnist: `python workloads/digits/make_data.py`. `data/` has four files in MNIST's format,
`samples/` the first held-out digit of each class as PNG, so that they aren't hand-picked.
"""

import gzip
import struct
import sys
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mnist"))

from mnist_training import digits, files

HERE = Path(__file__).resolve().parent


def main() -> None:
    with TemporaryDirectory() as folder:
        digits.write_digits(Path(folder))
        read = files.read_files(Path(folder))
        (HERE / "data").mkdir(exist_ok=True)
        for kind in files.KINDS:
            packed = gzip.compress((Path(folder) / kind.name).read_bytes(), mtime=0)
            (HERE / "data" / f"{kind.name}.gz").write_bytes(packed)
    images = np.frombuffer(read.test_images.values, np.uint8).reshape(read.test_images.shape)
    (HERE / "samples").mkdir(exist_ok=True)
    for digit in range(files.CLASSES):
        (HERE / "samples" / f"{digit}.png").write_bytes(png(images[read.test_labels.values.index(digit)]))
    print(f"fingerprint of the data: {read.fingerprint}")


def png(image: np.ndarray) -> bytes:
    """Encodes bytes (rows, columns) as a greyscale PNG; the environment has no library for it."""
    rows, columns = image.shape
    lines = b"".join(b"\0" + row.tobytes() for row in image)  # each without a filter
    header = struct.pack(">IIBBBBB", columns, rows, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines, 9)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


if __name__ == "__main__":
    main()
