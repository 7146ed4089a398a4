"""Executions of jobs by themselves: retries, timeouts, replicas side by side, waiting for a machine. Containers are simulated,
and time is virtual."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from localazure.apps import executions
from localazure.apps.executions import Executions, Work
from localazure.arm.store import Body, Store
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.images import Image
from localazure.containers.runtime import Runtime, State
from tests.support.in_process import BEGAN
from tests.support.virtual_time import VirtualTimeLoop

JOB = "/subscriptions/s/resourcegroups/g/providers/microsoft.app/jobs/one"
LIMITS = {"parallelism": 1, "completions": 1, "retries": 0, "timeout": 60, "gpus": 0, "profile": "", "location": ""}
FOREVER = 1e6


class Containers:
    """A runtime whose containers take their time and end with their exit code; `command` of a spec says both."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.groups: dict[str, dict[str, Body]] = {}
        self.most = 0  # how many ran at a time

    async def start(self, group: str, specs: list[ContainerSpec]) -> None:
        of_group = self.groups.setdefault(group, {})
        for spec in specs:
            seconds, code = map(float, spec.command)
            ends = self._now() + timedelta(seconds=seconds)
            of_group.setdefault(spec.name, {"began": self._now(), "ends": ends, "code": int(code), "events": []})
        running = [one for name in self.groups for one in self.states(name).values() if not one["ended"]]
        self.most = max(self.most, len(running))

    async def stop(self, group: str) -> None:
        for one in self.groups.get(group, {}).values():
            if self._now() < one["ends"]:
                one |= {"ends": self._now(), "code": 143, "events": [{"name": "Killing"}]}

    async def remove(self, group: str) -> None:
        self.groups.pop(group, None)

    def states(self, group: str) -> dict[str, State]:
        return {name: self._state(one) for name, one in self.groups.get(group, {}).items()}

    def _state(self, one: Body) -> State:
        ended = self._now() >= one["ends"]
        terminated = {"state": "Terminated", "exitCode": one["code"], "detailStatus": "Error" if one["code"] else "Completed"}
        return {"current": terminated if ended else {"state": "Running"}, "ended": ended, "events": one["events"]}


class Scene:
    """Executions of one job, on a loop with virtual time."""

    def __init__(self, store: Store) -> None:
        self.loop = VirtualTimeLoop()
        self.containers = Containers(self.now)
        self.executions = Executions(store, cast(Runtime, self.containers), self.now, lambda: self.now().isoformat())

    def now(self) -> datetime:
        return BEGAN + timedelta(seconds=self.loop.time())

    def begin(self, *runs: tuple[float, int], inits: Any = (), shortage: Any = None, specs: Any = None, **limits: Any) -> Body:
        """Begins an execution whose n-th replica runs as `runs` say, and later ones as the last of them."""
        record = executions.new_record("one", {"containers": [{"name": "main"}]}, {**LIMITS, **limits}, self.now().isoformat())

        async def of_replica(record: Body, one: Body) -> tuple[list[ContainerSpec], list[ContainerSpec]]:
            place = record["replicas"].index(one)
            return [container(f"init-{n}", *run) for n, run in enumerate(inits)], [
                container("main", *runs[min(place, len(runs) - 1)])
            ]

        async def begin() -> None:
            self.executions.begin(JOB, record, Work(specs or of_replica, shortage or (lambda _: "")))

        self.run(begin())
        return record

    def run(self, work: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(work)

    def ended(self, record: Body) -> tuple[str, str]:
        """Status and reason, once it has ended."""
        self.run(self.executions._going[(JOB, record["name"])].task)
        return record["status"], record["reason"]

    def seconds(self) -> float:
        return self.loop.time()


def container(name: str, seconds: float, code: int) -> ContainerSpec:
    image = Image(digest="sha256:0", root=Path("/"), environment=None, entrypoint=(), cmd=(), env={}, workdir="/")
    return ContainerSpec(name=name, image=image, command=(str(seconds), str(code)), env={}, restart_policy="Never", run="1")


def codes(record: Body) -> list[list[tuple[str, int | None]]]:
    """Of each replica the containers that began, with their exit codes."""
    return [[(name, one.get("code")) for name, one in replica["containers"].items()] for replica in record["replicas"]]


def outcomes(record: Body) -> list[str]:
    return [one["outcome"] for one in record["replicas"]]


@pytest.fixture
def scene(store: Store) -> Iterator[Scene]:
    made = Scene(store)
    yield made
    made.loop.close()


def test_a_replica_that_ends_with_0_is_the_execution(scene: Scene) -> None:
    record = scene.begin((30, 0))
    scene.run(asyncio.sleep(20))
    assert (record["status"], scene.executions.containers(JOB, record, record["replicas"][0])) == (
        "Running",
        {"main": {"status": "Running"}},
    )
    assert scene.ended(record) == ("Succeeded", "")
    assert codes(record) == [[("main", 0)]]
    assert 30 <= scene.seconds() < 31
    assert record["endTime"] > record["startTime"]
    assert scene.executions.find(JOB, record["name"]) == record  # as the store has it


@pytest.mark.parametrize(
    ("limits", "runs", "end", "expected"),
    [
        ({}, [(1, 7)], ("Failed", "BackoffLimitExceeded"), [7]),
        ({"retries": 2}, [(1, 3)], ("Failed", "BackoffLimitExceeded"), [3, 3, 3]),
        ({"retries": 2}, [(1, 3), (1, 0)], ("Succeeded", ""), [3, 0]),
        ({"timeout": 5, "retries": 3}, [(FOREVER, 0)], ("Failed", "DeadlineExceeded"), [143]),  # not retried
        ({"completions": 3}, [(1, 0)], ("Succeeded", ""), [0, 0, 0]),
    ],
)
def test_how_replicas_end_decides_how_the_execution_does(
    scene: Scene, limits: dict[str, int], runs: list[tuple[float, int]], end: tuple[str, str], expected: list[int]
) -> None:
    record = scene.begin(*runs, **limits)
    assert scene.ended(record) == end
    assert codes(record) == [[("main", code)] for code in expected]
    assert len({one["name"] for one in record["replicas"]}) == len(expected)


def test_a_replica_that_takes_too_long_is_named(scene: Scene) -> None:
    record = scene.begin((FOREVER, 0), timeout=5)
    scene.ended(record)
    assert record["message"] == f"The replica {record['replicas'][0]['name']} ran longer than the replicaTimeout of 5 seconds."
    assert 5 <= scene.seconds() < 6


def test_as_many_replicas_run_at_a_time_as_are_wanted_and_still_needed(scene: Scene) -> None:
    record = scene.begin((10, 0), parallelism=2, completions=3)
    assert scene.ended(record) == ("Succeeded", "")
    assert (len(record["replicas"]), scene.containers.most) == (3, 2)
    assert 20 <= scene.seconds() < 22


def test_init_containers_run_first_and_one_that_fails_ends_the_replica(scene: Scene) -> None:
    record = scene.begin((1, 0), inits=[(5, 0), (5, 0)])
    assert scene.ended(record) == ("Succeeded", "")
    assert codes(record) == [[("init-0", 0), ("init-1", 0), ("main", 0)]]
    assert 11 <= scene.seconds() < 13
    failed = scene.begin((1, 0), inits=[(1, 5), (1, 0)])
    assert scene.ended(failed) == ("Failed", "BackoffLimitExceeded")
    assert codes(failed) == [[("init-0", 5)]]


def test_a_stopped_execution_ends_its_containers(scene: Scene) -> None:
    record = scene.begin((FOREVER, 0))
    scene.run(asyncio.sleep(1))
    scene.run(scene.executions.stop(JOB, record["name"]))
    assert (record["status"], outcomes(record), codes(record)) == ("Stopped", ["Stopped"], [[("main", 143)]])
    scene.run(scene.executions.stop(JOB, record["name"]))  # has ended already


def test_a_replica_waits_for_a_machine_and_says_why(scene: Scene) -> None:
    why = ["There is no capacity"]
    record = scene.begin((1, 0), shortage=lambda _: why[0], gpus=1, profile="t4", location="westeurope")
    scene.run(asyncio.sleep(10))
    assert (record["status"], record["replicas"][0]["information"]) == ("Running", why[0])
    assert scene.executions.gpus("t4", "westeurope") == 0
    why[0] = ""
    scene.run(asyncio.sleep(1))
    assert (scene.executions.gpus("t4", "westeurope"), scene.executions.gpus("t4", "northeurope")) == (1, 0)
    assert scene.ended(record) == ("Succeeded", "")
    assert scene.executions.gpus("t4", "westeurope") == 0


def test_a_replica_that_never_finds_a_machine_ends_when_its_time_is_over(scene: Scene) -> None:
    record = scene.begin((1, 0), shortage=lambda _: "There is no capacity", timeout=60)
    assert scene.ended(record) == ("Failed", "DeadlineExceeded")
    assert (record["replicas"][0]["information"], codes(record)) == ("There is no capacity", [[]])
    assert 60 <= scene.seconds() < 61


def test_an_error_of_the_servers_own_leaves_no_container(scene: Scene) -> None:
    async def specs(record: Body, one: Body) -> tuple[list[ContainerSpec], list[ContainerSpec]]:
        if one is record["replicas"][1]:
            await asyncio.sleep(5)  # the first replica runs
            raise RuntimeError("broken")
        return [], [container("main", FOREVER, 0)]

    record = scene.begin(specs=specs, parallelism=2, completions=2)
    assert scene.ended(record) == ("Failed", "InternalError")
    states = [scene.containers.states(executions.group_of(JOB, record, one)) for one in record["replicas"]]
    assert [state["ended"] for each in states for state in each.values()] == [True]


def test_a_job_forgets_its_executions_and_keeps_the_newest(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executions, "KEPT", 2)
    names = []
    for _ in range(3):
        record = scene.begin((1, 0))
        scene.ended(record)
        names.append(record["name"])
    assert [one["name"] for one in scene.executions.all_of(JOB)] == names[:0:-1]  # the newest first
    running = scene.begin((FOREVER, 0))
    scene.run(asyncio.sleep(1))
    scene.run(scene.executions.forget(JOB))
    assert scene.executions.all_of(JOB) == []
    assert executions.group_of(JOB, running, running["replicas"][0]) not in scene.containers.groups
