"""Takes pictures of commands in a terminal of 80 columns, as SVG.

    python -m tests.docs.terminal_pictures FILE.svg -- python -m operations sizes --gpu T4

The command runs in a pseudo-terminal; its standard output is the picture, below the command line itself. Standard error isn't
part of it.

Exit codes: 0 written, whatever the command's exit code is; 1 the command printed nothing; 2 the command line is invalid.
"""

import fcntl
import io
import os
import pty
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COLUMNS = 80
_ROWS = 200
_THEME = TerminalTheme(
    (255, 255, 255),
    (31, 35, 40),
    [(31, 35, 40), (207, 34, 46), (17, 99, 41), (149, 101, 0), (9, 105, 218), (130, 80, 223), (27, 124, 131), (110, 119, 129)],
)
_CHARACTER, _LINE, _MARGIN = 12.2, 24.4, 9  # as rich draws them
# As rich has it, without its window and without a font from elsewhere: a picture loads nothing.
_FORMAT = """\
<svg viewBox="0 0 WIDTH HEIGHT" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
{lines}
</defs>
<rect fill="#ffffff" stroke="#d1d9e0" x="0.5" y="0.5" width="INNER_WIDTH" height="INNER_HEIGHT" rx="8"/>
<g transform="translate(MARGIN, MARGIN)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def printed(command: Sequence[str], columns: int = COLUMNS) -> str:
    """What a command prints on a terminal of so many columns, with its colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    with subprocess.Popen(command, stdout=theirs, env={**environment, "TERM": "xterm-256color"}) as process:
        os.close(theirs)
        pieces: list[bytes] = []
        while piece := _read(ours):
            pieces.append(piece)
        process.wait()
    os.close(ours)
    return b"".join(pieces).decode("utf-8", errors="replace").replace("\r\n", "\n")


def picture(command_line: str, output: str, name: str, columns: int = COLUMNS) -> str:
    """SVG of a command line and its output."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    texts = [Text(f"$ {command_line}", "bold"), *Text.from_ansi(output.rstrip("\n")).split("\n", allow_blank=True)]
    lines = [line for text in texts for line in text.divide(range(columns, len(text), columns))]  # as a terminal breaks them
    for line in lines:
        console.print(line, soft_wrap=True)
    width, height = columns * _CHARACTER + 2 * _MARGIN, len(lines) * _LINE + 2 * _MARGIN
    drawn = console.export_svg(title="", theme=_THEME, code_format=_FORMAT, unique_id=name)
    for word, number in (("INNER_WIDTH", width - 1), ("INNER_HEIGHT", height - 1), ("WIDTH", width), ("HEIGHT", height)):
        drawn = drawn.replace(word, f"{number:g}", 1)
    return drawn.replace("MARGIN, MARGIN", f"{_MARGIN}, {_MARGIN}", 1)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux: the other end is closed
        return b""


def main(arguments: Sequence[str]) -> int:
    if len(arguments) < 3 or arguments[1] != "--":
        print(__doc__, file=sys.stderr)
        return 2
    file, command = Path(arguments[0]), list(arguments[2:])
    output = printed(command)
    if not output.strip():
        print(f"error: `{shlex.join(command)}` printed nothing", file=sys.stderr)
        return 1
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(picture(shlex.join([Path(command[0]).name, *command[1:]]), output, file.stem), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
