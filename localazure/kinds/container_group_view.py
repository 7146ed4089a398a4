"""What GET answers about a group's containers: states, restart counts and events, read live from the runtime.

States and their words: Microsoft Learn, REST reference of Microsoft.ContainerInstance 2023-05-01, "Container Groups - Get".
"""

from collections.abc import Mapping
from typing import Any

from localazure.arm.store import Body

State = Mapping[str, Any]  # of localazure.containers.runtime
_STATE_KEYS = ("state", "startTime", "finishTime", "exitCode", "detailStatus")


def group_state(states: Mapping[str, State], *, stopped: bool) -> str:
    """Pending, Running, Succeeded, Failed or Stopped."""
    if not states or not all(state["current"] for state in states.values()):
        return "Pending"
    if not all(state["ended"] for state in states.values()):
        return "Running"
    if stopped:
        return "Stopped"
    return "Failed" if any(state["current"].get("exitCode") for state in states.values()) else "Succeeded"


def has_ended(states: Mapping[str, State]) -> bool:
    return bool(states) and all(state["ended"] for state in states.values())


def container_view(state: State | None) -> Body:
    """One container's instanceView."""
    if state is None or not state["current"]:
        return {"restartCount": 0, "currentState": {"state": "Waiting", "detailStatus": ""}, "events": []}
    view: Body = {
        "restartCount": state["restart_count"],
        "currentState": _arm(state["current"]),
        "events": list(state["events"]),
    }
    if state["previous"]:
        view["previousState"] = _arm(state["previous"])
    return view


def _arm(state: State) -> Body:
    return {key: state[key] for key in _STATE_KEYS if state.get(key) is not None}
