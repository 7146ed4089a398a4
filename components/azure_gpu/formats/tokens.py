"""What the parsers of templates' expressions and of autoscale formulas share: recursive descent with one token of look-ahead."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Token(NamedTuple):
    kind: str  # the group of the pattern that it is; "" at the end
    text: str
    at: int


def scan(pattern: re.Pattern[str], text: str) -> tuple[list[Token], int]:
    """The tokens, and where what can't be read begins, or the text ends."""
    tokens: list[Token] = []
    position = 0
    while (match := pattern.match(text, position)) and match.lastgroup:
        tokens.append(Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        position = match.end()
    return tokens, position


class TokenReader:
    """Reads tokens, the last of which is the end."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        if token.kind:
            self._next += 1
        return token

    def _expect(self, wanted: str, what: str) -> Token:
        """`wanted`: a kind or a text."""
        token = self._peek()
        if wanted not in (token.kind, token.text):
            raise self._unexpected(token, what)
        return self._take()

    def _in_brackets(self, read_one: Callable[[], T], closing: str) -> tuple[T, ...]:
        """What stands between round brackets, with commas between. `closing`: the bracket in words."""
        self._take()
        found: list[T] = []
        while self._peek().text != ")":
            if found:
                self._expect(",", f"a comma or the closing {closing}")
            found.append(read_one())
        self._take()
        return tuple(found)

    def _unexpected(self, token: Token, wanted: str) -> Exception:
        raise NotImplementedError
