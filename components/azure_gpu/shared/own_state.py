"""What the state of the stack has by now, as its last update left it: asked of the engine that runs the program."""

from collections.abc import Mapping
from typing import Any, TypedDict, cast
from weakref import WeakKeyDictionary

import pulumi
from pulumi.runtime.settings import get_monitor

# What StackReference calls, and a sibling of it (pulumi/pulumi, pkg/resource/deploy/builtins.go).
READ_OUTPUTS, _READ_RESOURCES = "pulumi:pulumi:readStackOutputs", "pulumi:pulumi:readStackResourceOutputs"


class OwnResource(TypedDict):
    """A resource or a component of the stack."""

    type: str
    """Its token."""
    outputs: Mapping[str, Any]
    """By wire name."""


# By program: all of it is read once.
_read: WeakKeyDictionary[object, Mapping[str, OwnResource] | None] = WeakKeyDictionary()
_exported: WeakKeyDictionary[object, Mapping[str, Any] | None] = WeakKeyDictionary()


def resources(*, of_stack_file: bool) -> Mapping[str, OwnResource] | None:
    """By URN; None where they can't be read. `of_stack_file`: whether the program declares a stack file.

    A stack that has never been up has no state, of which the engine can't list the resources. It has no outputs either, which
    tells it where the program is a stack file's; somebody's own program may have none at any time.
    """
    program = get_monitor()  # each program has one of its own, under mocks too
    if program is None:
        return None
    if program not in _read:
        _read[program] = _asked()
    found = _read[program]
    return found if found or of_stack_file else None


def outputs() -> Mapping[str, Any] | None:
    """What the stack exported with its last update; empty where there was none, None where that can't be read."""
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
    """What the engine answers; empty where the stack has no outputs."""
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
    """The outputs of the one of this type and logical name; empty where there is none."""
    ours = (each for urn, each in found.items() if each["type"] == token and urn.rsplit("::", 1)[-1] == name)
    return next(ours, OwnResource(type=token, outputs={}))["outputs"]
