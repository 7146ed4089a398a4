"""Parses autoscale formulas: statements `name = expression;`, each as a tree whose nodes have their offsets.

After a fault, parsing continues behind the next semicolon."""

import math
import re
from collections.abc import Callable
from typing import NamedTuple

MOST_DEPTH = 40  # of brackets, calls, signs and choices in each other
_MOST_NODES_DEEP = 200  # with operators, methods and members; a walk over a formula recurses into each


class Number(NamedTuple):
    value: float
    at: int


class Text(NamedTuple):
    value: str
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
    """`of.name(arguments)`."""

    of: "Node"
    name: str
    arguments: tuple["Node", ...]
    at: int  # of the method's name


class Member(NamedTuple):
    """`of.name`."""

    of: "Node"
    name: str
    at: int


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


Node = Number | Text | Name | Call | Method | Member | Sign | Chain | Choice


class Statement(NamedTuple):
    """`target = value;`, or only a value, such as `stop();`."""

    target: Name | None
    value: Node


class Fault(NamedTuple):
    """What is wrong, and the offset at which it stands."""

    message: str
    at: int


class FaultError(Exception):
    """Carries a fault out of the depth of an expression."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.fault = Fault(message, at)


class _Token(NamedTuple):
    kind: str  # number, text, name, sign; "" at the end
    text: str
    at: int


_TOKEN = re.compile(
    r"(?:\s|//[^\n]*+)*+(?:"
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))"
    r'|(?P<text>"[^"\n]*")'
    r"|(?P<name>\$?[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<sign>&&|\|\||[<>=!]=|/(?!\*)|[-+*<>!?:=(),;.]))"
)
_BLANK = re.compile(r"(?:\s|//[^\n]*+)*+")
# Operators by rank, the weakest first.
_RANKS = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/"))


def read(text: str) -> tuple[list[Statement], list[Fault]]:
    """The statements of a formula and everything in it that can't be read."""
    tokens, faults = _tokens(text)
    return ([], faults) if faults else _Reader(tokens).statements()


class _Reader:
    """Recursive descent with one token of look-ahead."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def statements(self) -> tuple[list[Statement], list[Fault]]:
        found: list[Statement] = []
        faults: list[Fault] = []
        while self._peek().kind:
            if self._peek().text == ";":  # an empty statement
                self._take()
                continue
            try:
                found.append(self._statement())
            except FaultError as error:
                faults.append(error.fault)
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
            if self._peek().text == "(":
                node = Method(node, name.text, self._arguments(), name.at)
            else:
                node = Member(node, name.text, name.at)
        return node

    def _first(self) -> Node:
        token = self._peek()
        if token.kind not in ("number", "text", "name") and token.text != "(":
            raise self._unexpected(token, "a value")
        self._take()
        if token.kind == "number":
            if math.isinf(value := float(token.text)):
                raise FaultError(f"{token.text} is too large a number", token.at)
            return Number(value, token.at)
        if token.kind == "text":
            return Text(token.text[1:-1], token.at)
        if token.kind == "name":
            if self._peek().text == "(":
                return Call(token.text, self._arguments(), token.at)
            return Name(token.text, token.at)
        inner = self._expression()
        self._expect(")", "the closing )")
        return inner

    def _arguments(self) -> tuple[Node, ...]:
        self._take()
        arguments: list[Node] = []
        while self._peek().text != ")":
            if arguments:
                self._expect(",", "a comma or the closing )")
            arguments.append(self._expression())
        self._take()
        return tuple(arguments)

    def _deeper(self, read_one: Callable[[], Node]) -> Node:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise FaultError(f"values stand more than {MOST_DEPTH} deep in each other", self._peek().at)
        node = read_one()
        self._depth -= 1
        return node

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        if token.kind:
            self._next += 1
        return token

    def _expect(self, wanted: str, what: str) -> _Token:
        token = self._peek()
        if wanted not in (token.kind, token.text):
            raise self._unexpected(token, what)
        return self._take()

    def _unexpected(self, token: _Token, wanted: str) -> FaultError:
        if not token.kind:
            return FaultError(f"the formula ends where {wanted} is expected", token.at)
        return FaultError(f"{token.text} stands where {wanted} is expected", token.at)


def _too_deep(root: Node) -> int | None:
    """Where a node stands that is deeper than the rest of this package goes."""
    waiting: list[tuple[Node, int]] = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _MOST_NODES_DEEP:
            return node.at
        waiting.extend((inner, depth + 1) for inner in _inner(node))
    return None


def _inner(node: Node) -> tuple[Node, ...]:
    match node:
        case Call():
            return node.arguments
        case Method():
            return (node.of, *node.arguments)
        case Member():
            return (node.of,)
        case Sign():
            return (node.operand,)
        case Chain():
            return (node.first, *(link.operand for link in node.links))
        case Choice():
            return (node.condition, node.yes, node.no)
        case _:
            return ()


def _tokens(text: str) -> tuple[list[_Token], list[Fault]]:
    tokens: list[_Token] = []
    faults: list[Fault] = []
    position = 0
    while (match := _TOKEN.match(text, position)) and match.lastgroup:
        tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        position = match.end()
    blank = _BLANK.match(text, position)
    position = blank.end() if blank else position
    if position < len(text):
        faults.append(Fault(_unreadable(text[position:]), position))
    tokens.append(_Token("", "", len(text.rstrip())))
    return tokens, faults


def _unreadable(rest: str) -> str:
    if rest.startswith("/*"):
        return "comments begin with // and go to the end of the line"
    if rest.startswith('"'):
        return 'a text in double quotes has no closing " on its line'
    if rest.startswith("'"):
        return "texts stand in double quotes"
    if rest.startswith("["):
        return "a list of numbers is written vec(1, 2, 3)"
    if rest[0] in "&|":
        return f"{rest[0]} isn't an operator; {rest[0] * 2} is"
    word = re.match(r"[\w.$]+", rest)
    return f"{word[0] if word else rest[0]} can't be read: not a number, name or operator"
