"""The command line, with every default of the program. `RefusedError` has all problems."""

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from .refusal import RefusedError

# The copy of the Common Visual Data Foundation. Any other mirror works too: the checksums are verified.
MIRROR = "https://storage.googleapis.com/cvdf-datasets/mnist/"
PERCEPTRON, CONVOLUTION = "perceptron", "convolution"
CONSTANT, COSINE = "constant", "cosine"
_PRECISIONS = AUTO, FLOAT32, BFLOAT16, FLOAT16 = "auto", "float32", "bfloat16", "float16"


def _option(default: Any, read: Callable[[str], Any], allowed: str, metavar: str, text: str) -> Any:
    """`read` converts the text of an argument, or raises ValueError; `allowed` says what it takes. `text`: of --help."""
    return field(default=default, metadata={"read": read, "allowed": allowed, "metavar": metavar, "text": text})


def _switch(text: str) -> Any:
    return field(default=False, metadata={"text": text})


def _one_of(default: str, names: Sequence[str], metavar: str, text: str) -> Any:
    return _option(default, lambda given: names[names.index(given)], ", ".join(names), metavar, text)


def _whole(default: int, text: str, least: int = 1, most: int = 1_000_000, unit: str = "") -> Any:
    def read(given: str) -> int:
        if not least <= int(given) <= most:
            raise ValueError(given)
        return int(given)

    return _option(default, read, f"a whole number{unit} from {least} to {most}", "N", text)


def _number(default: float | None, fits: Callable[[float], bool], allowed: str, text: str) -> Any:
    def read(given: str) -> float:
        if not fits(float(given)):  # false for not-a-number too
            raise ValueError(given)
        return float(given)

    return _option(default, read, allowed, "X", text)


def _share(default: float | None, text: str) -> Any:
    return _number(default, lambda number: 0 <= number <= 1, "a number from 0 to 1", text)


def _mirror(text: str) -> str:
    if not text.startswith(("https://", "http://")):
        raise ValueError(text)
    return text


def _container(text: str) -> str:
    parts = urlsplit(text)
    segments = [segment for segment in parts.path.split("/") if segment]
    # A signature in the query would be a secret on the command line.
    unwanted = parts.username or parts.query or parts.fragment or {".", ".."} & set(segments)
    if parts.scheme != "https" or not parts.hostname or not segments or unwanted:
        raise ValueError(text)
    return text


_BLOBS = "https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX, without a query"
_FILES = "folder with MNIST's four IDX files, plain or .gz; without it, scikit-learn's digits are used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of a run. Steps, batch size and rate are those of the TensorFlow tutorial whose log the ACI article shows."""

    model: str = _one_of(PERCEPTRON, (PERCEPTRON, CONVOLUTION), "NAME", f"{PERCEPTRON}, or {CONVOLUTION} for 99 %% of MNIST")
    steps: int = _whole(1000, "training steps in all, those of a resumed run included")
    batch_size: int = _whole(100, "images a step, of all workers and GPUs together")
    learning_rate: float = _number(
        0.001, lambda rate: 0 < rate <= 1, "a number over 0, up to 1", "learning rate of the Adam optimiser"
    )
    schedule: str = _one_of(CONSTANT, (CONSTANT, COSINE), "NAME", f"{COSINE}: the learning rate falls to 0 over all steps")
    precision: str = _one_of(
        AUTO, _PRECISIONS, "NAME", f"of matrix products, {' '.join(_PRECISIONS[1:])}; {AUTO} chooses by the hardware"
    )
    xla: str = _one_of("off", ("on", "off"), "on|off", "compile the steps with XLA")
    seed: int = _whole(20190417, "seed of weights, batches and dropout", 0, 2**31 - 1)
    data_dir: Path | None = _option(None, Path, "a folder", "DIR", _FILES)  # noqa: RUF009 - a field()
    download: bool = _switch("download MNIST to --data-dir, or to OUTPUT_DIR/MNIST")
    mirror: str = _option(
        MIRROR, _mirror, "an address that starts with https:// or http://", "URL", "where --download finds the four files"
    )
    output_dir: Path = _option(Path("output"), Path, "a folder", "DIR", "for model, checkpoint and data")  # noqa: RUF009
    resume: bool = _switch("continue from the checkpoint in --output-dir, if there is one")
    upload_to: str | None = _option(
        None, _container, _BLOBS, "URL", "container and prefix that the SavedModel is uploaded to, by managed identity"
    )
    require_gpu: bool = _switch("exit with code 3 if no GPU can be used")
    min_accuracy: float = _share(0.95, "accuracy that is required to pass")
    target_accuracy: float | None = _share(
        None, "end as soon as this accuracy is reached, and print when; also sets --min-accuracy"
    )
    evaluate_every: int = _whole(10, "steps between two evaluations")  # as in the log of the ACI article
    checkpoint_every: int = _whole(100, "steps between two checkpoints")  # a killed run loses at most these
    group_timeout: int = _whole(300, "seconds that a worker of several waits for the others", 1, 86_400, " of seconds")


class _Arguments(argparse.ArgumentParser):
    """Collects all mistakes, where argparse would exit at the first one."""

    def error(self, message: str) -> NoReturn:
        raise RefusedError([f"{message}; see --help"])


def parse(arguments: Sequence[str]) -> Options:
    """Reads and checks `arguments`."""
    given, unknown = _parser().parse_known_args(arguments)
    problems = [f"{argument}: is not an option; see --help" for argument in unknown]
    read: dict[str, Any] = {}
    for each in fields(Options):
        text = getattr(given, each.name)
        if isinstance(text, bool):
            read[each.name] = text
        elif text is not None:
            try:
                read[each.name] = each.metadata["read"](text)
            except ValueError:
                allowed = each.metadata["allowed"]
                problems.append(f"{_flag(each.name)}: {_shown(text)!r} can't be used; allowed: {allowed}")
    if given.mirror is not None and not given.download:
        problems.append("--mirror: requires --download; add --download or remove --mirror")
    if problems:
        raise RefusedError(problems)
    return Options(**read)


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
    for each in fields(Options):
        text = each.metadata["text"]
        if each.default is False:
            parser.add_argument(_flag(each.name), action="store_true", help=text)
        else:
            shown = "" if each.default is None else f" (default {each.default})"
            parser.add_argument(_flag(each.name), metavar=each.metadata["metavar"], help=text + shown)
    return parser


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _shown(text: str) -> str:
    """A URL without credentials and query, which may be secret."""
    return re.sub(r"://[^/]*@", "://", re.sub(r"\?.*", "?…", text, flags=re.DOTALL)) if "://" in text else text
