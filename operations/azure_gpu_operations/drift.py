"""Lists the differences between Azure and the stack's state; changes neither.

Changes that services make by themselves aren't drift: the number of nodes of an autoscaled pool, a stopped cluster. An endpoint
stopped by `stop` is listed but isn't drift. Differences of endpoints come from a preview of the program. Undeclared resources in
the stack's resource groups are listed too; they count as drift with --undeclared.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple, cast

from azure_gpu.formats import azure_types
from azure_gpu.formats.tags import STOPPED_SINCE
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.exit_codes import DRIFTED, FAILED, OK
from azure_gpu_operations.guard.foreign_resources import created, foreign_resources
from azure_gpu_operations.stack import EngineError, Stack
from azure_gpu_operations.stack_view import name_of
from azure_gpu_operations.terminal import printable

CLUSTER, POOL = azure_types.MANAGED_CLUSTER.token, azure_types.AGENT_POOL.token
ENDPOINT = azure_types.ML_ONLINE_ENDPOINT.token
_POOLS = "agentPoolProfiles"
_LONGEST = 60  # characters of a value

_say = partial(print, flush=True)
Step = Mapping[str, Any]


class Difference(NamedTuple):
    """A difference between Azure and the state."""

    name: str
    """The resource's logical name."""
    type: str
    """Its token."""
    path: str
    """The property; "" for the whole resource."""
    description: str


def show(stack: Stack, *, count_undeclared: bool) -> int:
    """Prints the differences. Returns the exit code of `preview --drift`."""
    try:
        steps = stack.refreshed()
        found = differences(steps)
        if any(_token(step) == ENDPOINT for step in steps):
            planned = stack.planned()
            if planned.errors:
                raise EngineError("; ".join(planned.errors))
            found += of_endpoints(planned.steps)
    except EngineError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    for line in stopped(steps):
        _say(line)
    for each in found:
        _say(f"{each.name} ({each.type}){': ' if each.path else ''}{each.path}: {printable(each.description)}")
    others = list(_undeclared(stack))
    for line in others:
        _say(printable(line))
    if others and count_undeclared:
        return DRIFTED
    if not found:
        _say(f"stack {stack.name}: no drift")
        return OK
    count = "1 difference" if len(found) == 1 else f"{len(found)} differences"
    _say(f"{count}; `{COMMAND} pulumi refresh --stack {stack.name}` and then `up` restore what the stack file declares")
    return DRIFTED


def _undeclared(stack: Stack) -> Iterator[str]:
    """Undeclared resources in resource groups created by the stack. Services create some by themselves; so they count
    as differences only with --undeclared."""
    deployment = stack.deployment()
    connection = connection_of(deployment)
    groups = [str(each["id"]) for each in created(deployment) if each["type"] == azure_types.RESOURCE_GROUP.token]
    if connection is None or not groups:
        return
    from azure_gpu.shared.polling import first_line
    from azure_gpu_operations.azure import UNREADABLE, Arm  # loads Azure's clients, which takes half a second

    try:
        with closing(Arm(connection)) as arm:
            for group in groups:
                for each in foreign_resources(arm, group, deployment):
                    yield f"{each}, in resource group {group.rsplit('/', 1)[-1]}: not declared in this stack"
    except UNREADABLE as error:
        yield f"other resources in its resource groups couldn't be read ({first_line(error)})"


def differences(steps: Sequence[Step]) -> list[Difference]:
    """What a refresh would write into the state, without changes that services make. `steps`: as `pulumi refresh
    --preview-only --json` has them."""
    own_pools = {str(_state(step, "oldState", "outputs").get("name") or "") for step in steps if _token(step) == POOL}
    return [each for step in steps for each in _of_step(step, own_pools)]


def of_endpoints(steps: Sequence[Step]) -> list[Difference]:
    """Differences of endpoints, whose state is in a template. `steps`: as `pulumi preview --json` has them."""
    from azure_gpu.ml.endpoint.traffic import DRIFT_PATH  # here, and below: the library's components load slowly

    found: list[Difference] = []
    for step in steps:
        description = _at(DRIFT_PATH, _state(step, "newState", "inputs"))
        if description and step["op"] != "same":
            found.append(Difference(name_of(step["urn"]), ENDPOINT, "", str(description)))
    return found


def stopped(steps: Sequence[Step]) -> Iterator[str]:
    """A line for each endpoint that is stopped, by what Azure shows of it. `steps`: a refresh's."""
    for step in steps:
        since = (_state(step, "newState", "outputs").get("tags") or {}).get(STOPPED_SINCE)
        if _token(step) == ENDPOINT and since:
            yield f"{name_of(step['urn'])} ({ENDPOINT}): stopped since {printable(str(since))}, until `{COMMAND} start`"


def _of_step(step: Step, own_pools: set[str]) -> Iterator[Difference]:
    from azure_gpu.stack import service_changes

    token, name = _token(step), name_of(step["urn"])
    if step["op"] == "delete":
        yield Difference(name, token, "", "is missing in Azure")
        return
    for path, change in sorted((step.get("detailedDiff") or {}).items()):
        if change.get("inputDiff") and not service_changes.why(token, path):
            before, after = (_at(path, _state(step, key, "inputs")) for key in ("oldState", "newState"))
            yield Difference(name, token, path, f"{_shown(before)} in the state, {_shown(after)} in Azure")
    if token == CLUSTER:
        yield from _of_pools(step, own_pools)


def _of_pools(step: Step, own_pools: set[str]) -> Iterator[Difference]:
    """Differences of the pools in a cluster's body: its system pool, and undeclared ones."""
    from azure_gpu.aks import read_pools

    before, after = (read_pools.by_name(_state(step, key, "outputs").get(_POOLS) or []) for key in ("oldState", "newState"))
    for pool in sorted((before.keys() | after.keys()) - own_pools):
        was, now = before.get(pool), after.get(pool)
        path = f"{_POOLS}.{pool}"
        if was is None or now is None:
            yield Difference(name_of(step["urn"]), CLUSTER, path, "isn't declared in the stack" if was is None else "is gone")
            continue
        for key in sorted(key for key in was.keys() | now.keys() if was.get(key) != now.get(key)):
            description = f"{_shown(was.get(key))} in the state, {_shown(now.get(key))} in Azure"
            yield Difference(name_of(step["urn"]), CLUSTER, f"{path}.{key}", description)


def _state(step: Step, key: str, part: str) -> Mapping[str, Any]:
    return (step.get(key) or {}).get(part) or {}


def _token(step: Step) -> str:
    return str((step.get("oldState") or step.get("newState") or {}).get("type") or "")


def _at(path: str, value: Any) -> Any:
    """The value at a path of the engine, `a.b[0]["c.d"]`; None where there is none."""
    for name, quoted, index in re.findall(r'([^.\[\]"]+)(?![^\[]*\])|\["([^"]*)"\]|\[(\d+)\]', path):
        key = name or quoted
        if index and isinstance(value, list):
            items = cast(list[Any], value)
            value = items[int(index)] if int(index) < len(items) else None
        else:
            value = cast(Mapping[str, Any], value).get(key) if isinstance(value, Mapping) else None
    return value


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
