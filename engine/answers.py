"""What a program answers to a question such as for its version.

In: a command. Out: its standard output, or nothing.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

# An answer takes 0.2 s. One that comes late, on a machine that is busy many times over, is taken for none, and a build that
# others use would be made again.
_SECONDS = 300


def answer(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> str:
    """What the command prints; "" where it isn't there, fails, or takes too long. `environment`: in place of our own."""
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
