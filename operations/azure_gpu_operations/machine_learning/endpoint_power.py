"""Stops and starts an online endpoint: the stack's program removes its deployments, or creates them again.

The engine updates only the endpoint's resources, so that the state always matches Azure. Traffic is removed first and restored
last, so that no request goes to a missing deployment. An environment variable passes the request to the program; afterwards a tag
on the endpoint keeps it.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import instant, parse_day
from azure_gpu.formats.tags import STOPPED_SINCE
from azure_gpu.ml.endpoint.stopping import REQUEST_VARIABLE
from azure_gpu.shared.installation import COMMAND
from azure_gpu.stack.keys import config_key
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.commands import mend_backend, settle, update
from azure_gpu_operations.connection import connection_of
from azure_gpu_operations.guard.ending import WrongRequestError as WrongRequestError
from azure_gpu_operations.machine_learning import endpoints
from azure_gpu_operations.stack import EngineError, Stack
from azure_gpu_operations.stack_view import Resource, below, name_of, of_deployment, references
from azure_gpu_operations.terminal import some

_DEPLOYMENT = azure_types.ML_ONLINE_DEPLOYMENT.token
_CREATING = ("create", "create-replacement")
Say = Callable[[str], None]


class Power(NamedTuple):
    """State of an endpoint in Azure."""

    stopped_since: str
    """RFC 3339; "" if it isn't stopped."""
    deployments: tuple[str, ...]
    scoring_uri: str


def stop(stack: Stack, name: str, say: Say) -> None:
    """EngineError if it fails midway; calling it again continues."""
    deployment, endpoint_id = _settled(stack, name, say)
    power = _power(deployment, endpoint_id, name, stack)
    _refuse_ended(deployment, name, stack)
    if power.stopped_since and not power.deployments:
        say(f"{name} is already stopped, since {power.stopped_since}")
        return
    resources: Sequence[Resource] = deployment.get("resources") or []
    own = below(resources, component_of(resources, endpoint_id))
    if kept := sorted(name_of(each["urn"]) for each in own if each.get("protect") and each["type"] == _DEPLOYMENT):
        raise WrongRequestError(
            f"{some(kept)} of {name} is protected, and stopping would delete it; nothing was changed; fix: "
            f"{COMMAND} pulumi state unprotect URN --stack {stack.name}"
        )
    say(f"stopping {name}: {', '.join(power.deployments) or 'no deployment'}; its address and keys stay")
    since = power.stopped_since or datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    _change(stack, name, endpoint_id, since, deployment, say)
    left = _power(stack.deployment(), endpoint_id, name, stack).deployments
    if left:
        raise EngineError(f"{name} still has {', '.join(left)}, which the stack didn't create and which are still billed")
    say(f"{name} is stopped and costs nothing; its address stays {power.scoring_uri}")
    say(f"to start it again: {COMMAND} start {name} --stack {stack.name}")


def start(stack: Stack, name: str, say: Say) -> None:
    """EngineError if it fails midway; calling it again continues."""
    deployment, endpoint_id = _settled(stack, name, say)
    power = _power(deployment, endpoint_id, name, stack)
    if not power.stopped_since:
        if power.deployments:
            say(f"{name} isn't stopped; it has {', '.join(power.deployments)}")
            return
        raise WrongRequestError(
            f"{name} isn't stopped, and has no deployment; `{COMMAND} up --stack {stack.name}` deploys what the stack file has"
        )
    _refuse_ended(deployment, name, stack)
    say(f"starting {name}, stopped since {power.stopped_since}")
    _change(stack, name, endpoint_id, "", deployment, say)
    after = _power(stack.deployment(), endpoint_id, name, stack)
    declared = ", ".join(after.deployments) or "no deployment: the stack file declares none"
    say(f"{name} has {declared}; it answers at {after.scoring_uri}")


def _change(stack: Stack, name: str, endpoint_id: str, since: str, deployment: Mapping[str, Any], say: Say) -> None:
    """Stops the endpoint, or starts it if `since` is ""."""
    component = component_of(deployment.get("resources") or [], endpoint_id)
    with _requested(endpoint_id, since):
        planned = stack.planned()
        if planned.errors:
            raise EngineError("\n".join(planned.errors))
        urns = targets(planned.steps, component)
        if new := sorted(name_of(each["urn"]) for each in planned.steps if each["op"] in _CREATING and each["urn"] not in urns):
            # The Python SDK aborts on a new resource that isn't a target and whose identity it can't read.
            raise WrongRequestError(
                f"the stack file has resources that aren't deployed yet: {some(new)}; nothing was changed; fix: deploy them with "
                f"`{COMMAND} up --stack {stack.name}`, or remove them"
            )
        update(stack, f"{'stop' if since else 'start'} {name}", say, urns)


def component_of(resources: Sequence[Resource], endpoint_id: str) -> str:
    """The URN of an endpoint's component, with its deployments and traffic. WrongRequestError if the state lacks it."""
    for each in resources:
        of_type = each["type"] == azure_types.ML_ONLINE_ENDPOINT.token
        if of_type and str(each.get("id") or "").lower() == endpoint_id.lower() and each.get("parent"):
            return str(each["parent"])
    raise WrongRequestError(
        f"the state has no endpoint {endpoint_id.rsplit('/', 1)[-1]}, though the outputs name it; run `pulumi refresh` and `up`"
    )


def targets(steps: Sequence[Mapping[str, Any]], component: str) -> list[str]:
    """The URNs that a plan changes in a component, and its new dependencies. `steps`: of `pulumi preview --json`."""
    planned = {str(step["urn"]): step for step in steps}
    states = {urn: (step.get("newState") or step.get("oldState") or {}) for urn, step in planned.items()}
    chosen = [str(each["urn"]) for each in below([{"urn": urn, **state} for urn, state in states.items()], component)]
    found = dict.fromkeys(chosen)
    while chosen:
        needed = references(states.get(chosen.pop(), {}))
        new = [each for each in needed if each in planned and each not in found and planned[each]["op"] in _CREATING]
        found |= dict.fromkeys(new)
        chosen += new
    return list(found)


def _settled(stack: Stack, name: str, say: Say) -> tuple[Mapping[str, Any], str]:
    """The deployment, cleaned up after a killed run, and the endpoint's ARM id."""
    mend_backend(say)
    deployment = settle(stack, stack.deployment(), say)
    found = of_deployment(stack.name, deployment)
    if found is None or name not in found.endpoints:
        raise WrongRequestError(f"stack {stack.name} has no endpoint {name}")
    return deployment, found.endpoints[name]


def _power(deployment: Mapping[str, Any], endpoint_id: str, name: str, stack: Stack) -> Power:
    connection = connection_of(deployment)
    assert connection is not None  # else the stack had no endpoint
    with closing(Arm(connection)) as arm:
        endpoint = endpoints.get(arm, endpoint_id)
        if endpoint is None:
            raise WrongRequestError(
                f"{name} isn't in Azure; it was deleted outside the stack; to create it again, run "
                f"`{COMMAND} pulumi refresh --stack {stack.name}` and `up`"
            )
        names = tuple(sorted(each.name for each in endpoints.deployments(arm, endpoint_id)))
    return Power(endpoint.tags.get(STOPPED_SINCE, ""), names, endpoint.scoring_uri)


def _refuse_ended(deployment: Mapping[str, Any], name: str, stack: Stack) -> None:
    """Rejects expired endpoints, which the program doesn't change."""
    found = of_deployment(stack.name, deployment)
    end = instant(found.expires_at.get(name)) if found is not None else None
    day = parse_day(stack.configuration().get(config_key("as_of", stack.project), "")) or datetime.now(UTC).date()
    if end is not None and end.date() <= day:
        raise WrongRequestError(
            f"{name} has expired, and an expired endpoint isn't changed; fix: set a later `expires_after` and run "
            f"`up`, or destroy it: {COMMAND} end --past --stack {stack.name}"
        )


@contextmanager
def _requested(endpoint_id: str, since: str) -> Iterator[None]:
    """Passes the request to the program that the engine starts."""
    os.environ[REQUEST_VARIABLE] = json.dumps({endpoint_id: since})
    try:
        yield
    finally:
        del os.environ[REQUEST_VARIABLE]
