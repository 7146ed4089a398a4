"""Progress of a training: the ACI article's lines on standard output, and on a terminal a bar on standard error."""

import sys
import time
from typing import TextIO

_WIDTH = 30
_REDRAW = 0.1  # seconds


class Progress:
    """`shown`: whether this process shows the progress."""

    def __init__(
        self, first: int, last: int, *, shown: bool = True, out: TextIO | None = None, bar: TextIO | None = None
    ) -> None:
        self._first, self._last, self._shown = first, last, shown
        self._out, self._bar = out or sys.stdout, bar or sys.stderr
        self._has_bar = shown and self._bar.isatty()
        self._began = time.monotonic()
        self._drawn = 0.0
        self._accuracy: float | None = None

    def accuracy(self, step: int, accuracy: float) -> None:
        """The article's line."""
        self._accuracy = accuracy
        self.line(f"Accuracy at step {step}: {accuracy}")

    def line(self, text: str) -> None:
        if self._shown:
            self.clear()
            print(text, file=self._out, flush=True)

    def at(self, step: int, loss: float) -> None:
        """Redraws the bar, at most ten times a second."""
        now = time.monotonic()
        if not self._has_bar or now - self._drawn < _REDRAW:
            return
        self._drawn = now
        done = (step - self._first) / max(self._last - self._first, 1)
        rate = (step - self._first) / max(now - self._began, 1e-9)
        left = (self._last - step) / rate if rate else 0
        filled = round(done * _WIDTH)
        accuracy = "" if self._accuracy is None else f", accuracy {self._accuracy}"
        bar = f"[{'=' * filled}{' ' * (_WIDTH - filled)}]"
        text = f"{bar} step {step}/{self._last}, loss {loss:.4f}{accuracy}, {rate:.0f} steps/s, {left:.0f} s left"
        self._bar.write(f"\r\x1b[K{text}")
        self._bar.flush()

    def clear(self) -> None:
        """Removes the bar."""
        if self._has_bar:
            self._bar.write("\r\x1b[K")
            self._bar.flush()
