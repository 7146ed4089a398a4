"""Reads YAML that somebody else may have written: within limits, and with one kind of error. Writes YAML that all read alike.

`load`, one document as values; `compose` and `compose_all`, as nodes. Values are those of YAML 1.1, except that a date stays the
text that it was written as, an `UnquotedDate`, and a number that no float can hold is text. A text that is too long, nested too
deep or without end is refused before anything is made of it, as is every tag but those of plain values. `BoundedYamlError` is all
that is raised, and its message has none of the text, in which a secret may be. `dump` writes plain values.
"""

import contextlib
import re
from collections.abc import Callable
from typing import Any, TypeVar, cast

import yaml
from yaml.constructor import SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.reader import ReaderError

LONGEST = 1_000_000  # characters; the files that this is for have some thousand
DEEPEST = 64
MOST_VALUES = 50_000  # an alias repeats all of its value, so that a few lines can mean billions
TAG = "tag:yaml.org,2002:"

_MOST_BITS = 1000  # beyond, a number is none that a float can hold, nor one that Python writes out
_LONGEST_NUMBER = _MOST_BITS + 10  # characters: `0b`, a sign and a digit for each bit
_QUOTED = re.compile(r"(?:,? but (?:found|got))?\s*(?:'(?P<one>[^']*)'|\"(?P<other>[^\"]*)\")")
# What YAML 1.2 and Pulumi's engine (go-yaml v3's resolve.go: without `_`, octal, dates with one digit) take for no text.
_NUMBER_ELSEWHERE = re.compile(
    r"""[-+]?_*(?:\._*[0-9][0-9_]* | [0-9][0-9_]*(?:\.[0-9_]*)?) (?:[eE]_*[-+]?[0-9_]+)? $
    | [-+]?_*0_*[xXoObB]_*[-+]?[0-9a-fA-F_]+ $
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt\ ][0-9:.]+.*)? $""",
    re.VERBOSE,
)
_SHOWN_LINES = 5
_SAFE_DEPTH = 10_000  # levels that libyaml's composer surely has a stack for
_ALIKE = re.compile(r"[^\t!?\ufeff]*")  # tabs, a `!` alone, a `?` in braces and a byte-order mark are read otherwise by libyaml

T = TypeVar("T")


class BoundedYamlError(ValueError):
    """The text isn't YAML, or exceeds the limits. The message is one line."""

    def __init__(self, reason: str, line: int | None = None, fix: str = "") -> None:
        self.reason = reason
        self.line = line  # from 1 on; None: the whole text
        self.fix = fix
        super().__init__((f"line {line}: " if line else "") + reason + (f"; {fix}" if fix else ""))


class UnquotedDate(str):
    """A date as it is written. `dump` writes it without quotes too: Pulumi's engine makes another text of it then."""


def load(text: str) -> Any:
    """The one document of the text; None where it is empty. Read by libyaml where both parsers read the same of it, in a tenth of
    the time."""
    nodes = _by_libyaml(text) if _ALIKE.fullmatch(text) else None
    if nodes is not None and len(nodes) == 1:
        with contextlib.suppress(yaml.YAMLError, ValueError, OverflowError):  # the other parser has a message for it
            return cast(Any, _Loader("")).construct_document(nodes[0])
    return _within(text, _Loader.single_value)


def compose(text: str) -> Node | None:
    """The one document of the text as nodes, with the place of each; None where it is empty."""
    return _within(text, _Loader.single_node)


def compose_all(text: str, *, fast: bool = False) -> list[Node]:
    """The documents that hold something. `fast`: by libyaml, which takes a fifth of the time, also where it may read something
    otherwise. What it refuses is read again, for the other parser's messages."""
    nodes = _by_libyaml(text) if fast or _ALIKE.fullmatch(text) else None
    return [node for node in (nodes or _within(text, _Loader.nodes)) if not (isinstance(node, ScalarNode) and node.value == "")]


def _by_libyaml(text: str) -> list[Node] | None:
    """None: libyaml isn't there, refuses the text, or could run out of stack with it."""
    loader: Any = getattr(yaml, "CSafeLoader", None)
    indicators = max(len(line) - len(line.lstrip(" \t?:-")) for line in text.split("\n"))  # each of them can be a level
    if loader is None or len(text) > LONGEST or text.count("[") + text.count("{") + indicators > _SAFE_DEPTH:
        return None
    try:
        nodes: list[Node] = [each for each in cast(Any, yaml).compose_all(text, Loader=loader) if each is not None]
        return nodes if all(_measured(node, {})[1] < DEEPEST for node in nodes) else None
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None


def number(node: ScalarNode) -> int | float | str:
    """What YAML 1.1 makes of it. What only looks like a number, such as `0x`, or is too long for one, is text."""
    text = str(node.value)
    if len(text) > _LONGEST_NUMBER:
        return text
    constructor = cast(Any, SafeConstructor())
    try:
        if node.tag.endswith("float"):
            return constructor.construct_yaml_float(node)
        found: int = constructor.construct_yaml_int(node)
    except (ValueError, OverflowError, IndexError):
        return text
    return found if found.bit_length() < _MOST_BITS else text


class _Loader(yaml.SafeLoader):
    """Composes nodes up to a depth, and makes values of them within the limits."""

    depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        self.depth += 1
        if self.depth > DEEPEST:
            line: int = cast(Any, self).peek_event().start_mark.line + 1
            raise BoundedYamlError(f"this is nested more than {DEEPEST} deep", line)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def single_node(self) -> Node | None:
        node: Node | None = self.get_single_node()
        if node is not None:
            _measured(node, {})
        return node

    def single_value(self) -> Any:
        node = self.single_node()
        return None if node is None else cast(Any, self).construct_document(node)

    def nodes(self) -> list[Node]:
        found: list[Node] = []
        while self.check_node():
            node = self.get_node()
            if node is not None:
                _measured(node, {})
                found.append(node)
        return found

    def scalar(self, node: Node) -> str:
        """The text of a value as it is written."""
        if not isinstance(node, ScalarNode):
            raise BoundedYamlError("a list or a mapping stands where a word is expected", _line(node))
        return str(node.value)

    def date(self, node: Node) -> UnquotedDate:
        return UnquotedDate(self.scalar(node))

    def unknown(self, node: Node) -> None:
        raise BoundedYamlError("a tag of YAML (what starts with '!') isn't understood here", _line(node), "remove it")

    def plain_number(self, node: Node) -> int | float | str:
        return number(node) if isinstance(node, ScalarNode) else self.scalar(node)

    def truth(self, node: Node) -> bool:
        word = self.scalar(node).lower()
        if word not in SafeConstructor.bool_values:
            raise BoundedYamlError("this word is neither true nor false", _line(node))
        return SafeConstructor.bool_values[word]


_CONSTRUCTORS = cast(dict[str | None, Callable[[_Loader, Any], Any]], SafeConstructor.yaml_constructors)
_Loader.yaml_constructors = {
    **{tag: _CONSTRUCTORS[tag] for tag in (f"{TAG}null", f"{TAG}str", f"{TAG}seq", f"{TAG}map")},
    f"{TAG}bool": _Loader.truth,
    f"{TAG}int": _Loader.plain_number,
    f"{TAG}float": _Loader.plain_number,
    f"{TAG}timestamp": _Loader.date,
    f"{TAG}merge": _Loader.scalar,
    f"{TAG}value": _Loader.scalar,
    None: _Loader.unknown,
}


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # by libyaml where it is there
    def date(self, date: UnquotedDate) -> ScalarNode:
        return cast(Any, self).represent_scalar(f"{TAG}timestamp", str(date))


_Dumper.add_representer(UnquotedDate, _Dumper.date)
_Dumper.add_implicit_resolver(f"{TAG}float", _NUMBER_ELSEWHERE, list("-+.0123456789"))


def dump(value: object, *, flow: bool = False, indent: int = 2) -> str:
    """Plain values as YAML. Text stays text for a reader that takes more for numbers and dates than YAML 1.1, too."""
    return yaml.dump(
        value, Dumper=_Dumper, default_flow_style=flow, indent=indent, sort_keys=False, allow_unicode=True, width=LONGEST
    )


def _within(text: str, read: Callable[[_Loader], T]) -> T:
    if len(text) > LONGEST:
        raise BoundedYamlError(f"it has {len(text)} characters, and at most {LONGEST} are read")
    loader: _Loader | None = None
    try:
        loader = _Loader(text)
        return read(loader)
    except yaml.MarkedYAMLError as error:
        raise _malformed(error, text) from None
    except ReaderError as error:
        line = text.count("\n", 0, int(error.position)) + 1
        raise BoundedYamlError("a character here is not text that YAML takes", line, "remove it") from None
    except (OverflowError, ValueError) as error:  # the escape "\U00110000" isn't a character
        if isinstance(error, BoundedYamlError):
            raise
        raise BoundedYamlError("an escape in double quotes isn't a character") from None
    finally:
        if loader is not None:
            cast(Any, loader).dispose()


def _measured(node: Node, known: dict[int, tuple[int, int] | None]) -> tuple[int, int]:
    """How many values a node stands for and how deep they are, with all that aliases repeat. What is repeated is counted once."""
    if id(node) in known:
        found = known[id(node)]
        if found is None:
            raise BoundedYamlError("an alias stands within what it repeats, so that it never ends", _line(node))
        return found
    known[id(node)] = None
    count, depth = 1, 0
    for inner in _inner(node):
        values, below = _measured(inner, known)
        count, depth = count + values, max(depth, below + 1)
    if count > MOST_VALUES:
        raise BoundedYamlError(
            f"these are more than {MOST_VALUES} values, with those that aliases repeat", _line(node), "write fewer of them"
        )
    if depth > DEEPEST:
        raise BoundedYamlError(f"with what aliases repeat, this is nested more than {DEEPEST} deep", _line(node))
    known[id(node)] = count, depth
    return count, depth


def _inner(node: Node) -> list[Node]:
    """Values, and the keys that are more than a word."""
    if isinstance(node, MappingNode):
        for key, _ in node.value:
            _checked(key)
        return [each for key, value in node.value for each in ((value,) if isinstance(key, ScalarNode) else (key, value))]
    if isinstance(node, SequenceNode):
        return list(node.value)
    _checked(node)
    return []


def _checked(node: Node) -> None:
    r"""Two escapes of JSON, such as `"\ud83d\ude00"`, become one character. Half of such a pair isn't text that
    can be written anywhere."""
    if isinstance(node, ScalarNode) and not str(node.value).isprintable():
        try:
            node.value = str(node.value).encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise BoundedYamlError("an escape in double quotes is half of a character", _line(node)) from None


def _line(node: Node) -> int | None:
    return node.start_mark.line + 1 if node.start_mark else None


def _malformed(error: yaml.MarkedYAMLError, text: str) -> BoundedYamlError:
    """The parser's message about the grammar, without any of the text."""
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    rows = text.splitlines()
    tabs = [number for number, row in enumerate(rows, start=1) if "\t" in row[: len(row) - len(row.lstrip())]]
    if tabs and ("\\t" in (error.problem or "") or line in tabs):
        more = f" and {len(tabs) - _SHOWN_LINES} more" if len(tabs) > _SHOWN_LINES else ""
        which = ", ".join(str(number) for number in tabs[:_SHOWN_LINES])
        lines = f"line {which} is" if len(tabs) == 1 else f"lines {which}{more} are"
        fix = "replace each tab by spaces, as many as the lines around have"
        return BoundedYamlError(f"{lines} indented with tabs, which YAML doesn't take", tabs[0], fix)
    problem = error.problem or ""
    if problem.startswith("but "):  # of a sentence that begins in front of it
        return BoundedYamlError("this is one document more than is read", line, "put each into a separate file")
    reason = f"this is not YAML: {_without_words(problem)}"
    return BoundedYamlError(reason, line, "correct this line or the one before it")


def _without_words(problem: str) -> str:
    """Of what is quoted only single characters."""
    words = _QUOTED.sub(lambda quoted: quoted[0] if len(quoted["one"] or quoted["other"] or "") == 1 else "", problem)
    return "something else is expected" if words == "expected" else words
