"""What a terminal is shown: texts that somebody else wrote, sizes, and long lists.

In: text, numbers. Out: text.
"""

from collections.abc import Sequence

_UNIT = 1024
_SHOWN = 5  # of a long list


def printable(text: str) -> str:
    """Without what a terminal would act upon, and without the line ends that only some programs know."""
    return "".join(each if each.isprintable() else " " for each in text)


def size(count: int) -> str:
    """A number of bytes, for people: `3 KiB`, `1.5 MiB`, `2.0 GiB`."""
    if count < _UNIT**2:
        return f"{-(-count // _UNIT)} KiB"
    return f"{count / _UNIT**2:.1f} MiB" if count < _UNIT**3 else f"{count / _UNIT**3:.1f} GiB"


def some(names: Sequence[str]) -> str:
    """The first ones, and how many there are beside them."""
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")
