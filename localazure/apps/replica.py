"""Runs one replica of an execution: its init containers one after the other, then its containers together, until all have ended.

How it ended is written into the replica's record. A replica that an earlier server began is resumed where it is: containers that
have begun aren't started again.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from localazure.apps import records
from localazure.arm.store import Body
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.runtime import Runtime, State

DEADLINE_EXCEEDED = "DeadlineExceeded"  # Kubernetes' word for a job that ran too long
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 0.5  # between two looks: often at first, rarely for what runs for hours
_ASKED_TO_END = "Killing"  # the event of a container that somebody ended


class TooLongError(Exception):
    """The replica's time is over."""


async def run(
    runtime: Runtime,
    group: str,
    inits: Sequence[ContainerSpec],
    mains: Sequence[ContainerSpec],
    replica: Body,
    deadline: datetime,
    now: Callable[[], datetime],
) -> None:
    """Runs to the end and sets `outcome`. Where it is cancelled the containers continue, for whoever takes them up."""
    try:
        for count in range(1, len(inits) + 1):
            await _start(runtime, group, inits[:count])
            if not await _ended(runtime, group, inits[count - 1 : count], deadline, now):
                _note(runtime, group, replica)
                return
        await _start(runtime, group, [*inits, *mains])
        await _ended(runtime, group, mains, deadline, now)
        _note(runtime, group, replica)
    except TooLongError:
        await runtime.stop(group)
        _note(runtime, group, replica)
        replica["outcome"], replica["reason"] = records.FAILED, DEADLINE_EXCEEDED
        replica["information"] = "The replica ran longer than the job's replicaTimeout allows, and was ended."


async def stop(runtime: Runtime, group: str, replica: Body) -> None:
    """Ends a replica because its execution is over."""
    await runtime.stop(group)
    _note(runtime, group, replica)
    replica["outcome"] = records.STOPPED


def containers_of(states: dict[str, State]) -> dict[str, Body]:
    """Each container by name as the record keeps it: `status`, and `code` and `information` once it has ended."""
    return {name: _container(state) for name, state in states.items()}


def _container(state: State) -> Body:
    current = state["current"]
    if not current:
        return {"status": "Waiting"}
    if current["state"] != "Terminated":
        return {"status": current["state"]}
    code = current["exitCode"]
    return {
        "status": records.SUCCEEDED if code == 0 else records.FAILED,
        "code": code,
        "information": current["detailStatus"],  # Completed, Error, OOMKilled
    }


def _note(runtime: Runtime, group: str, replica: Body) -> None:
    states = runtime.states(group)
    replica["containers"] = containers_of(states)
    found = list(replica["containers"].values())
    if found and all(container["status"] == records.SUCCEEDED for container in found):
        replica["outcome"] = records.SUCCEEDED
    elif any(event["name"] == _ASKED_TO_END for state in states.values() for event in state["events"]):
        replica["outcome"] = records.LOST
    else:
        replica["outcome"] = records.FAILED


async def _start(runtime: Runtime, group: str, specs: Sequence[ContainerSpec]) -> None:
    """Starts those that haven't begun. Not cut off in the middle: who is told to end a container has to find it."""
    if {spec.name for spec in specs} <= runtime.states(group).keys():
        return
    starting = asyncio.ensure_future(runtime.start(group, list(specs)))
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await starting
        raise


async def _ended(
    runtime: Runtime, group: str, specs: Sequence[ContainerSpec], deadline: datetime, now: Callable[[], datetime]
) -> bool:
    """Waits until these have ended. Whether all of them did so with 0."""
    names = [spec.name for spec in specs]
    wait = _SHORTEST_WAIT
    while True:
        states = runtime.states(group)
        chosen = [states[name] for name in names if name in states]
        if len(chosen) == len(names) and all(state["ended"] for state in chosen):
            return all(state["current"].get("exitCode") == 0 for state in chosen)
        if now() >= deadline:
            raise TooLongError
        await asyncio.sleep(wait)
        wait = min(wait * 1.05, _LONGEST_WAIT)
