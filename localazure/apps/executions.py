"""Runs executions of jobs: one task each, which keeps the requested number of replicas running and retries failed ones.

As a Kubernetes job does, which is what the service runs them as: `parallelism` replicas at a time until `completions` have
succeeded; more failures than `retries` end the execution, and so does a replica that takes too long. A retry is a new replica,
begun at once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

from localazure.apps import records, replica
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Store
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.runtime import Runtime
from localazure.waiting import canceled

log = logging.getLogger(__name__)


class Work(NamedTuple):
    """What a job has its executions do."""

    # The init containers and the containers of a replica, from the execution's record and the replica's. ArmError where an image
    # can't be pulled.
    specs: Callable[[Body, Body], Awaitable[tuple[list[ContainerSpec], list[ContainerSpec]]]]
    shortage: Callable[[Body], str]  # why there is no machine for a further replica of an execution, or ""


_ROOM_SECONDS = 0.2  # between two looks for a machine
BACKOFF_EXCEEDED = "BackoffLimitExceeded"  # Kubernetes' word for a job whose retries are used up


class Executions:
    """What runs now, and what is remembered of what ran."""

    def __init__(self, store: Store, runtime: Runtime, now: Callable[[], datetime], stamp: Callable[[], str]) -> None:
        self._store = store
        self.runtime = runtime
        self._now = now
        self._stamp = stamp
        self._running: dict[tuple[str, str], Body] = {}
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._wakers: dict[tuple[str, str], asyncio.Event] = {}

    # Looking

    def find(self, job_key: str, name: str) -> Body | None:
        return self._running.get((job_key, name)) or records.find(self._store, job_key, name)

    def all_of(self, job_key: str) -> list[Body]:
        """The newest first."""
        return [self._running.get((job_key, record["name"]), record) for record in records.all_of(self._store, job_key)]

    def containers(self, job_key: str, record: Body, one: Body) -> dict[str, Body]:
        """A replica's containers: live, or as they ended."""
        if one["outcome"] is not None:
            return one["containers"]
        return replica.containers_of(self.runtime.states(records.group_of(job_key, record, one)))

    def gpus(self, profile: str, location: str, jobs: Collection[str] | None = None) -> int:
        """How many GPUs of a profile replicas have in a region: those of all jobs, or of those with these keys."""
        return sum(
            record["gpus"]
            for (job, _), record in self._running.items()
            if (record["profile"], record["location"]) == (profile, location) and (jobs is None or job in jobs)
            for one in record["replicas"]
            if one["placed"] and not one["outcome"]
        )

    # Running

    def begin(self, job_key: str, record: Body, work: Work) -> None:
        """Remembers a new execution and runs it in the background."""
        records.put(self._store, job_key, record)
        self._start(job_key, record, work)

    async def stop(self, job_key: str, name: str) -> None:
        """Ends an execution and waits until it has ended. Nothing where it has ended already."""
        key = (job_key, name)
        if key not in self._tasks:
            return
        self._running[key]["asked_to_stop"] = True
        records.put(self._store, job_key, self._running[key])
        self._wakers[key].set()
        await asyncio.wait([self._tasks[key]])

    async def forget(self, job_key: str) -> None:
        """Ends and forgets every execution of a job that is deleted."""
        for record in self.all_of(job_key):
            await self._forget(job_key, record)

    async def adopt(self, jobs: dict[str, Work]) -> None:
        """Resumes what an earlier server left running. `jobs`: those that are there, by key."""
        left = [
            (key, record) for key in jobs for record in records.all_of(self._store, key) if record["status"] == records.RUNNING
        ]
        kept = [
            records.group_of(key, record, one)
            for key in jobs
            for record in records.all_of(self._store, key)
            for one in record["replicas"]
        ]
        await self.runtime.adopt(kept)
        for key, record in left:
            self._start(key, record, jobs[key])

    async def close(self) -> None:
        """Ends the tasks; the containers continue, for the next server."""
        await canceled(*self._tasks.values())

    async def _forget(self, job_key: str, record: Body) -> None:
        task = self._tasks.get((job_key, record["name"]))
        await canceled(task)
        for one in record["replicas"]:
            await self.runtime.remove(records.group_of(job_key, record, one))
        records.forget(self._store, job_key, record["name"])

    def _start(self, job_key: str, record: Body, work: Work) -> None:
        key = (job_key, record["name"])
        self._running[key], self._wakers[key] = record, asyncio.Event()
        self._tasks[key] = asyncio.create_task(self._run(job_key, record, work), name=record["name"])
        self._tasks[key].add_done_callback(lambda _: self._done(key))

    def _done(self, key: tuple[str, str]) -> None:
        for kept in (self._running, self._wakers, self._tasks):
            kept.pop(key, None)

    async def _run(self, job_key: str, record: Body, work: Work) -> None:
        try:
            status, reason, message = await self._until_over(job_key, record, work)
        except Exception:
            log.exception("execution %s failed", record["name"])
            status, reason, message = (
                records.FAILED,
                "InternalError",
                "The embedded Azure failed with an internal error; see its log.",
            )
            await self._end_replicas(job_key, record)
        record |= {"status": status, "endTime": self._stamp(), "reason": reason, "message": message}
        records.put(self._store, job_key, record)
        for old in [each for each in self.all_of(job_key) if each["status"] != records.RUNNING][records.KEPT :]:
            await self._forget(job_key, old)

    async def _until_over(self, job_key: str, record: Body, work: Work) -> tuple[str, str, str]:
        """Keeps replicas going until the execution is over. Its status, with reason and message of a failure."""
        waker = self._wakers[(job_key, record["name"])]
        tasks = {one["name"]: self._replica(job_key, record, one, work) for one in record["replicas"] if not one["outcome"]}
        try:
            while (over := _verdict(record)) is None:
                succeeded = _count(record, records.SUCCEEDED)
                for _ in range(min(record["parallelism"], record["completions"] - succeeded) - len(tasks)):
                    one = records.new_replica(record, self._stamp())
                    records.put(self._store, job_key, record)  # before anything of it starts
                    tasks[one["name"]] = self._replica(job_key, record, one, work)
                woken = asyncio.ensure_future(waker.wait())
                try:
                    await asyncio.wait([*tasks.values(), woken], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    woken.cancel()
                for name in [name for name, task in tasks.items() if task.done()]:
                    tasks.pop(name).result()
                records.put(self._store, job_key, record)
        finally:
            for task in tasks.values():
                task.cancel()
            await _settled(tasks.values())
        await self._end_replicas(job_key, record)
        return over

    async def _end_replicas(self, job_key: str, record: Body) -> None:
        """Those that haven't ended by themselves."""
        unfinished = [one for one in record["replicas"] if not one["outcome"]]
        await asyncio.gather(*(replica.stop(self.runtime, records.group_of(job_key, record, one), one) for one in unfinished))

    def _replica(self, job_key: str, record: Body, one: Body, work: Work) -> asyncio.Task[None]:
        return asyncio.create_task(self._run_replica(job_key, record, one, work), name=one["name"])

    async def _run_replica(self, job_key: str, record: Body, one: Body, work: Work) -> None:
        deadline = datetime.fromisoformat(one["startTime"]) + timedelta(seconds=record["timeout"])
        while not one["placed"] and (reason := work.shortage(record)):
            one["information"] = reason
            if self._now() >= deadline:
                one["outcome"], one["reason"] = records.FAILED, replica.DEADLINE_EXCEEDED
                return
            await asyncio.sleep(_ROOM_SECONDS)
        one["placed"], one["information"] = True, ""
        try:
            inits, mains = await work.specs(record, one)
        except ArmError as error:
            one["outcome"], one["information"] = records.FAILED, error.message
            return
        await replica.run(self.runtime, records.group_of(job_key, record, one), inits, mains, one, deadline, self._now)


def _verdict(record: Body) -> tuple[str, str, str] | None:
    """Status, reason and message of an execution that is over; None while it continues."""
    if record["asked_to_stop"]:
        return records.STOPPED, "", ""
    if _count(record, records.SUCCEEDED) >= record["completions"]:
        return records.SUCCEEDED, "", ""
    late = next((one for one in record["replicas"] if one["reason"] == replica.DEADLINE_EXCEEDED), None)
    if late is not None:
        message = f"The replica {late['name']} ran longer than the replicaTimeout of {record['timeout']} seconds."
        return records.FAILED, replica.DEADLINE_EXCEEDED, message
    failures = _count(record, records.FAILED)
    if failures > record["retries"]:
        message = f"{failures} replicas failed; the replicaRetryLimit is {record['retries']}."
        return records.FAILED, BACKOFF_EXCEEDED, message
    return None


def _count(record: Body, outcome: str) -> int:
    return sum(1 for one in record["replicas"] if one["outcome"] == outcome)


async def _settled(tasks: Iterable[asyncio.Task[None]]) -> None:
    waiting = [task for task in tasks if not task.done()]
    if waiting:
        await asyncio.wait(waiting)
