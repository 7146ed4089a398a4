"""Makes texts of a stack harmless for an HTML page, and long ones short.

A text is shown as it is where it can be read, and named by code point where it can't: control characters would end a line or a
file, and bidirectional overrides would let one name read as another. E-mail addresses are left out: a page is passed on.
"""

import unicodedata
from html import escape

from azure_gpu_operations.review.model import without_mail

# Joiners, of which emoji and several scripts are made, and the line ends and tabs of scripts.
_KEPT = frozenset("\n\t\u200c\u200d")
NAME = 160  # characters of a name that a heading has
_LONG = 400  # of a value that is shown whole
_AROUND = 60  # of what is the same around a difference


def readable(text: str) -> str:
    """The text with what can't be seen named by its code point, `⟨U+202E⟩`, and without e-mail addresses."""
    text = without_mail(text)
    return text if text.isprintable() else "".join(map(_readable, text))


def _readable(character: str) -> str:
    if character.isprintable() or character in _KEPT or unicodedata.category(character) == "Zs":
        return character
    return f"⟨U+{ord(character):04X}⟩"


def html(text: str) -> str:
    """Escaped for HTML text and quoted attributes."""
    return escape(readable(text))


def code(text: str) -> str:
    """A value."""
    return f"<code>{html(text)}</code>"


def name(text: str) -> str:
    """A name as a heading can have it: its beginning, where it is long."""
    return f"<bdi>{escape(cut(readable(text)))}</bdi>" if text.strip() else '<span class="note">without a name</span>'


def cut(text: str, length: int = NAME) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def value(text: str, tag: str = "code") -> str:
    """One that there is nothing to compare with; a long one folded."""
    shown = readable(text)
    return f"<{tag}>{escape(cut(shown, _LONG))}</{tag}>{_whole(shown) if len(shown) > _LONG else ''}"


def compared(before: str, after: str) -> tuple[str, str]:
    """Both as HTML, with what differs marked. Of long ones what is around it, and the whole folded."""
    before, after = readable(before), readable(after)
    start = _same(before, after)
    end = _same(before[start:][::-1], after[start:][::-1])
    return _marked(before, start, len(before) - end, "del"), _marked(after, start, len(after) - end, "ins")


def _marked(text: str, start: int, stop: int, tag: str) -> str:
    first, differs, last = text[:start], text[start:stop], text[stop:]
    is_long = len(text) > _LONG
    if is_long:
        first = first if len(first) <= _AROUND else f"…{first[-_AROUND:]}"
        last = cut(last, _AROUND)
        differs = cut(differs, _LONG)
    marked = f"<{tag}>{escape(differs)}</{tag}>" if differs else ""
    return f"<code>{escape(first)}{marked}{escape(last)}</code>{_whole(text) if is_long else ''}"


def _whole(text: str) -> str:
    return f"<details><summary>all {len(text):,} characters</summary><code>{escape(text)}</code></details>"


def _same(left: str, right: str) -> int:
    """The length of the common prefix, by bisection: texts may have 200 MB."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
