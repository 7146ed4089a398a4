"""Checks the number and the kinds of a function's arguments.

RefusedError names the function and the argument, and never the value, which may be a secret."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from azure_gpu.formats.arm_template.values import MAX_NUMBER, RefusedError, Value, is_int, is_list, is_object, kind_of

MANY = 1000


class Arguments(Sequence[Value]):
    """The arguments of one call, and the questions about them."""

    def __init__(self, name: str, values: Sequence[Value]) -> None:
        self._name = name
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    # pyrefly: ignore[bad-override]
    def __getitem__(self, index: int) -> Value:
        return self._values[index]

    def text(self, index: int) -> str:
        value = self._values[index]
        if not isinstance(value, str):
            raise self._wrong(index, "a text")
        return value

    def texts(self) -> list[str]:
        return [self.text(index) for index in range(len(self))]

    def number(self, index: int) -> int:
        value = self._values[index]
        if not is_int(value):
            raise self._wrong(index, "a whole number")
        return value

    def truth(self, index: int) -> bool:
        value = self._values[index]
        if not isinstance(value, bool):
            raise self._wrong(index, "true or false")
        return value

    def elements(self, index: int) -> list[Value]:
        value = self._values[index]
        if not is_list(value):
            raise self._wrong(index, "a list")
        return value

    def members(self, index: int) -> dict[str, Value]:
        value = self._values[index]
        if not is_object(value):
            raise self._wrong(index, "an object")
        return value

    def wrong(self, index: int, wanted: str) -> RefusedError:
        return self._wrong(index, wanted)

    def refused(self, message: str, fix: str = "") -> RefusedError:
        return RefusedError(f"{self._name}: {message}", fix)

    def _wrong(self, index: int, wanted: str) -> RefusedError:
        where = "the argument" if len(self) == 1 else f"argument {index + 1}"
        return RefusedError(f"{where} of {self._name} is {kind_of(self._values[index])}, not {wanted}")


@dataclass(frozen=True, slots=True)
class Function:
    """A function that depends only on values: `call` gets `least` to `most` arguments."""

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
