"""Reads the stack's own state, as the last update left it, from the engine that runs the program."""

from collections.abc import Collection, Mapping
from typing import Any, TypedDict, cast
from weakref import WeakKeyDictionary

import pulumi
from pulumi.runtime.settings import get_monitor

# The call of StackReference, and a sibling of it (pulumi/pulumi, pkg/resource/deploy/builtins.go).
READ_OUTPUTS, _READ_RESOURCES = "pulumi:pulumi:readStackOutputs", "pulumi:pulumi:readStackResourceOutputs"


class OwnResource(TypedDict):
    """A resource or a component of the stack."""

    type: str
    """Its token."""
    outputs: Mapping[str, Any]
    """By wire name."""


# By program: the state is read once.
_read: WeakKeyDictionary[object, Mapping[str, OwnResource] | None] = WeakKeyDictionary()
_exported: WeakKeyDictionary[object, Mapping[str, Any] | None] = WeakKeyDictionary()


def resources(*, of_stack_file: bool) -> Mapping[str, OwnResource] | None:
    """Returns the resources by URN; None where they can't be read. `of_stack_file`: whether the program declares a stack file.

    The engine can't list the resources of a stack that has never been up. Such a stack has no outputs; without outputs, a stack
    file's program is new, while a custom program may never have any.
    """
    program = get_monitor()  # each program has a separate one, under mocks too
    if program is None:
        return None
    if program not in _read:
        _read[program] = _asked()
    found = _read[program]
    return found if found or of_stack_file else None


def deployed(wanted: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Returns those of these types with logical names that the program of a stack file has in the state."""
    state = resources(of_stack_file=True) or {}
    return frozenset((each["type"], urn.rsplit("::", 1)[-1]) for urn, each in state.items()) & frozenset(wanted)


def outputs() -> Mapping[str, Any] | None:
    """Returns the stack's outputs after its last update; empty where there was none, None where they can't be read."""
    program = get_monitor()
    if program is None:
        return None
    if program not in _exported:
        try:
            answer = pulumi.runtime.invoke(READ_OUTPUTS, {"name": _stack()}).value
            _exported[program] = cast(Mapping[str, Any], answer).get("outputs") or {}
        except Exception as error:  # noqa: BLE001  the SDK raises nothing narrower for a failed call
            pulumi.log.debug(f"the outputs of stack {_stack()} can't be read: {error}")
            _exported[program] = None
    return _exported[program]


def _asked() -> Mapping[str, OwnResource] | None:
    """Reads the resources from the engine; empty where the stack has no outputs."""
    exported = outputs()
    if not exported:
        return exported
    try:
        return cast(Mapping[str, Any], pulumi.runtime.invoke(_READ_RESOURCES, {"stackName": _stack()}).value)["outputs"]
    except Exception as error:  # noqa: BLE001  as above
        pulumi.log.debug(f"the state of stack {_stack()} can't be read: {error}")
        return None


def _stack() -> str:
    return f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"


def named(found: Mapping[str, OwnResource], token: str, name: str) -> Mapping[str, Any]:
    """Returns the outputs of the resource with this type and logical name; empty where there is none."""
    ours = (each for urn, each in found.items() if each["type"] == token and urn.rsplit("::", 1)[-1] == name)
    return next(ours, OwnResource(type=token, outputs={}))["outputs"]
