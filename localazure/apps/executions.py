"""Runs executions of jobs: one task each, which keeps the requested number of replicas running and retries failed ones.

As a Kubernetes job does, which is what the service runs them as: `parallelism` replicas at a time until `completions` have
succeeded; more failures than `retries` end the execution, and so does a replica that takes too long. A retry is a new replica,
begun at once. A replica runs its init containers one after the other, then its containers together, until all have ended.

An execution's record is a document of the store, and so a dict; its keys are those of `new_record`. The newest KEPT of a job
stay. What an earlier server began is resumed where it is: containers that have begun aren't started again.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Store
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.runtime import Runtime, State
from localazure.waiting import canceled

log = logging.getLogger(__name__)
KEPT = 100  # Microsoft Learn, container-apps/jobs: a job's history holds its 100 latest executions
RUNNING, SUCCEEDED, FAILED, STOPPED = "Running", "Succeeded", "Failed", "Stopped"
LOST = "Lost"  # of a replica alone: it went with this server, nobody asked for it, and another takes its place
BACKOFF_EXCEEDED = "BackoffLimitExceeded"  # Kubernetes' word for a job whose retries are used up
DEADLINE_EXCEEDED = "DeadlineExceeded"  # and for one that ran too long
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes makes the ends of its names of these
_ROOM_SECONDS = 0.2  # between two looks for a machine
_SHORTEST_WAIT, _LONGEST_WAIT = 0.05, 0.5  # between two looks: often at first, rarely for what runs for hours
_ASKED_TO_END = "Killing"  # the event of a container that somebody ended


class Work(NamedTuple):
    """What a job has its executions do."""

    # The init containers and the containers of a replica, from the execution's record and the replica's. ArmError where an image
    # can't be pulled.
    specs: Callable[[Body, Body], Awaitable[tuple[list[ContainerSpec], list[ContainerSpec]]]]
    shortage: Callable[[Body], str]  # why there is no machine for a further replica of an execution, or ""


class Going(NamedTuple):
    """An execution that runs."""

    record: Body
    task: "asyncio.Task[None]"
    waker: asyncio.Event


class TooLongError(Exception):
    """The replica's time is over."""


def new_record(job: str, template: Body, limits: Body, now: str) -> Body:
    """The record of a new execution.

    `limits`: parallelism, completions, retries and timeout, and what a replica takes: gpus of a profile in a location.
    """
    return {
        "name": f"{job}-{_suffix(7)}",
        "status": RUNNING,
        "startTime": now,
        "template": template,
        **limits,
        "replicas": [],
        "asked_to_stop": False,
    }


def group_of(job_key: str, record: Body, one: Body) -> str:
    """What the runtime knows a replica's containers by."""
    return f"{job_key}/executions/{record['name']}/replicas/{one['name']}"


class Executions:
    """What runs now, and what is remembered of what ran."""

    def __init__(self, store: Store, runtime: Runtime, now: Callable[[], datetime], stamp: Callable[[], str]) -> None:
        self._store = store
        self.runtime = runtime
        self._now = now
        self._stamp = stamp
        self._going: dict[tuple[str, str], Going] = {}

    # Looking

    def find(self, job_key: str, name: str) -> Body | None:
        going = self._going.get((job_key, name))
        return going.record if going else self._store.document(f"executions/{job_key}/{name}")

    def all_of(self, job_key: str) -> list[Body]:
        """The newest first."""
        kept = self._store.documents(f"executions/{job_key}/").values()
        found = [self.find(job_key, record["name"]) or record for record in kept]
        return sorted(found, key=lambda record: record["startTime"], reverse=True)

    def containers(self, job_key: str, record: Body, one: Body) -> dict[str, Body]:
        """A replica's containers: live, or as they ended."""
        if one["outcome"] is not None:
            return one["containers"]
        return _containers_of(self.runtime.states(group_of(job_key, record, one)))

    def gpus(self, profile: str, location: str, jobs: Collection[str] | None = None) -> int:
        """How many GPUs of a profile replicas have in a region: those of all jobs, or of those with these keys."""
        return sum(
            record["gpus"]
            for (job, _), (record, *_) in self._going.items()
            if (record["profile"], record["location"]) == (profile, location) and (jobs is None or job in jobs)
            for one in record["replicas"]
            if one["placed"] and not one["outcome"]
        )

    # Running

    def begin(self, job_key: str, record: Body, work: Work) -> None:
        """Remembers a new execution and runs it in the background."""
        self._keep(job_key, record)
        self._start(job_key, record, work)

    async def stop(self, job_key: str, name: str) -> None:
        """Ends an execution and waits until it has ended. Nothing where it has ended already."""
        going = self._going.get((job_key, name))
        if going is None:
            return
        going.record["asked_to_stop"] = True
        self._keep(job_key, going.record)
        going.waker.set()
        await asyncio.wait([going.task])

    async def forget(self, job_key: str) -> None:
        """Ends and forgets every execution of a job that is deleted."""
        for record in self.all_of(job_key):
            await self._forget(job_key, record)

    async def adopt(self, jobs: dict[str, Work]) -> None:
        """Resumes what an earlier server left running. `jobs`: those that are there, by key."""
        kept = [(key, record) for key in jobs for record in self.all_of(key)]
        await self.runtime.adopt([group_of(key, record, one) for key, record in kept for one in record["replicas"]])
        for key, record in kept:
            if record["status"] == RUNNING:
                self._start(key, record, jobs[key])

    async def close(self) -> None:
        """Ends the tasks; the containers continue, for the next server."""
        await canceled(*(going.task for going in self._going.values()))

    def _keep(self, job_key: str, record: Body) -> None:
        self._store.put_document(f"executions/{job_key}/{record['name']}", record)

    async def _forget(self, job_key: str, record: Body) -> None:
        going = self._going.get((job_key, record["name"]))
        await canceled(going.task if going else None)
        for one in record["replicas"]:
            await self.runtime.remove(group_of(job_key, record, one))
        self._store.delete_document(f"executions/{job_key}/{record['name']}")

    def _start(self, job_key: str, record: Body, work: Work) -> None:
        key, waker = (job_key, record["name"]), asyncio.Event()
        task = asyncio.create_task(self._run(job_key, record, work, waker), name=record["name"])
        self._going[key] = Going(record, task, waker)
        task.add_done_callback(lambda _: self._going.pop(key, None))

    async def _run(self, job_key: str, record: Body, work: Work, waker: asyncio.Event) -> None:
        try:
            status, reason, message = await self._until_over(job_key, record, work, waker)
        except Exception:
            log.exception("execution %s failed", record["name"])
            status, reason = FAILED, "InternalError"
            message = "The embedded Azure failed with an internal error; see its log."
            await self._end_replicas(job_key, record)
        record |= {"status": status, "endTime": self._stamp(), "reason": reason, "message": message}
        self._keep(job_key, record)
        for old in [each for each in self.all_of(job_key) if each["status"] != RUNNING][KEPT:]:
            await self._forget(job_key, old)

    async def _until_over(self, job_key: str, record: Body, work: Work, waker: asyncio.Event) -> tuple[str, str, str]:
        """Keeps replicas going until the execution is over. Its status, with reason and message of a failure."""
        tasks = {one["name"]: self._replica(job_key, record, one, work) for one in record["replicas"] if not one["outcome"]}
        try:
            while (over := _verdict(record)) is None:
                missing = record["completions"] - _count(record, SUCCEEDED)
                for _ in range(min(record["parallelism"], missing) - len(tasks)):
                    one = self._new_replica(record)
                    self._keep(job_key, record)  # before anything of it starts
                    tasks[one["name"]] = self._replica(job_key, record, one, work)
                woken = asyncio.ensure_future(waker.wait())
                try:
                    await asyncio.wait([*tasks.values(), woken], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    woken.cancel()
                for name in [name for name, task in tasks.items() if task.done()]:
                    tasks.pop(name).result()
                self._keep(job_key, record)
        finally:
            await canceled(*tasks.values())
        await self._end_replicas(job_key, record)
        return over

    async def _end_replicas(self, job_key: str, record: Body) -> None:
        """Those that haven't ended by themselves."""

        async def end(one: Body) -> None:
            await self._stopped(group_of(job_key, record, one), one)
            one["outcome"] = STOPPED

        await asyncio.gather(*(end(one) for one in record["replicas"] if not one["outcome"]))

    # Replicas

    def _new_replica(self, record: Body) -> Body:
        """A further one, noted in the record. `outcome` is None until it has ended."""
        one: Body = {
            "name": f"{record['name']}-{_suffix(5)}",
            "startTime": self._stamp(),
            "outcome": None,
            "placed": False,  # whether a machine was found for it
            "reason": "",
            "information": "",
            "containers": {},
        }
        record["replicas"].append(one)
        return one

    def _replica(self, job_key: str, record: Body, one: Body, work: Work) -> "asyncio.Task[None]":
        return asyncio.create_task(self._run_replica(group_of(job_key, record, one), record, one, work), name=one["name"])

    async def _run_replica(self, group: str, record: Body, one: Body, work: Work) -> None:
        """Runs to the end and sets `outcome`. Where it is cancelled the containers continue, for whoever takes them up."""
        deadline = datetime.fromisoformat(one["startTime"]) + timedelta(seconds=record["timeout"])
        while not one["placed"] and (reason := work.shortage(record)):
            one["information"] = reason
            if self._now() >= deadline:
                one["outcome"], one["reason"] = FAILED, DEADLINE_EXCEEDED
                return
            await asyncio.sleep(_ROOM_SECONDS)
        one["placed"], one["information"] = True, ""
        try:
            inits, mains = await work.specs(record, one)
        except ArmError as error:
            one["outcome"], one["information"] = FAILED, error.message
            return
        try:
            steps = [inits[:count] for count in range(1, len(inits) + 1)]
            for begun, awaited in [*((step, step[-1:]) for step in steps), ([*inits, *mains], mains)]:
                await self._begun(group, begun)
                if not await self._ended(group, awaited, deadline):
                    break
            self._note(group, one)
        except TooLongError:
            await self._stopped(group, one)
            one["outcome"], one["reason"] = FAILED, DEADLINE_EXCEEDED
            one["information"] = "The replica ran longer than the job's replicaTimeout allows, and was ended."

    async def _begun(self, group: str, specs: list[ContainerSpec]) -> None:
        """Starts those that haven't begun. Not cut off in the middle: who is told to end a container has to find it."""
        if {spec.name for spec in specs} <= self.runtime.states(group).keys():
            return
        starting = asyncio.ensure_future(self.runtime.start(group, specs))
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            await starting
            raise

    async def _stopped(self, group: str, one: Body) -> None:
        await self.runtime.stop(group)
        self._note(group, one)

    def _note(self, group: str, one: Body) -> None:
        states = self.runtime.states(group)
        one["containers"] = _containers_of(states)
        found = list(one["containers"].values())
        if found and all(container["status"] == SUCCEEDED for container in found):
            one["outcome"] = SUCCEEDED
        elif any(event["name"] == _ASKED_TO_END for state in states.values() for event in state["events"]):
            one["outcome"] = LOST
        else:
            one["outcome"] = FAILED

    async def _ended(self, group: str, specs: Sequence[ContainerSpec], deadline: datetime) -> bool:
        """Waits until these have ended. Whether all of them did so with 0."""
        names = [spec.name for spec in specs]
        wait = _SHORTEST_WAIT
        while True:
            states = self.runtime.states(group)
            chosen = [states[name] for name in names if name in states]
            if len(chosen) == len(names) and all(state["ended"] for state in chosen):
                return all(state["current"].get("exitCode") == 0 for state in chosen)
            if self._now() >= deadline:
                raise TooLongError
            await asyncio.sleep(wait)
            wait = min(wait * 1.05, _LONGEST_WAIT)


def _verdict(record: Body) -> tuple[str, str, str] | None:
    """Status, reason and message of an execution that is over; None while it continues."""
    if record["asked_to_stop"]:
        return STOPPED, "", ""
    if _count(record, SUCCEEDED) >= record["completions"]:
        return SUCCEEDED, "", ""
    late = next((one for one in record["replicas"] if one["reason"] == DEADLINE_EXCEEDED), None)
    if late is not None:
        message = f"The replica {late['name']} ran longer than the replicaTimeout of {record['timeout']} seconds."
        return FAILED, DEADLINE_EXCEEDED, message
    failures = _count(record, FAILED)
    if failures > record["retries"]:
        message = f"{failures} replicas failed; the replicaRetryLimit is {record['retries']}."
        return FAILED, BACKOFF_EXCEEDED, message
    return None


def _count(record: Body, outcome: str) -> int:
    return sum(1 for one in record["replicas"] if one["outcome"] == outcome)


def _suffix(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def _containers_of(states: dict[str, State]) -> dict[str, Body]:
    """Each container by name as the record keeps it: `status`, and `code` and `information` once it has ended."""
    return {name: _container(state["current"]) for name, state in states.items()}


def _container(current: Body) -> Body:
    if current.get("state") != "Terminated":
        return {"status": current.get("state", "Waiting")}
    code = current["exitCode"]
    status = SUCCEEDED if code == 0 else FAILED
    return {"status": status, "code": code, "information": current["detailStatus"]}  # Completed, Error, OOMKilled
