"""Parses template expressions, such as `[concat(parameters('name'), '-', copyIndex(1))]`, into trees.

RefusedError is raised for one that can't be parsed. Source: Microsoft Learn,
azure-resource-manager/templates/template-expressions."""

import re
from functools import lru_cache
from typing import NamedTuple

from azure_gpu.formats.arm_template.values import RefusedError
from azure_gpu.formats.tokens import Token, TokenReader, scan

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
    return _Parser(_tokens(text[1:-1])).whole()


class _Parser(TokenReader):
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
        return Call(name, self._in_brackets(self._operand, "bracket"))

    def _link(self, node: Node) -> Node:
        if self._take().text == ".":
            return Member(node, self._expect("name", "the name of a property").text)
        index = self._operand()
        self._expect("]", "the closing ]")
        return Index(node, index)

    def _unexpected(self, token: Token, wanted: str) -> RefusedError:
        given = f"'{_short(token.text)}' stands at position {token.at + 1}" if token.kind else "the expression ends"
        opened, closed = self._count("("), self._count(")")
        fix = "" if opened == closed else f"it opens {opened} round brackets and closes {closed}"
        return RefusedError(f"{given}, where {wanted} is expected", fix)

    def _count(self, sign: str) -> int:
        return sum(token.kind == "sign" and token.text == sign for token in self._tokens)


def _tokens(text: str) -> list[Token]:
    tokens, position = scan(_TOKEN, text)
    if rest := text[position:].strip():
        at = text.index(rest, position)
        fix = "texts stand in single quotes" if rest[0] == '"' else "is its closing ' missing?" if rest[0] == "'" else ""
        raise RefusedError(f"'{_short(text[at:])}' at position {at + 1} can't be read", fix)
    return [*tokens, Token("", "", len(text))]


def _number(text: str) -> int:
    if len(text) > 20:
        raise RefusedError("a number is too large")
    return int(text)


def _short(text: str) -> str:
    return text if len(text) <= 20 else text[:20] + "…"
