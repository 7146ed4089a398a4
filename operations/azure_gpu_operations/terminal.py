"""Makes texts of other programs safe for a terminal, and formats sizes and long lists.

Logs and messages of containers may contain control sequences or workflow commands. `guarded` filters output by `coloured` on a
terminal and by `Uncommanded` in GitHub Actions; in a pipe it stays unchanged.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO, cast

_UNIT = 1024
_SHOWN = 5  # of a long list


def printable(text: str) -> str:
    """The text without control characters and line ends."""
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)


def counted(count: int, what: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def last_line(text: str) -> str:
    """The last line of a program's output, which has its error."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else "without a word"


# ECMA-48: colours and the like (SGR); other control sequences; strings for the terminal (OSC, DCS, SOS, PM, APC); other escapes.
_COLOUR = r"\x1b\[[0-9;:]*m"
_ACTED_UPON = re.compile(
    rf"(?P<colour>{_COLOUR})"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_ENDS_COLOUR = "\x1b[0m"


def coloured(text: str) -> str:
    """With its colours, lines and tabs, and without anything else that a terminal would act upon. Of a line that was written
    again and again, as progress is, what was written last."""
    return "\n".join(_coloured(line) for line in text.split("\n"))


def _coloured(line: str) -> str:
    pieces: list[str] = []
    at = 0
    for found in _ACTED_UPON.finditer(line := next((part for part in reversed(line.split("\r")) if part), "")):
        pieces += [line[at : found.start()], found["colour"] or ""]
        at = found.end()
    pieces.append(line[at:])
    last = next((colour for colour in reversed(pieces[1::2]) if colour), _ENDS_COLOUR)
    pieces[::2] = ["\t".join(map(printable, piece.split("\t"))) for piece in pieces[::2]]
    return "".join(pieces) + ("" if last in (_ENDS_COLOUR, "\x1b[m") else _ENDS_COLOUR)


class Uncommanded:
    """Breaks what the runner of GitHub Actions takes for its commands, in either stream of a step: `::add-mask::` at the
    beginning of a line, `##[error]` anywhere. A carriage return ends a line too. Characters beyond ASCII may count for nothing
    where it compares. Source: github.com/actions/runner, src/Runner.Common/ActionCommand.cs at 079cdb1d."""

    def __init__(self) -> None:
        self._at_start = True

    def __call__(self, text: str) -> str:
        parts: list[str] = []
        for part in re.split(r"([\r\n])", text):
            if part in ("\r", "\n"):
                self._at_start = True
            elif part:
                broken = _BEGINS.sub(r"\1: ", part, count=1) if self._at_start else part
                self._at_start = self._at_start and not _SEEN.search(part)
                part = _ANYWHERE.sub(r"\1 ", broken)
            parts.append(part)
        return "".join(parts)


_BEGINS = re.compile(r"^([^!-~]*):(?=[^ -~]*:)")
_ANYWHERE = re.compile(r"(#)(?=[^ -~]*#[^ -~]*\[)")
_SEEN = re.compile(r"[!-~]")


class _Guarded:
    """A stream that filters its output with `clean`."""

    def __init__(self, stream: TextIO, clean: Callable[[str], str]) -> None:
        self._stream, self._clean = stream, clean

    def write(self, text: str) -> int:
        self._stream.write(self._clean(text))
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def guarded(environment: Mapping[str, str]) -> Iterator[None]:
    """Standard output and standard error of a command."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_guarded(each, environment) for each in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _guarded(stream: TextIO, environment: Mapping[str, str]) -> TextIO:
    if environment.get("GITHUB_ACTIONS") == "true":
        return cast(TextIO, _Guarded(stream, Uncommanded()))
    return cast(TextIO, _Guarded(stream, coloured)) if stream.isatty() else stream


def size(count: int) -> str:
    """A number of bytes, for people: `3 KiB`, `1.5 MiB`, `2.0 GiB`."""
    if count < _UNIT**2:
        return f"{-(-count // _UNIT)} KiB"
    return f"{count / _UNIT**2:.1f} MiB" if count < _UNIT**3 else f"{count / _UNIT**3:.1f} GiB"


def some(names: Sequence[str]) -> str:
    """The first ones, and how many there are beside them."""
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
