"""Where the four files of the data come from: a folder, a download of MNIST, or scikit-learn's handwritten digits.

Existing files with the right checksum are kept, so an interrupted download continues file by file. scikit-learn's digits are the
UCI data set "Optical Recognition of Handwritten Digits", 1,797 images of 8 x 8; they are written in MNIST's format.
"""

import hashlib
import http.client
import importlib.util
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from . import storage
from .files import DIGITS, KINDS, MNIST, Array, FileKind, Files, encode, read_files
from .options import MIRROR, Options
from .refusal import RefusedError

_TIMEOUT = 30  # seconds without a byte
_CHUNK = 1 << 16  # bytes
HELD_OUT = 360  # a fifth of the digits, never trained on
# The order of `train_test_split(test_size=360, random_state=20190417, stratify=labels)` of scikit-learn 1.9, with the held-out
# digits last. It is stored because importing scikit-learn takes a third as long as importing TensorFlow.
ORDER = Path(__file__).with_name("digits_order.npy")
_GREATEST = 16  # scikit-learn's pixels are counts from 0 to 16
_SCALE, _BORDER = 3, 2  # 8 pixels become 24, and 28 with a border, MNIST's size


def find(chosen: Options) -> tuple[str, Path, Files]:
    """The training data: its name, its folder and its four files."""
    storage.make_folder(chosen.output_dir)
    if chosen.data_dir is None and not chosen.download:
        folder = chosen.output_dir / "digits"
        storage.make_folder(folder)
        write_digits(folder)
        return DIGITS, folder, read_files(folder)
    folder = chosen.data_dir or chosen.output_dir / MNIST
    if chosen.download:
        storage.make_folder(folder)
        download(folder, chosen.mirror)
    read = read_files(folder)
    return read.name, folder, read


def download(folder: Path, mirror: str = MIRROR, kinds: tuple[FileKind, ...] = KINDS) -> None:
    """Downloads those of `kinds` that `folder` lacks. `mirror` is the address of a folder."""
    problems: list[str] = []
    for kind in kinds:
        path = folder / f"{kind.name}.gz"
        if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == kind.gzip_sha256:
            continue
        url = mirror.rstrip("/") + f"/{kind.name}.gz"
        try:
            storage.write_whole(path, lambda temporary, url=url, kind=kind: _fetch(url, kind, temporary))
        except RefusedError as error:
            problems += [f"{path}: {problem}" if problem.startswith(url) else problem for problem in error.problems]
        else:
            print(f"Successfully downloaded {path.name} {path.stat().st_size} bytes.", flush=True)
    if problems:
        raise RefusedError(problems)


def _fetch(url: str, kind: FileKind, temporary: Path) -> None:
    digest = hashlib.sha256()
    with temporary.open("wb") as file:
        for chunk in _received(url):
            file.write(chunk)
            digest.update(chunk)
    if digest.hexdigest() != kind.gzip_sha256:
        found = f"SHA-256 {digest.hexdigest()} of {temporary.stat().st_size} bytes, expected {kind.gzip_sha256}"
        raise RefusedError([f"{url} has the wrong checksum: {found}"])


def _received(url: str) -> Iterator[bytes]:
    """The content of `url`, in parts. `RefusedError` if the server can't be reached or breaks the connection."""
    received, total = 0, None
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as response:  # noqa: S310 - options.py allows only http and https
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() and int(length) > 0 else None
            print(f"Downloading {url}" + (f", {total / 1e6:.1f} MB" if total else ""), file=sys.stderr, flush=True)
            while chunk := response.read(_CHUNK):
                received += len(chunk)
                yield chunk
        reason = f"the connection ended after {received} of {total} bytes"
    except urllib.error.HTTPError as error:
        reason = f"HTTP {error.code} {error.reason}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = str(getattr(error, "reason", "") or error)
    else:
        if total is None or received >= total:
            return
    raise RefusedError([f"{url} can't be downloaded: {reason}; check the network, or give the files with --data-dir"])


def write_digits(folder: Path) -> None:
    """Writes the four files; the held-out digits have the same share of each class as the others."""
    import numpy as np  # which nothing else here needs

    rows = np.loadtxt(_table(), np.uint8, delimiter=",")[np.load(ORDER)]
    grey = np.rint(rows[:, :-1].reshape(-1, 8, 8) * (255 / _GREATEST)).astype(np.uint8)
    larger = grey.repeat(_SCALE, axis=1).repeat(_SCALE, axis=2)
    images, labels = np.pad(larger, ((0, 0), (_BORDER, _BORDER), (_BORDER, _BORDER))), rows[:, -1]
    arrays = images[:-HELD_OUT], labels[:-HELD_OUT], images[-HELD_OUT:], labels[-HELD_OUT:]
    for kind, array in zip(KINDS, arrays, strict=True):
        content = encode(Array(array.shape, array.tobytes()))
        storage.write_whole(folder / kind.name, lambda path, content=content: path.write_bytes(content))


def _table() -> Path:
    """The file from which scikit-learn's `load_digits` reads: 64 pixels and a label in each line."""
    package = importlib.util.find_spec("sklearn")
    if package is None or not package.submodule_search_locations:
        raise RefusedError(["scikit-learn isn't installed: its digits are what is trained on without --data-dir and --download"])
    return Path(package.submodule_search_locations[0]) / "datasets" / "data" / "digits.csv.gz"
