"""Finds two components of a program with the same name in Azure. Azure would refuse the second only when the first exists."""

from collections.abc import Mapping, MutableMapping
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from pulumi.runtime.settings import get_monitor

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import parts
from azure_gpu.shared.context import ComponentOfProgram


class _Taken(NamedTuple):
    component: ComponentOfProgram
    within: tuple[object, ...]


Names = MutableMapping[tuple[str, str], list[_Taken]]
"""Those who have a name, by kind and name in lower case."""
OF_DEPLOYMENT: ContextVar[Names | None] = ContextVar("OF_DEPLOYMENT", default=None)
"""The names of all components that a process constructs; set for programs in other languages, where each has its own monitor."""
_of_program: WeakKeyDictionary[object, Names] = WeakKeyDictionary()


def check(component: ComponentOfProgram, args: Mapping[str, Any]) -> list[Problem]:
    """Takes the name that the arguments set, or returns a problem where another component in the same place has it."""
    kind = parts.BY_COMPONENT.get(component.kind)
    name = args.get(kind.name_key) if kind is not None else None
    if kind is None or not isinstance(name, str):
        return []
    key = kind.name_key
    within = tuple(each.lower() if isinstance(each, str) else each for each in map(args.get, kind.name_within))
    having = _names().setdefault((component.kind, name.lower()), [])
    others = [each.component for each in having if each.component.name != component.name and _same(each.within, within)]
    having.append(_Taken(component, within))
    if not others:
        return []
    return [
        Problem(
            path=f"{component}.{key}",
            message=f"this name in Azure is already used by {others[0]}.{key}",
            value=name,
            allowed="a name that no other component in the same place has",
            fix=f"choose another name, or remove {key}: then the name is built from {component.name!r}",
        )
    ]


def _names() -> Names:
    shared = OF_DEPLOYMENT.get()
    program = get_monitor()
    return shared if shared is not None else _of_program.setdefault(program, {})


def _same(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Texts are compared, all else by identity: of two outputs it isn't known whether they are the same."""
    return all(a == b if isinstance(a, str) and isinstance(b, str) else a is b for a, b in zip(one, other, strict=True))
