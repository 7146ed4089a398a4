"""Records a change of a job or task: its times and entity tag, and tells of them."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from localazure.batch.model import PoolKey
from localazure.batch.work_tables import Job, Tables, Task

log = logging.getLogger(__name__)
MOVING = ("terminating", "deleting")  # states of a job that somebody has to bring to an end


class Changed:
    """Stamps changes, and tells of them once they are durable."""

    def __init__(self, tables: Tables, now: Callable[[], datetime]) -> None:
        self._tables = tables
        self._now = now
        self._tag = 0
        self._pools: dict[PoolKey, None] = {}
        self._jobs: dict[tuple[str, str], None] = {}
        self.pool_changed: Callable[[PoolKey], None] = lambda _: None
        self.job_changed: Callable[[str, str], None] = lambda *_: None

    def stamp(self) -> str:
        """Now, as the service writes it."""
        return written(self._now())

    @contextmanager
    def told(self, *, loosely: bool = False) -> Iterator[None]:
        """Writes inside are one; after them the listeners are told. May be nested. `loosely` as the tables have it."""
        try:
            with self._tables.together(loosely=loosely):
                yield
        except BaseException:
            if not self._tables.depth:
                self._pools.clear()
                self._jobs.clear()
            raise
        if self._tables.depth:
            return
        pools, jobs = list(self._pools), list(self._jobs)
        self._pools.clear()
        self._jobs.clear()
        for pool in pools:
            _tell(self.pool_changed, pool)
        for account, job in jobs:
            _tell(self.job_changed, account, job)

    def pool(self, key: PoolKey) -> None:
        """There is something for a pool's nodes to look at."""
        self._pools[key] = None

    def job(self, job: Job) -> None:
        """A job is on its way to another state, or its deadline is another."""
        self._jobs[(job.account, job.name)] = None

    def job_if_moving(self, job: Job) -> None:
        if job.state in MOVING:
            self.job(job)

    def state(self, entry: Job | Task, state: str) -> None:
        record = entry.record
        self.touched(record)
        if "stateTransitionTime" in record:
            record["previousState"], record["previousStateTransitionTime"] = entry.state, record["stateTransitionTime"]
        record["stateTransitionTime"] = record["lastModified"]
        entry.state = state

    def touched(self, record: dict[str, object]) -> None:
        """A property was changed: the tag that clients compare is another."""
        now = self._now()
        # Tags differ even within one tick of the clock.
        self._tag = max(self._tag + 1, int(now.timestamp() * 10_000_000))
        record["lastModified"] = written(now)
        record["eTag"] = f"0x{self._tag:X}"


def _tell(listener: Callable[..., None], *told: object) -> None:
    """What a listener makes of it isn't a reason to refuse a change that is durable."""
    try:
        listener(*told)
    except Exception:
        log.exception("a listener failed")


def written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
