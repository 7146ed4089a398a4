"""Parses template expressions, such as `[concat(parameters('name'), '-', copyIndex(1))]`, into trees.

RefusedError is raised for one that can't be parsed. Source: Microsoft Learn,
azure-resource-manager/templates/template-expressions."""

import re
from functools import lru_cache
from typing import NamedTuple

from azure_gpu.formats.arm_template.values import RefusedError

MAX_LENGTH = 24_576  # Microsoft Learn, azure-resource-manager/templates/best-practices: characters in one expression
MAX_DEPTH = 40  # of calls and brackets in each other


class Literal(NamedTuple):
    value: str | int


class Call(NamedTuple):
    name: str
    arguments: tuple["Node", ...]


class Member(NamedTuple):
    """`of.name`."""

    of: "Node"
    name: str


class Index(NamedTuple):
    """`of[by]`."""

    of: "Node"
    by: "Node"


Node = Literal | Call | Member | Index

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<number>-?[0-9]+(?![\w.]))|(?P<name>[A-Za-z_][\w]*)|(?P<sign>[()\[\],.]))", re.DOTALL
)


class Token(NamedTuple):
    kind: str  # text, number, name, sign; "" at the end
    text: str
    at: int


def is_expression(text: str) -> bool:
    """`[…]` is one; `[[…` is a text that begins with a bracket."""
    return text.startswith("[") and text.endswith("]") and not text.startswith("[[")


def literal(text: str) -> str:
    """A literal text, without the escape of its bracket."""
    return text[1:] if text.startswith("[[") else text


@lru_cache(maxsize=4096)
def parse(text: str) -> Node:
    """The tree of an expression, brackets included in `text`."""
    if len(text) > MAX_LENGTH:
        raise RefusedError(f"the expression is longer than {MAX_LENGTH} characters")
    return _Parser(text[1:-1]).whole()


class _Parser:
    """Recursive descent with one token of look-ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._operand()
        left = self._peek()
        if left.kind:
            raise RefusedError(f"'{_short(left.text)}' stands at position {left.at + 1}, where the expression should end")
        return node

    def _operand(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise RefusedError(f"calls are nested more than {MAX_DEPTH} deep in an expression")
        node = self._first()
        links = 0
        while self._peek().text in (".", "["):
            links += 1
            if links > MAX_DEPTH:
                raise RefusedError(f"more than {MAX_DEPTH} members follow each other in an expression")
            node = self._link(node)
        self._depth -= 1
        return node

    def _first(self) -> Node:
        token = self._take()
        if token.kind == "text":
            return Literal(token.text[1:-1].replace("''", "'"))
        if token.kind == "number":
            return Literal(_number(token.text))
        if token.kind == "name":
            return self._call(token.text)
        raise self._unexpected(token, "a function, a text in single quotes or a number")

    def _call(self, name: str) -> Node:
        while self._peek().text == ".":  # a function of the template's own: namespace.function(…)
            self._take()
            name += "." + self._expect("name", "the name of a function").text
        if self._peek().text != "(":
            raise RefusedError(f"'{name}' is not called", f"write {name}(…), or '{name}' in single quotes where a text is meant")
        self._take()
        arguments: list[Node] = []
        while self._peek().text != ")":
            if arguments:
                self._expect(",", "a comma or the closing bracket")
            arguments.append(self._operand())
        self._take()
        return Call(name, tuple(arguments))

    def _link(self, node: Node) -> Node:
        if self._take().text == ".":
            return Member(node, self._expect("name", "the name of a property").text)
        index = self._operand()
        self._expect("]", "the closing ]")
        return Index(node, index)

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        if token.kind:
            self._next += 1
        return token

    def _expect(self, wanted: str, what: str) -> Token:
        token = self._take()
        if wanted not in (token.kind, token.text):
            raise self._unexpected(token, what)
        return token

    def _unexpected(self, token: Token, wanted: str) -> RefusedError:
        given = f"'{_short(token.text)}' stands at position {token.at + 1}" if token.kind else "the expression ends"
        opened, closed = self._count("("), self._count(")")
        fix = "" if opened == closed else f"it opens {opened} round brackets and closes {closed}"
        return RefusedError(f"{given}, where {wanted} is expected", fix)

    def _count(self, sign: str) -> int:
        return sum(token.kind == "sign" and token.text == sign for token in self._tokens)


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            at = position + len(text[position:]) - len(text[position:].lstrip())
            sign = text[at]
            fix = "texts stand in single quotes" if sign == '"' else "is its closing ' missing?" if sign == "'" else ""
            raise RefusedError(f"'{_short(text[at:])}' at position {at + 1} can't be read", fix)
        tokens.append(Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        position = match.end()
    tokens.append(Token("", "", len(text)))
    return tokens


def _number(text: str) -> int:
    if len(text) > 20:
        raise RefusedError("a number is too large")
    return int(text)


def _short(text: str) -> str:
    return text if len(text) <= 20 else text[:20] + "…"
