"""Starts and deallocates virtual machines, and waits for them; `PowerError` on failure or timeout.

Machines are deallocated, not only shut down, because a machine that is shut down is still billed.
"""

import time
from collections.abc import Callable
from typing import Any, Protocol

from azure_gpu.catalog.services.machines.shutdown import DEALLOCATED, RUNNING
from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.virtual_machines import API_VERSION

POLL_SECONDS = 2.0
LIMIT_SECONDS = 1200.0  # a machine with GPUs takes minutes; lack of capacity is reported sooner
ROLE = "Virtual Machine Contributor"  # built-in; its actions are to start and to deallocate
_READY = "Ready"


class Api(Protocol):
    """Requests to ARM."""

    def get(self, resource_id: str, api_version: str) -> dict[str, Any] | None: ...

    def post(self, path: str, api_version: str, body: dict[str, Any] | None = None) -> dict[str, Any]: ...


class PowerError(Exception):
    """The machine didn't reach the requested state. The text is for the user."""


def start(arm: Api, machine_id: str, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Returns when it is running and its agent, which run-commands need, is ready."""
    _ask(arm, machine_id, "start")
    _wait(arm, machine_id, lambda view: power_of(view) == RUNNING.name and agent_is_ready(view), "start", sleep)


def deallocate(arm: Api, machine_id: str, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Returns when it is deallocated; from then on only its disk is billed."""
    _ask(arm, machine_id, "deallocate")
    _wait(arm, machine_id, lambda view: power_of(view) == DEALLOCATED.name, "be deallocated", sleep)


def power_of(view: dict[str, Any]) -> str:
    codes = [str(each.get("code") or "") for each in view.get("statuses") or []]
    return next((code.partition("/")[2] for code in codes if code.startswith("PowerState/")), "")


def agent_is_ready(view: dict[str, Any]) -> bool:
    """True also if the view has no agent, as from services without one."""
    agent = view.get("vmAgent")
    return agent is None or any(each.get("displayStatus") == _READY for each in agent.get("statuses") or [])


def _ask(arm: Api, machine_id: str, action: str) -> None:
    try:
        arm.post(f"{machine_id}/{action}", API_VERSION)
    except AzureError as error:
        if error.status == 403:
            name = machine_id.rsplit("/", 1)[-1]
            raise PowerError(f"this login may not {action} {name}; it needs the role {ROLE} on it ({error})") from error
        raise


def _wait(arm: Api, machine_id: str, there: Callable[[dict[str, Any]], bool], what: str, sleep: Callable[[float], None]) -> None:
    waited = 0.0
    while True:
        view = arm.get(f"{machine_id}/instanceView", API_VERSION)
        name = machine_id.rsplit("/", 1)[-1]
        if view is None:
            raise PowerError(f"{name} doesn't exist any more; it was deleted outside the stack, or evicted as a Spot machine")
        if there(view):
            return
        failed = next((each for each in view.get("statuses") or [] if "/failed" in str(each.get("code") or "").lower()), None)
        if failed is not None:
            raise PowerError(
                f"{name} failed to {what}: {failed.get('code')}: {failed.get('message') or failed.get('displayStatus')}"
            )
        if waited >= LIMIT_SECONDS:
            raise PowerError(
                f"{name} didn't {what} within {LIMIT_SECONDS / 60:g} minutes; it is {power_of(view) or 'in no known state'}"
            )
        sleep(POLL_SECONDS)
        waited += POLL_SECONDS
