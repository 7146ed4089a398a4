"""A command on a terminal of its own, as a person runs it."""

import os
import pty
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.support.patience import SECONDS

END_OF_INPUT = "\x04"  # Ctrl-D at the start of a line


class Ended(NamedTuple):
    """How a command on a terminal ended, and what the terminal showed."""

    returncode: int
    shown: str


def on_terminal(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], question: str, answer: str, seconds: float = SECONDS
) -> Ended:
    """Runs the command; types `answer` when the terminal shows `question`. A question that never comes is no error."""
    ours, its = pty.openpty()
    with subprocess.Popen(command, cwd=cwd, env=dict(environment), stdin=its, stdout=its, stderr=its, close_fds=True) as process:
        os.close(its)
        shown, asked = b"", False
        while chunk := _read(ours):
            shown += chunk
            if not asked and question.encode() in shown:
                os.write(ours, answer.encode())
                asked = True
        os.close(ours)
        return Ended(process.wait(timeout=seconds), shown.decode(errors="replace").replace("\r\n", "\n"))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux ends a terminal that nobody holds any more so
        return b""
