"""Reads JSON as Azure Resource Manager does: with comments, trailing commas and strings that run over several lines.

Every problem has its line and the likely fix, and nothing is raised; reading continues after a mistake, so that all of them are
found at once. The line of a member is that of its key. `read_deployment_body` reads what `az deployment` sends, which isn't JSON:
the key `template` is bare, the file follows verbatim."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.document import Document

MAX_DEPTH = 60  # of objects and lists in each other; far more than any template has
MAX_PROBLEMS = 50  # one mistake can cause a hundred

_SPACE = re.compile(r"[\s\ufeff\u200b]+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]+)?(?P<exponent>[eE][+-]?[0-9]+)?(?![\w.+])")
_WORD = re.compile(r"[^\s,:{}\[\]\"'/]+")
_QUOTE = re.compile(r"\\.|(\")", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_ROUND = str.maketrans("[]", "()")
_CONSTANTS: dict[str, bool | None] = {"true": True, "false": False, "null": None}


def read(text: str, file: str) -> tuple[Document | None, list[Problem]]:
    """The document, with what is wrong in it; None where the rest of the text can't be understood."""
    return _Reader(text, file, bare_keys=False).document()


def read_deployment_body(text: str, file: str = "request") -> tuple[Document | None, list[Problem]]:
    """The body of a deployment as `az` and the SDKs send it. Keys may be bare; everything else as in `read`."""
    return _Reader(text, file, bare_keys=True).document()


def member(path: str, key: str) -> str:
    """The path of a member of the object at `path`. A key's square brackets are shown round: paths are taken apart by them."""
    if not key or "." in key or "[" in key or "]" in key:
        return f"{path}['{key.translate(_ROUND)}']"
    return f"{path}.{key}" if path else key


def walk(value: Any, path: str) -> Iterator[tuple[Any, Any, str]]:
    """Everything inside: what holds it, its key or index, and its path. What takes a value's place on the way is gone into."""
    steps: list[tuple[Any, str]] = []
    if isinstance(value, dict):
        steps = [(key, member(path, str(key))) for key in value]
    elif isinstance(value, list):
        steps = [(index, f"{path}[{index}]") for index in range(len(value))]
    for key, below in steps:
        yield value, key, below
        yield from walk(value[key], below)


class _StopError(Exception):
    """The rest can't be understood."""


class _Reader:
    """One pass over the text."""

    def __init__(self, text: str, file: str, *, bare_keys: bool) -> None:
        self._text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._file = file
        self._bare_keys = bare_keys
        self._at: int = 0
        self._counted_to: int = 0
        self._line: int = 1
        self._lines: dict[str, int] = {}
        self._problems: list[Problem] = []
        # With a quote too many or too few, what is between texts is read as texts from there on, and secrets as keys.
        quotes = sum(found[1] is not None for found in _QUOTE.finditer(self._text))
        self._most_problems = 1 if quotes % 2 else MAX_PROBLEMS
        self._long_string: int = 0  # the line at which the last string began that ran over several
        self._long_string_ended: int = -1

    def document(self) -> tuple[Document | None, list[Problem]]:
        try:
            self._space()
            if self._at == len(self._text):
                self._stop("the file is empty", "write an object: { … }")
            value = self._value("", self._line_here(), 0)
            self._space()
            if self._at < len(self._text):
                self._wrong("something follows after the end of the JSON value", "remove it, or a } or ] too many before it")
        except _StopError:
            return None, self._problems
        return Document(self._file, value, self._lines), self._problems

    # Values

    def _value(self, path: str, line: int, depth: int) -> Any:
        self._lines[path] = line
        if depth > MAX_DEPTH:
            self._stop(f"objects and lists are nested more than {MAX_DEPTH} deep", "")
        sign = self._peek()
        if sign == "{":
            return self._object(path, depth)
        if sign == "[":
            return self._list(path, depth)
        if sign == '"':
            return self._string()
        return self._scalar()

    def _object(self, path: str, depth: int) -> dict[str, Any]:
        opened = self._line_here()
        result: dict[str, Any] = {}
        self._at += 1
        while self._more("}", opened, result):
            line = self._line_here()
            key = self._key(opened)
            self._space()
            if self._peek() == ":":
                self._at += 1
            else:
                self._wrong(f"a colon is missing after the key '{key}'", "write a colon between key and value")
            self._space()
            if self._peek() in ("", ",", "}"):
                self._wrong(f"the key '{key}' has no value", "write a value, or null")
                continue
            below = member(path, key)
            if key in result:
                first = self._lines[below]
                self._wrong(f"the key '{key}' is there twice in one object", f"remove one; the first is at line {first}")
            result[key] = self._value(below, line, depth + 1)
        return result

    def _key(self, opened: int) -> str:
        sign = self._peek()
        if sign == '"':
            return self._string()
        word = _WORD.match(self._text, self._at)
        if sign == "'":
            self._stop("a key is in single quotes", "use double quotes")
        if word is None:
            self._unexpected(f"a key in double quotes, or the }} of the object that begins at line {opened}")
        if not self._bare_keys:
            self._wrong(f"the key {word[0]} has no quotes", f'write "{word[0]}"')
        self._at = word.end()
        return word[0]

    def _list(self, path: str, depth: int) -> list[Any]:
        opened = self._line_here()
        result: list[Any] = []
        self._at += 1
        while self._more("]", opened, result):
            result.append(self._value(f"{path}[{len(result)}]", self._line_here(), depth + 1))
        return result

    def _more(self, end: str, opened: int, so_far: object) -> bool:
        """Moves to the next member; False behind the end. A comma too few is a problem, one before the end is none."""
        ended = self._at
        self._space()
        sign = self._peek()
        if sign == ",":
            if not so_far:
                self._wrong("a comma stands where a value belongs", "remove the comma")
            self._at += 1
            self._space()
            while self._peek() == ",":
                self._wrong("two commas follow each other", "remove one")
                self._at += 1
                self._space()
            sign = self._peek()
        elif so_far and sign not in ("", "}", "]"):
            line = self._text.count("\n", 0, ended) + 1
            if ended == self._long_string_ended:
                self._unexpected("a comma")
            self._wrong("a comma is missing between two values", f"write a comma at the end of line {line}", line=line)
        if sign == end:
            self._at += 1
            return False
        if sign == "":
            what = "object" if end == "}" else "list"
            self._stop(f"the {what} that begins at line {opened} is never closed", self._suspect(f"add a {end}"))
        if sign in ("}", "]"):
            self._unexpected(f"the {end} of what begins at line {opened}")
        return True

    def _scalar(self) -> Any:
        number = _NUMBER.match(self._text, self._at)
        if number is not None:
            self._at = number.end()
            return self._number(number)
        if self._peek() == "'":
            self._stop("a text is in single quotes", "use double quotes")
        word = _WORD.match(self._text, self._at)
        if word is None:
            self._unexpected("a value")
        self._at = word.end()
        if word[0] in _CONSTANTS:
            return _CONSTANTS[word[0]]
        if word[0].lower() in _CONSTANTS or word[0] == "None":
            known = "null" if word[0] == "None" else word[0].lower()
            self._wrong(f"JSON doesn't know {word[0]}", f"write {known}")
            return _CONSTANTS[known]
        if word[0].lstrip("+-").lower() in ("nan", "infinity", "inf"):
            self._wrong(f"{word[0]} isn't JSON", "write a number, or null")
        elif re.fullmatch(r"[+-]?[0-9.][0-9a-zA-Z_.+-]*", word[0]):
            self._wrong(f"{word[0]} isn't a number in JSON", "write it in digits, or as a text in double quotes")
        else:
            self._wrong("a text without quotes", "put it in double quotes")  # which may be a secret
        return None

    def _number(self, found: "re.Match[str]") -> int | float | None:
        whole = found["fraction"] is None and found["exponent"] is None
        if whole and len(found[0]) < 400:  # Python refuses to read thousands of digits
            return int(found[0])
        number = float(found[0])
        if not math.isfinite(number) or whole:
            self._wrong("a number is too large", "")
            return None
        return number

    # Strings

    def _string(self) -> str:
        line, found = self._line_here(), _STRING.match(self._text, self._at)
        if found is None:
            self._long_string = line if "\n" in self._text[self._at :] else self._long_string
            self._stop("a text that begins here is never closed", self._suspect('add a " at its end'))
        self._at = found.end()
        if "\n" in found[1]:
            self._long_string, self._long_string_ended = line, self._at
        text = _ESCAPE.sub(lambda one: self._escape(one[1], line + found[1].count("\n", 0, one.start())), found[1])
        return text if text.isascii() else self._whole_characters(text, line)

    def _escape(self, given: str, line: int) -> str:
        """What follows a backslash."""
        if given in _ESCAPES:
            return _ESCAPES[given]
        if len(given) > 1:
            return chr(int(given[1:], 16))
        self._wrong(f"\\{given.strip()} isn't an escape in JSON", "write \\\\ for a backslash", line=line)
        return given

    def _whole_characters(self, text: str, line: int) -> str:
        """Pairs of escapes joined to the characters that they spell together."""
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._wrong("a text holds half a character", "write both \\u escapes of it", line=line)
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    # Places

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _space(self) -> None:
        """Moves over white space and comments."""
        while True:
            space = _SPACE.match(self._text, self._at)
            if space is not None:
                self._at = space.end()
            two = self._text[self._at : self._at + 2]
            if two == "//":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif two == "/*":
                end = self._text.find("*/", self._at + 2)
                if end < 0:
                    self._stop("a comment that begins here is never closed", "add */ at its end")
                self._at = end + 2
            else:
                return

    def _line_here(self) -> int:
        if self._at < self._counted_to:
            return self._text.count("\n", 0, self._at) + 1
        self._line += self._text.count("\n", self._counted_to, self._at)
        self._counted_to = self._at
        return self._line

    # Problems

    def _wrong(self, message: str, fix: str, *, line: int = 0) -> None:
        if len(self._problems) >= self._most_problems:
            raise _StopError
        self._problems.append(Problem(f"{self._file}:{line or self._line_here()}", message, fix=fix))

    def _stop(self, message: str, fix: str) -> NoReturn:
        self._wrong(message, fix)
        raise _StopError

    def _unexpected(self, expected: str) -> NoReturn:
        found = json.dumps(self._peek(), ensure_ascii=False) if self._peek() else "the end of the file"
        self._stop(f"{found} stands here where {expected} belongs", self._suspect(""))

    def _suspect(self, fix: str) -> str:
        """The likeliest cause of what can't be: a string that was left open has swallowed the text up to the next quote."""
        if self._long_string:
            return f'is the closing " of the text at line {self._long_string} missing? It runs over several lines'
        return fix
