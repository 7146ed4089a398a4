"""Reads bodies of Azure and Kubernetes into named tuples, whose fields tell by `Annotated` where in a body their value is: by its
keys, and a function that is applied to it. What isn't there is "", 0, False, or empty."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Annotated, Any, TypeVar, cast, get_origin, get_type_hints

from azure_gpu.formats.dates import instant

Form = TypeVar("Form")


def read(form: type[Form], body: Any, **more: Any) -> Form:
    """`more`: fields that tell no place, since they are decided by several values."""
    return form(**{name: convert(at(body, *keys)) for name, keys, convert in _fields(form)}, **more)


def at(value: object, *keys: str) -> Any:
    """The value at nested keys; None if one is missing."""
    for key in keys:
        value = cast(Mapping[str, object], value).get(key) if isinstance(value, Mapping) else None
    return value


@cache
def _fields(form: type[Any]) -> list[tuple[str, tuple[str, ...], Callable[[Any], Any]]]:
    hints = {name: hint for name, hint in get_type_hints(form, include_extras=True).items() if get_origin(hint) is Annotated}
    return [
        (name, tuple(hint.__metadata__[0].split(".")), _converter(*hint.__metadata__[1:], of=hint.__origin__))
        for name, hint in hints.items()
    ]


def _converter(*given: Callable[[Any], Any], of: Any) -> Callable[[Any], Any]:
    own = _CONVERTERS.get(of, lambda found: found)
    return (lambda found: given[0](own(found))) if given else own


_CONVERTERS: dict[Any, Callable[[Any], Any]] = {
    str: lambda found: str(found or ""),
    int: lambda found: int(found or 0),
    bool: bool,
    datetime | None: instant,
    Mapping[str, str]: lambda found: {str(key): str(value) for key, value in (found or {}).items()},
    Mapping[str, int]: lambda found: {str(key): int(value) for key, value in (found or {}).items()},
}
