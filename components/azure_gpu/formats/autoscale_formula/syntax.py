"""Parses autoscale formulas: statements `name = expression;`, each as a tree whose nodes have their offsets.

After a fault, parsing continues behind the next semicolon."""

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from azure_gpu.formats.tokens import Token, TokenReader, scan

MOST_DEPTH = 40  # of brackets, calls, signs and choices in each other
_MOST_NODES_DEEP = 200  # with operators, methods and members; a walk over a formula recurses into each


class Literal(NamedTuple):
    value: float | str
    at: int


class Name(NamedTuple):
    name: str
    at: int


class Call(NamedTuple):
    """`name(arguments)`."""

    name: str
    arguments: tuple["Node", ...]
    at: int


class Method(NamedTuple):
    """`of.name(arguments)`; without arguments the member `of.name`."""

    of: "Node"
    name: str
    arguments: tuple["Node", ...] | None
    at: int  # of the name


class Sign(NamedTuple):
    """`-operand` or `!operand`."""

    sign: str
    operand: "Node"
    at: int


class Link(NamedTuple):
    """An operator and what stands behind it."""

    sign: str
    operand: "Node"
    at: int  # of the operator


class Chain(NamedTuple):
    """`first + second - third`: operators of one rank from left to right. A list, so that a long sum isn't a deep tree."""

    first: "Node"
    links: tuple[Link, ...]
    at: int


class Choice(NamedTuple):
    """`condition ? yes : no`."""

    condition: "Node"
    yes: "Node"
    no: "Node"
    at: int


Node = Literal | Name | Call | Method | Sign | Chain | Choice


class Statement(NamedTuple):
    """`target = value;`, or only a value, such as `stop();`."""

    target: Name | None
    value: Node


class FaultError(Exception):
    """What is wrong, and the offset at which it stands."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message, self.at = message, at


_TOKEN = re.compile(
    r"(?:\s|//[^\n]*+)*+(?:"
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))"
    r'|(?P<text>"[^"\n]*")'
    r"|(?P<name>\$?[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>&&|\|\||[<>=!]=|/(?!\*)|[-+*<>!?:=(),;.]))"
)
_BLANK = re.compile(r"(?:\s|//[^\n]*+)*+")
_UNREADABLE = {
    "/*": "comments begin with // and go to the end of the line",
    '"': 'a text in double quotes has no closing " on its line',
    "'": "texts stand in double quotes",
    "[": "a list of numbers is written vec(1, 2, 3)",
    "&": "& isn't an operator; && is",
    "|": "| isn't an operator; || is",
}
# Operators by rank, the weakest first.
_RANKS = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/"))


def read(text: str) -> tuple[list[Statement], list[FaultError]]:
    """The statements of a formula and everything in it that can't be read."""
    tokens, faults = _tokens(text)
    return ([], faults) if faults else _Reader(tokens).statements()


class _Reader(TokenReader):
    def statements(self) -> tuple[list[Statement], list[FaultError]]:
        found: list[Statement] = []
        faults: list[FaultError] = []
        while self._peek().kind:
            if self._peek().text == ";":  # an empty statement
                self._take()
                continue
            try:
                found.append(self._statement())
            except FaultError as error:
                faults.append(error)
                self._depth = 0
                while self._peek().kind and self._peek().text != ";":
                    self._take()
        return found, faults

    def _statement(self) -> Statement:
        target = None
        if self._peek().kind == "name" and self._tokens[self._next + 1].text == "=":
            name = self._take()
            self._take()
            target = Name(name.text, name.at)
        value = self._expression()
        behind = self._peek()
        if behind.text == "=":
            raise FaultError("only a variable can be set; == compares two values", behind.at)
        if behind.kind and behind.text != ";":
            if behind.kind == "name":
                raise FaultError(f"a semicolon is missing before {behind.text}", behind.at)
            raise self._unexpected(behind, "an operator or a semicolon")
        if (at := _too_deep(value)) is not None:
            raise FaultError("values, operators and members stand too deep in each other", at)
        return Statement(target, value)

    def _expression(self) -> Node:
        return self._deeper(self._choice)

    def _choice(self) -> Node:
        condition = self._ranked(0)
        if self._peek().text != "?":
            return condition
        at = self._take().at
        yes = self._expression()
        self._expect(":", "a : and what holds otherwise")
        return Choice(condition, yes, self._expression(), at)

    def _ranked(self, rank: int) -> Node:
        if rank == len(_RANKS):
            return self._signed()
        first = self._ranked(rank + 1)
        links: list[Link] = []
        while self._peek().kind == "sign" and self._peek().text in _RANKS[rank]:
            sign = self._take()
            links.append(Link(sign.text, self._ranked(rank + 1), sign.at))
        return Chain(first, tuple(links), first.at) if links else first

    def _signed(self) -> Node:
        token = self._peek()
        if token.text in ("-", "!"):
            self._take()
            return Sign(token.text, self._deeper(self._signed), token.at)
        return self._linked(self._first())

    def _linked(self, node: Node) -> Node:
        while self._peek().text == ".":
            self._take()
            name = self._expect("name", "the name of a method or a member")
            node = Method(node, name.text, self._arguments() if self._peek().text == "(" else None, name.at)
        return node

    def _first(self) -> Node:
        token = self._peek()
        if token.kind not in ("number", "text", "name") and token.text != "(":
            raise self._unexpected(token, "a value")
        self._take()
        if token.kind == "number":
            if math.isinf(value := float(token.text)):
                raise FaultError(f"{token.text} is too large a number", token.at)
            return Literal(value, token.at)
        if token.kind == "text":
            return Literal(token.text[1:-1], token.at)
        if token.kind == "name":
            return Call(token.text, self._arguments(), token.at) if self._peek().text == "(" else Name(token.text, token.at)
        inner = self._expression()
        self._expect(")", "the closing )")
        return inner

    def _arguments(self) -> tuple[Node, ...]:
        return self._in_brackets(self._expression, ")")

    def _deeper(self, read_one: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise FaultError(f"values stand more than {MOST_DEPTH} deep in each other", self._peek().at)
        node = read_one()
        self._depth -= 1
        return node

    def _unexpected(self, token: Token, wanted: str) -> FaultError:
        if not token.kind:
            return FaultError(f"the formula ends where {wanted} is expected", token.at)
        return FaultError(f"{token.text} stands where {wanted} is expected", token.at)


def _too_deep(root: Node) -> int | None:
    """Where a node stands that is deeper than the rest of this package goes."""
    waiting: list[tuple[Any, int]] = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _MOST_NODES_DEEP:
            return node.at
        parts = (one for part in node for one in (part if type(part) is tuple else (part,)))
        waiting.extend((one, depth + (type(one) is not Link)) for one in parts if isinstance(one, Node | Link))
    return None


def _tokens(text: str) -> tuple[list[Token], list[FaultError]]:
    tokens, position = scan(_TOKEN, text)
    blank = _BLANK.match(text, position)
    position = blank.end() if blank else position
    faults = [FaultError(_unreadable(text[position:]), position)] if position < len(text) else []
    return [*tokens, Token("", "", len(text.rstrip()))], faults


def _unreadable(rest: str) -> str:
    word = re.match(r"[\w.$]+", rest)
    unread = f"{word[0] if word else rest[0]} can't be read: not a number, name or operator"
    return next((message for beginning, message in _UNREADABLE.items() if rest.startswith(beginning)), unread)
