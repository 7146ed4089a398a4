"""Terminates and deletes jobs: their running tasks are ended first.

What a restart cut off is resumed. A job whose maxWallClockTime is over is terminated here too.
"""

import asyncio
import logging
from datetime import datetime
from typing import Protocol

from localazure.batch.changes import MOVING
from localazure.batch.model import TaskKey
from localazure.batch.work import Work
from localazure.batch.work_tables import RUNNING, Job
from localazure.waiting import canceled

log = logging.getLogger(__name__)
_TRIES = 3  # of what failed by an error of our own, before a job is moved on regardless
_PAUSE_SECONDS = 1.0


class Nodes(Protocol):
    """What of the pools is needed here."""

    async def end_task(self, key: TaskKey) -> None: ...
    async def end_job(self, account: str, job: str) -> None: ...
    async def forget_job(self, account: str, job: str) -> None: ...


class Endings:
    """One background task for each job on its way, and one that watches the clock."""

    def __init__(self, work: Work, nodes: Nodes) -> None:
        self._work = work
        self._nodes = nodes
        self._on_way: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._changed: dict[tuple[str, str], asyncio.Event] = {}
        self._clock: asyncio.Task[None] | None = None
        self._deadlines = asyncio.Event()
        self._open = False
        work.listen_to_jobs(self._look)

    async def started(self) -> None:
        """Resumes what an earlier server left on its way."""
        self._open = True
        for job in self._work.tables.jobs_in(*MOVING):
            self._look(job.account, job.name)
        self._clock = asyncio.create_task(self._watch(), name="batch deadlines")

    async def stopping(self) -> None:
        """Leaves the rest to the next server."""
        self._open = False
        await canceled(*self._on_way.values(), self._clock)

    def _look(self, account: str, name: str) -> None:
        self._deadlines.set()
        job = self._work.tables.job(account, name)
        if not self._open or job is None or job.state not in MOVING:
            return
        key = (account, name)
        if key in self._changed:
            self._changed[key].set()
        else:
            self._changed[key] = asyncio.Event()
            self._on_way[key] = asyncio.create_task(self._bring(account, name), name=f"job {name}")

    async def _bring(self, account: str, name: str) -> None:
        """Step by step, since a job that is being terminated can be deleted meanwhile."""
        failures = 0
        try:
            while (job := self._work.tables.job(account, name)) is not None and job.state in MOVING:
                self._changed[(account, name)].clear()
                try:
                    await self._step(job, give_up=failures >= _TRIES)
                except Exception:
                    failures += 1
                    log.exception("job %s: its way from %s failed", name, job.state)
                    await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            # Right after the last look, so that whoever comes next begins again instead of waking nobody.
            self._on_way.pop((account, name), None)
            self._changed.pop((account, name), None)

    async def _step(self, job: Job, *, give_up: bool) -> None:
        state = job.state
        tasks = self._work.tables.of(job.account, job.name)
        if not give_up:
            await asyncio.gather(*(self._nodes.end_task(task.key) for task in tasks.in_states(*RUNNING)))
        if not give_up and state == "terminating" and tasks.in_states(*RUNNING):
            await self._changed[(job.account, job.name)].wait()  # a task has ended, or the job goes another way
            return
        if not give_up and state == "terminating":
            await self._nodes.end_job(job.account, job.name)
        if not give_up and state == "deleting":
            await self._nodes.forget_job(job.account, job.name)
        now = self._work.tables.job(job.account, job.name)
        if now is None or now.state != state:
            return
        if now.state == "terminating":
            self._work.jobs.settled(now)
        else:
            self._work.jobs.gone(now)

    async def _watch(self) -> None:
        while True:
            self._deadlines.clear()
            following = self._work.jobs.expire()
            seconds = None
            if following:
                seconds = max(0.0, (datetime.fromisoformat(following) - self._work.now()).total_seconds())
            try:
                async with asyncio.timeout(seconds):
                    await self._deadlines.wait()
            except TimeoutError:
                continue
