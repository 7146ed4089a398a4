"""The command line, with every default of the program. `RefusedError` has all problems."""

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from .download import MIRROR
from .refusal import RefusedError

PERCEPTRON, CONVOLUTION = "perceptron", "convolution"
CONSTANT, COSINE = "constant", "cosine"
AUTO, FLOAT32, BFLOAT16, FLOAT16 = "auto", "float32", "bfloat16", "float16"
ON, OFF = "on", "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a run. Steps, batch size and rate are those of the TensorFlow tutorial whose log the ACI article shows."""

    model: str = PERCEPTRON
    steps: int = 1000
    batch_size: int = 100  # images a step, of all workers and GPUs together
    learning_rate: float = 0.001  # Adam's
    schedule: str = CONSTANT
    precision: str = AUTO
    xla: str = OFF
    seed: int = 20190417
    data_dir: Path | None = None
    download: bool = False
    mirror: str = MIRROR
    output_dir: Path = Path("output")
    resume: bool = False
    upload_to: str | None = None
    require_gpu: bool = False
    min_accuracy: float = 0.95
    target_accuracy: float | None = None
    evaluate_every: int = 10  # steps, as in the log of the ACI article
    checkpoint_every: int = 100  # steps; a killed run loses at most these
    group_timeout: int = 300  # seconds that a worker waits for the others, at the start and for a step


class _Arguments(argparse.ArgumentParser):
    """Collects all mistakes, where argparse would exit at the first one."""

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
        model=value("model", _one_of(PERCEPTRON, CONVOLUTION), f"{PERCEPTRON}, {CONVOLUTION}"),
        steps=value("steps", _whole(1, 1_000_000), "a whole number from 1 to 1000000"),
        batch_size=value("batch_size", _whole(1, 1_000_000), "a whole number from 1 to 1000000"),
        learning_rate=value("learning_rate", _learning_rate, "a number over 0, up to 1"),
        schedule=value("schedule", _one_of(CONSTANT, COSINE), f"{CONSTANT}, {COSINE}"),
        precision=value("precision", _one_of(AUTO, FLOAT32, BFLOAT16, FLOAT16), f"{AUTO}, {FLOAT32}, {BFLOAT16}, {FLOAT16}"),
        xla=value("xla", _one_of(ON, OFF), f"{ON}, {OFF}"),
        seed=value("seed", _whole(0, 2**31 - 1), "a whole number from 0 to 2147483647"),
        data_dir=value("data_dir", Path, "a folder"),
        download=given.download,
        mirror=value("mirror", _mirror, "an address that starts with https:// or http://"),
        output_dir=value("output_dir", Path, "a folder"),
        resume=given.resume,
        upload_to=value("upload_to", _container, "https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX, without a query"),
        require_gpu=given.require_gpu,
        min_accuracy=value("min_accuracy", _share, "a number from 0 to 1"),
        target_accuracy=value("target_accuracy", _share, "a number from 0 to 1"),
        evaluate_every=value("evaluate_every", _whole(1, 1_000_000), "a whole number from 1 to 1000000"),
        checkpoint_every=value("checkpoint_every", _whole(1, 1_000_000), "a whole number from 1 to 1000000"),
        group_timeout=value("group_timeout", _whole(1, 86_400), "a whole number of seconds from 1 to 86400"),
    )
    if given.mirror is not None and not options.download:
        problems.append("--mirror: requires --download; add --download or remove --mirror")
    if problems:
        raise RefusedError(problems)
    return options


def _parser() -> argparse.ArgumentParser:
    parser = _Arguments(
        prog="mnist_training",
        allow_abbrev=False,
        description="Trains a handwritten-digit classifier and checks its accuracy on digits that training never saw.",
        epilog="Exit code: 0 accuracy reached, 1 not reached, 2 options, TF_CONFIG, data, storage or memory can't be used, "
        "3 no GPU though required, or one that can't be used, 4 a device or another worker was lost: restarted with "
        "--resume, the run continues from its checkpoint. The last line of standard output is one JSON object. Nothing goes over "
        "the network without --download, --upload-to or several workers in TF_CONFIG.",
    )
    defaults = Options()

    def option(name: str, metavar: str, text: str) -> None:
        default = getattr(defaults, name)
        shown = "" if default is None else f" (default {default})"
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=text + shown)

    option("model", "NAME", f"{PERCEPTRON}, or {CONVOLUTION} for 99 %% of MNIST")
    option("steps", "N", "training steps in all, those of a resumed run included")
    option("batch_size", "N", "images a step, of all workers and GPUs together")
    option("learning_rate", "X", "learning rate of the Adam optimiser")
    option("schedule", "NAME", f"{CONSTANT}, or {COSINE}: the learning rate falls to 0 over all steps")
    option("precision", "NAME", f"of matrix products: {FLOAT32}, {BFLOAT16}, {FLOAT16}; {AUTO} chooses by the hardware")
    option("xla", "on|off", "compile the steps with XLA")
    option("seed", "N", "seed of weights, batches and dropout")
    option("data_dir", "DIR", "folder with MNIST's four IDX files, plain or .gz; without it, scikit-learn's digits are used")
    parser.add_argument("--download", action="store_true", help="download MNIST to --data-dir, or to OUTPUT_DIR/MNIST")
    option("mirror", "URL", "where --download finds the four files")
    option("output_dir", "DIR", "folder for model, checkpoint and data")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint in --output-dir, if there is one")
    option("upload_to", "URL", "container and prefix that the SavedModel is uploaded to, by managed identity")
    parser.add_argument("--require-gpu", action="store_true", help="exit with code 3 if no GPU can be used")
    option("min_accuracy", "X", "accuracy that is required to pass")
    option("target_accuracy", "X", "end as soon as this accuracy is reached, and print when; also sets --min-accuracy")
    option("evaluate_every", "N", "steps between two evaluations")
    option("checkpoint_every", "N", "steps between two checkpoints")
    option("group_timeout", "N", "seconds that a worker of several waits for the others")
    return parser


def _shown(text: str) -> str:
    """A URL without credentials and query, which may be secret."""
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


def _one_of(*names: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

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
