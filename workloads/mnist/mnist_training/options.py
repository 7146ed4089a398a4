"""The command line.

In: arguments. Out: `Options`, or `RefusedError` with every problem at once. Every default of the program is here.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from .download import MIRROR
from .refusal import RefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a run does. Steps, batch size and rate are those of the TensorFlow tutorial whose log the ACI article shows."""

    steps: int = 1000
    batch_size: int = 100  # images a step
    learning_rate: float = 0.001  # Adam's
    seed: int = 20190417
    data_dir: Path | None = None
    download: bool = False
    mirror: str = MIRROR
    output_dir: Path = Path("output")
    resume: bool = False
    upload_to: str | None = None
    require_gpu: bool = False
    min_accuracy: float = 0.95


class _Arguments(argparse.ArgumentParser):
    """argparse would print its usage and leave at the first mistake; here every mistake is told, in the words of this program."""

    def error(self, message: str) -> NoReturn:
        raise RefusedError([f"{message}; see --help"])


def parse(arguments: Sequence[str]) -> Options:
    """Reads and checks `arguments`."""
    given, unknown = _parser().parse_known_args(arguments)
    problems = [f"{argument}: is not an option; see --help" for argument in unknown]
    defaults = Options()

    def value(name: str, read: Callable[[str], Any], allowed: str) -> Any:
        text = getattr(given, name)
        if text is None:
            return getattr(defaults, name)
        try:
            return read(text)
        except ValueError:
            problems.append(f"--{name.replace('_', '-')}: {_shown(text)!r} can't be used; allowed: {allowed}")
            return getattr(defaults, name)

    options = Options(
        steps=value("steps", _whole(1, 1_000_000), "a whole number from 1 to 1000000"),
        batch_size=value("batch_size", _whole(1, 1_000_000), "a whole number from 1 to 1000000"),
        learning_rate=value("learning_rate", _learning_rate, "a number over 0, up to 1"),
        seed=value("seed", _whole(0, 2**31 - 1), "a whole number from 0 to 2147483647"),
        data_dir=value("data_dir", Path, "a folder"),
        download=given.download,
        mirror=value("mirror", _mirror, "an address that starts with https:// or http://"),
        output_dir=value("output_dir", Path, "a folder"),
        resume=given.resume,
        upload_to=value("upload_to", _container, "https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX, without a query"),
        require_gpu=given.require_gpu,
        min_accuracy=value("min_accuracy", _share, "a number from 0 to 1"),
    )
    if given.mirror is not None and not options.download:
        problems.append("--mirror: is used with --download alone; add --download or leave --mirror out")
    if problems:
        raise RefusedError(problems)
    return options


def _parser() -> argparse.ArgumentParser:
    parser = _Arguments(
        prog="mnist_training",
        allow_abbrev=False,
        description="Trains a handwritten-digit classifier and checks its accuracy on digits that training never saw.",
        epilog="Exit code: 0 accuracy reached, 1 not reached, 2 options, data or storage can't be used, 3 no GPU "
        "though required. The last line of standard output is one JSON object. Nothing goes over the network without "
        "--download or --upload-to.",
    )
    defaults = Options()

    def option(name: str, metavar: str, text: str) -> None:
        default = getattr(defaults, name)
        shown = "" if default is None else f" (default {default})"
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=text + shown)

    option("steps", "N", "training steps in all, those of a resumed run included")
    option("batch_size", "N", "images a step")
    option("learning_rate", "X", "learning rate of the Adam optimiser")
    option("seed", "N", "seed of weights, batches and dropout")
    option("data_dir", "DIR", "folder with MNIST's four IDX files, plain or .gz; without it, scikit-learn's digits are used")
    parser.add_argument("--download", action="store_true", help="download MNIST to --data-dir, or to OUTPUT_DIR/MNIST")
    option("mirror", "URL", "where --download finds the four files")
    option("output_dir", "DIR", "folder for model, checkpoint and data")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint in --output-dir, where there is one")
    option("upload_to", "URL", "container and prefix that the SavedModel is uploaded to, by managed identity")
    parser.add_argument("--require-gpu", action="store_true", help="end with code 3 where no GPU can be used")
    option("min_accuracy", "X", "accuracy that counts as proved")
    return parser


def _shown(text: str) -> str:
    """Without what may be a secret in an address: who signs in, and a query."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        return text
    host, slash, path = rest.partition("/")
    path, question, _ = path.partition("?")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}{question and '?…'}"


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise ValueError(text)
        return number

    return read


def _learning_rate(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and 0 < number <= 1):
        raise ValueError(text)
    return number


def _share(text: str) -> float:
    number = float(text)
    if not 0 <= number <= 1:  # false for not-a-number too
        raise ValueError(text)
    return number


def _mirror(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise ValueError(text)
    return text


def _container(text: str) -> str:
    parts = urlsplit(text)
    segments = [segment for segment in parts.path.split("/") if segment]
    # A signature in the query would be a secret on the command line.
    if parts.scheme != "https" or not parts.hostname or parts.username or not segments or parts.query or parts.fragment:
        raise ValueError(text)
    if any(segment in (".", "..") for segment in segments):
        raise ValueError(text)
    return text
