"""Shows the lines of a growing blob, or of a task's file, each once."""

from collections.abc import Callable

_KEPT = 4096  # bytes of the end, to compare with

Read = Callable[[int], bytes | None]  # from this byte on; None: there is no such blob (yet)


class BlobTail:
    """One blob. Repeated reads show only new lines."""

    def __init__(self, read: Read, show: Callable[[str], None]) -> None:
        self._read, self._show = read, show
        self._at = 0
        self._rest = self._end = b""
        self.lines = 0

    @property
    def found(self) -> bool:
        """Whether anything was read."""
        return self._at > 0

    def more(self) -> bool:
        """Shows new complete lines. Returns whether there was new content."""
        content = self._read(self._at)
        if not content:
            return False
        self._at += len(content)
        self._end = (self._end + content)[-_KEPT:]
        *lines, self._rest = (self._rest + content).split(b"\n")
        for line in lines:
            self._tell(line)
        return True

    def again(self) -> None:
        """It is written anew: reads it from the start."""
        self._at, self._rest = 0, b""

    def ends_with(self, text: str) -> bool:
        """Whether the content read so far ends with `text`, ignoring white space."""
        return self._end.decode("utf-8", errors="replace").rstrip().endswith(text.rstrip()[-_KEPT // 4 :])

    def finish(self) -> None:
        """Shows what is left, and the last line if it has no line break."""
        while self.more():
            pass
        if self._rest:
            self._tell(self._rest)
            self._rest = b""

    def _tell(self, line: bytes) -> None:
        self.lines += 1
        self._show(line.removesuffix(b"\r").decode("utf-8", errors="replace"))
