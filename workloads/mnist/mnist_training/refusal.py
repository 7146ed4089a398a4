"""What ends a run before its result: bad input, or no GPU where one is required.

In: the problems found. Out: an exception that carries all of them, and the exit codes of the program.
"""

from collections.abc import Sequence
from enum import IntEnum


class ExitCode(IntEnum):
    """The contract of the program with whoever starts it."""

    PROVED = 0  # trained, and the accuracy asked for was reached on digits that training never saw
    WRONG_RESULT = 1  # trained, and it wasn't
    USAGE = 2  # options, TF_CONFIG, data, checkpoint, storage or memory can't be used
    NO_GPU = 3  # a GPU is required and can't be used
    LOST = 4  # a device or another worker was lost while it trained; started again, it goes on from its checkpoint


class RefusedError(Exception):
    """Ends the program with `code` and one line for each of `problems`."""

    def __init__(self, problems: Sequence[str], code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__("; ".join(problems))
        self.problems = list(problems)
        self.code = code
