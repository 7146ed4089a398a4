"""What an expression's value can be, how its evaluation can fail, and the arguments of functions.

`Meter` keeps a hostile template from growing without end. RefusedError of a function names the function and the argument, and
never the value, which may be a secret."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard, final

Value = Any  # str, int, float, bool, None, list, dict; inside of the evaluator also DEFERRED and PartlyKnown

MAX_WORK = 300_000  # steps and values of one template; the largest that Azure takes is 4 MB
MAX_TEXT = 131_072  # characters of one text: Azure's limit on a literal in an expression
TOO_MUCH = "the template's expressions make more values than one template may have"
MAX_VALUE_DEPTH = 100
MAX_NUMBER = 2**63 - 1


@final
class Deferred:
    """What only a running deployment knows: what `reference` and `list*` answer."""

    def __repr__(self) -> str:
        return "DEFERRED"


DEFERRED: Final = Deferred()


class PartlyKnown(dict[str, Value]):
    """An object of which some members can't be known here. Reading one of them is an error that names it."""

    def __init__(self, known: dict[str, Value], unknown: dict[str, str]) -> None:
        super().__init__(known)
        self.unknown = unknown  # by lower-case member: what it is, in words


class RefusedError(Exception):
    """Why an expression has no value: a problem in the user's words."""

    def __init__(self, message: str, fix: str = "", *, unknown: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.unknown = unknown  # not wrong, but not to be known here


def unknown(what: str) -> RefusedError:
    return RefusedError(f"{what} is not known here", unknown=True)


class UnresolvedError(Exception):
    """The expression needs something that has failed and is reported already."""


class Meter:
    """Counts work. RefusedError where a template asks for more than any real one does."""

    def __init__(self) -> None:
        self._left = MAX_WORK
        self.exhausted = False  # and that has been refused once

    def spend(self, amount: int = 1) -> None:
        self._left -= amount
        if self._left < 0:
            self.exhausted = True
            raise RefusedError(TOO_MUCH)

    def measured(self, value: Value, depth: int = 0) -> None:
        """Pays for looking at every part of a value."""
        if isinstance(value, str):
            self.spend(1 + len(value) // 100)
            return
        self.spend()
        if depth > MAX_VALUE_DEPTH:
            raise RefusedError(f"lists and objects are nested more than {MAX_VALUE_DEPTH} deep in a value")
        if is_list(value):
            for each in value:
                self.measured(each, depth + 1)
        elif is_object(value):
            for each in value.values():
                self.measured(each, depth + 1)

    def copied(self, value: Value, depth: int = 0) -> Value:
        """The value with nothing in it shared with another, each part of it paid for."""
        self.spend()
        if depth > MAX_VALUE_DEPTH:
            raise RefusedError(f"lists and objects are nested more than {MAX_VALUE_DEPTH} deep in a value")
        if is_list(value):
            return [self.copied(each, depth + 1) for each in value]
        if isinstance(value, PartlyKnown):
            return value
        if is_object(value):
            return {key: self.copied(each, depth + 1) for key, each in value.items()}
        if isinstance(value, str):
            self.spend(len(value) // 100)
            if len(value) > MAX_TEXT:
                raise RefusedError(f"a text is longer than {MAX_TEXT} characters")
        return value


def is_object(value: object) -> TypeGuard[dict[str, Value]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Value]]:
    return isinstance(value, list)


def is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


# The kinds of values by the types of parameters, each with what it is in words.
KINDS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "string": (lambda value: isinstance(value, str), "a text"),
    "int": (is_int, "a whole number"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "array": (is_list, "a list"),
    "object": (is_object, "an object"),
}


def kind_of(value: object) -> str:
    """What a value is, in words."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "a number"
    return next((words for holds, words in KINDS.values() if holds(value)), "null")


def same(one: Value, other: Value) -> bool:
    """Equal, and of the same kind: 1 is not true."""
    if is_list(one) and is_list(other):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return kind_of(one) == kind_of(other) and one == other


def found(members: dict[str, Value], name: str) -> str | None:
    """The key of a member, in the spelling that it has: ARM compares names without regard to letter case."""
    if name in members:
        return name
    lower = name.lower()
    return next((key for key in members if key.lower() == lower), None)


MANY = 1000


class Arguments(Sequence[Value]):
    """The arguments of one call, and the questions about them."""

    def __init__(self, name: str, values: Sequence[Value], reading: Any = None) -> None:
        """`reading`: the `evaluation.Reading` that calls; functions that depend only on values don't need it."""
        self._name = name
        self._values = values
        self.reading = reading

    def __len__(self) -> int:
        return len(self._values)

    # pyrefly: ignore[bad-override]
    def __getitem__(self, index: int) -> Value:
        return self._values[index]

    def _one(self, index: int, kind: str) -> Any:
        holds, words = KINDS[kind]
        if not holds(self._values[index]):
            raise self.wrong(index, words)
        return self._values[index]

    def text(self, index: int) -> str:
        return self._one(index, "string")

    def texts(self) -> list[str]:
        return [self.text(index) for index in range(len(self))]

    def number(self, index: int) -> int:
        return self._one(index, "int")

    def truth(self, index: int) -> bool:
        return self._one(index, "bool")

    def elements(self, index: int) -> list[Value]:
        return self._one(index, "array")

    def members(self, index: int) -> dict[str, Value]:
        return self._one(index, "object")

    def refused(self, message: str, fix: str = "") -> RefusedError:
        return RefusedError(f"{self._name}: {message}", fix)

    def wrong(self, index: int, wanted: str) -> RefusedError:
        where = "the argument" if len(self) == 1 else f"argument {index + 1}"
        return RefusedError(f"{where} of {self._name} is {kind_of(self._values[index])}, not {wanted}")


@dataclass(frozen=True, slots=True)
class Function:
    """`call` gets `least` to `most` arguments."""

    name: str
    call: Callable[[Arguments], Value]
    least: int
    most: int


def counted(name: str, given: int, least: int, most: int) -> None:
    """RefusedError for too many or too few arguments."""
    if least <= given <= most:
        return
    limits = str(least) if least == most else f"{least} to {most}"
    takes = limits if most < MANY else f"at least {least}"
    raise RefusedError(f"{name} takes {takes} argument{'' if takes == '1' else 's'} and is given {given}")


def whole(name: str, number: int) -> int:
    """RefusedError for a number that doesn't fit into 64 bits, as Azure's numbers do."""
    if -MAX_NUMBER - 1 <= number <= MAX_NUMBER:
        return number
    raise RefusedError(f"the result of {name} is too large for a number")
