"""Functions of texts: concat, format, replace, substring, … Source: Microsoft Learn, azure-resource-manager/templates/
template-functions-string. Positions count from 0. startsWith, endsWith and indexOf disregard letter case, as documented there.
"""

import base64
import binascii
import json
import re
from typing import Any
from urllib.parse import quote, unquote

from azure_gpu.formats import lenient_json
from azure_gpu.formats.arm_template import hashes
from azure_gpu.formats.arm_template.values import MANY, MAX_TEXT, Arguments, Function, Value, is_int, is_list, is_object, same

_PLACE = re.compile(r"\{\{|\}\}|\{(?P<index>[0-9]{1,3})(?:,(?P<width>-?[0-9]{1,4}))?(?::(?P<form>[^{}]*))?\}|[{}]")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?P<single>(?:[^'\\]|\\.)*)'", re.DOTALL)  # a text in either quotes
_URI_SAFE = "~"  # letters, digits and -._~ stay, as RFC 3986 has it


def as_text(value: Value) -> str:
    """A value as `string` and `concat` write it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _concat(given: Arguments) -> Value:
    if is_list(given[0]):
        return [each for index in range(len(given)) for each in given.elements(index)]
    for index, value in enumerate(given):
        if is_list(value) or is_object(value) or value is None:
            raise given.wrong(index, "a text, though the first is one")
    return "".join(as_text(value) for value in given)


def _format(given: Arguments) -> str:
    pattern, length = given.text(0), 0

    def filled(found: "re.Match[str]") -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        if found["index"] is None:
            raise given.refused(f"a single {found[0]} at position {found.start() + 1}", "double it for the character itself")
        index = int(found["index"]) + 1
        if index >= len(given):
            raise given.refused(f"{{{found['index']}}} has no argument; {len(given) - 1} are given after the pattern")
        text = _formed(given, given[index], found["form"] or "")
        width = int(found["width"] or 0)
        padded = text.rjust(width) if width >= 0 else text.ljust(-width)
        nonlocal length
        length += len(padded)
        return _bounded(given, length, lambda: padded)

    return _PLACE.sub(filled, pattern)


def _formed(given: Arguments, value: Value, form: str) -> str:
    """A value in one of .NET's formats for numbers: D3, N2, F1, X or zeros."""
    if not form:
        return "" if value is None else as_text(value)
    known = re.fullmatch(r"(?P<letter>[dDnNfFxX])(?P<digits>[0-9]{0,2})|(?P<zeros>0{1,20})", form)
    if known is None or not is_int(value):
        raise given.refused(
            f"the form ':{form[:20]}' is not known here", "known are D, N, F and X with digits, and zeros, for whole numbers"
        )
    sign, size = ("-" if value < 0 else ""), abs(value)
    if known["zeros"]:
        return f"{sign}{size:0{len(known['zeros'])}d}"
    letter, digits = known["letter"], int(known["digits"] or (2 if known["letter"] in "nNfF" else 0))
    if letter in "dD":
        return f"{sign}{size:0{digits or 1}d}"
    if letter in "xX":
        text = f"{value & 0xFFFFFFFFFFFFFFFF:x}".rjust(digits, "0")
        return text.upper() if letter == "X" else text
    whole = f"{size:,}" if letter in "nN" else str(size)
    return sign + whole + ("." + "0" * digits if digits else "")


def _replace(given: Arguments) -> str:
    text, old, new = given.texts()
    if not old:
        raise given.refused("what is to be replaced is empty")
    return _bounded(given, len(text) + text.count(old) * (len(new) - len(old)), lambda: text.replace(old, new))


def _pad_left(given: Arguments) -> str:
    text = given.text(0) if isinstance(given[0], str) else str(given.number(0))
    width, sign = given.number(1), given.text(2) if len(given) > 2 else " "
    if len(sign) != 1:
        raise given.refused("what is padded with is not one character")
    return _bounded(given, width, lambda: text.rjust(width, sign))


def _bounded(given: Arguments, length: int, make: Any) -> str:
    if length > MAX_TEXT:
        raise given.refused(f"the result is longer than {MAX_TEXT} characters")
    return make()


def _substring(given: Arguments) -> str:
    text, start = given.text(0), given.number(1)
    length = given.number(2) if len(given) > 2 else max(len(text) - start, 0)
    if start < 0 or length < 0 or start + length > len(text):
        raise given.refused(f"{length} characters from position {start} on don't lie in a text of {len(text)}")
    return text[start : start + length]


def _split(given: Arguments) -> list[str]:
    text = given.text(0)
    marks = [given[1]] if isinstance(given[1], str) else given.elements(1)
    kept = [mark for mark in marks if isinstance(mark, str) and mark]
    return re.split("|".join(re.escape(mark) for mark in kept), text) if kept else [text]


def _join(given: Arguments) -> str:
    return given.text(1).join(as_text(each) for each in given.elements(0))


def _base64_to_text(given: Arguments) -> str:
    try:
        return base64.b64decode(given.text(0), validate=True).decode()
    except (binascii.Error, ValueError) as error:
        raise given.refused("the text is not base64 of a text") from error


def _to_base64(given: Arguments) -> str:
    return base64.b64encode(given.text(0).encode("utf-8", "replace")).decode()


def _json(given: Arguments) -> Value:
    text = given.text(0)
    document, problems = lenient_json.read(text, "json")
    if "'" in text and (
        document is None or problems
    ):  # Azure's reader of JSON takes either quotes, and a page's example has these
        document, problems = lenient_json.read(_QUOTED.sub(_in_double_quotes, text), "json")
    if document is None or problems:  # told without what stands there: the text may be a secret
        raise given.refused(
            f"the text is not JSON; see its line {problems[0].path.split(':')[1]}" if problems else "the text is not JSON"
        )
    return document.value


def _in_double_quotes(found: "re.Match[str]") -> str:
    single = found["single"]
    return found[0] if single is None else '"' + single.replace("\\'", "'").replace('"', '\\"') + '"'


def _index(given: Arguments) -> int:
    if is_list(given[0]):
        return next((index for index, each in enumerate(given[0]) if same(each, given[1])), -1)
    return given.text(0).lower().find(given.text(1).lower())


def _last_index(given: Arguments) -> int:
    if is_list(given[0]):
        return next((index for index in range(len(given[0]) - 1, -1, -1) if same(given[0][index], given[1])), -1)
    return given.text(0).lower().rfind(given.text(1).lower())


FUNCTIONS: tuple[Function, ...] = (
    Function("base64", _to_base64, 1, 1),
    Function("base64ToString", _base64_to_text, 1, 1),
    Function("concat", _concat, 1, MANY),
    Function("endsWith", lambda given: given.text(0).lower().endswith(given.text(1).lower()), 2, 2),
    Function("format", _format, 1, MANY),
    Function("guid", lambda given: hashes.guid(given.texts()), 1, MANY),
    Function("indexOf", _index, 2, 2),
    Function("join", _join, 2, 2),
    Function("json", _json, 1, 1),
    Function("lastIndexOf", _last_index, 2, 2),
    Function("padLeft", _pad_left, 2, 3),
    Function("replace", _replace, 3, 3),
    Function("split", _split, 2, 2),
    Function("startsWith", lambda given: given.text(0).lower().startswith(given.text(1).lower()), 2, 2),
    Function("string", lambda given: as_text(given[0]), 1, 1),
    Function("substring", _substring, 2, 3),
    Function("toLower", lambda given: given.text(0).lower(), 1, 1),
    Function("toUpper", lambda given: given.text(0).upper(), 1, 1),
    Function("trim", lambda given: given.text(0).strip(), 1, 1),
    Function("uniqueString", lambda given: hashes.unique_string(given.texts()), 1, MANY),
    Function("uriComponent", lambda given: quote(given.text(0), safe=_URI_SAFE, errors="replace"), 1, 1),
    Function("uriComponentToString", lambda given: unquote(given.text(0)), 1, 1),
)
