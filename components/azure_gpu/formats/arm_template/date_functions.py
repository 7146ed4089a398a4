"""How `utcNow` writes an instant.

Source: Microsoft Learn, azure-resource-manager/templates/template-functions-date. Of .NET's format strings the letters that make
up a date are known; others are rejected by name.
"""

import re
from datetime import datetime

from azure_gpu.formats.arm_template.values import Arguments

_LETTERS = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m", "dddd": "%A",
    "ddd": "%a", "dd": "%d", "d": "%-d", "HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S", "tt": "%p",
}  # fmt: skip
_WHOLE = {"u": "yyyy-MM-dd HH:mm:ss'Z'", "s": "yyyy-MM-dd'T'HH:mm:ss", "d": "MM/dd/yyyy", "": "yyyyMMdd'T'HHmmss'Z'"}
_PIECE = re.compile(r"'[^']*'|y+|M+|d+|H+|h+|m+|s+|t+|[A-Za-z]|[^A-Za-z']+")


def written(instant: datetime, form: str, given: Arguments) -> str:
    """An instant in one of .NET's formats; "" is the one of `utcNow()`."""
    pieces = _PIECE.findall(_WHOLE.get(form, form))
    return "".join(_piece(instant, piece, given) for piece in pieces)


def _piece(instant: datetime, piece: str, given: Arguments) -> str:
    if piece.startswith("'"):
        return piece[1:-1]
    if piece in _LETTERS:
        code = _LETTERS[piece]
        return instant.strftime(code.replace("-", "")).lstrip("0") if "-" in code else instant.strftime(code)
    if piece in ("T", "Z") or not piece.isalpha():
        return piece
    raise given.refused(f"the form '{piece[:20]}' of a date is not known here", f"known are {', '.join(_LETTERS)}")
