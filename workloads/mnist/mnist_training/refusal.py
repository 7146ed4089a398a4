"""The error that ends a run, with all its problems, and the exit codes of the program."""

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """The exit codes, which are part of the program's interface."""

    PROVED = 0  # trained, and the required accuracy was reached on held-out digits
    WRONG_RESULT = 1  # trained, but it wasn't reached
    USAGE = 2  # options, TF_CONFIG, data, checkpoint, storage or memory can't be used
    NO_GPU = 3  # a GPU is required and can't be used
    LOST = 4  # a device or another worker was lost during the training; a restart continues from the checkpoint


class RefusedError(Exception):
    """Ends the program with `code` and one line for each of `problems`."""

    def __init__(self, problems: Sequence[str], code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__("; ".join(problems))
        self.problems = list(problems)
        self.code = code
