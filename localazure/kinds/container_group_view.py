"""The containers of a group as GET shows them: states, restart counts and events, read live from the runtime.

States and their words: Microsoft Learn, REST reference of Microsoft.ContainerInstance 2023-05-01, "Container Groups - Get", and
container-instances/container-state (Pending until init containers have run and volumes are mounted).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from localazure.arm.store import Body

State = Mapping[str, Any]  # of localazure.containers.runtime
Failure = Mapping[str, Any]  # of one container: the state's detail, and events; see `container_groups`
_STATE_KEYS = ("state", "startTime", "finishTime", "exitCode", "detailStatus")


def group_state(states: Mapping[str, State], init: Collection[str] = (), *, stopped: bool) -> str:
    """Pending, Running, Succeeded, Failed or Stopped."""
    if not states:
        return "Stopped" if stopped else "Pending"
    if not all(state["current"] for state in states.values()):
        return "Pending"
    if not stopped and has_failed(states, init):
        return "Failed"  # what waits for it learns that a moment later
    if not all(state["ended"] for state in states.values()):
        return "Running" if has_begun(states, init) else "Pending"
    if stopped:
        return "Stopped"
    return "Failed" if any(state["current"].get("exitCode") for state in states.values()) else "Succeeded"


def has_begun(states: Mapping[str, State], init: Collection[str]) -> bool:
    """Whether nothing waits for an init container any more."""
    return not init or all(_ran(state) for name, state in states.items() if name not in init)


def has_failed(states: Mapping[str, State], init: Collection[str]) -> bool:
    """Whether an init container has failed for good."""
    return any(state["ended"] and state["current"].get("exitCode", 1) for name, state in states.items() if name in init)


def _ran(state: State) -> bool:
    return bool(state["current"]) and (state["current"]["state"] != "Waiting" or bool(state["previous"]))


def has_ended(states: Mapping[str, State]) -> bool:
    return bool(states) and all(state["ended"] for state in states.values())


def containers(listed: Sequence[Body], states: Mapping[str, State], failures: Mapping[str, Failure]) -> list[Body]:
    """The containers with their instanceView. `failures`: those that couldn't be started, by name."""
    return [
        {
            **container,
            "properties": {
                **container["properties"],
                "instanceView": _view(states, failures, container["name"]),
            },
        }
        for container in listed
    ]


def _view(states: Mapping[str, State], failures: Mapping[str, Failure], name: str) -> Body:
    view = container_view(states.get(name))
    failure = failures.get(name)
    if failure is None:
        return view
    return {
        **view,
        "currentState": {"state": "Waiting", "detailStatus": failure["detailStatus"]},
        "events": [*view["events"], *failure["events"]],
    }


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
