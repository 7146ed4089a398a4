"""Jobs and tasks of all Batch accounts, in memory and in one SQLite file.

Every method that writes has committed when it returns, or when the surrounding `together` ends, and then outlives this process.
It outlives the machine too, but for what is written `loosely`, which does so from the next write or `sync` on. One thread alone.
What is handed out is what is kept: who changes it puts it. A row's body is what the client gave; its record is what the service
says about it. Keys are in lower case.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from localazure.arm.store import Body
from localazure.batch.model import PoolKey, TaskKey, TaskNode

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
  seq INTEGER PRIMARY KEY, account TEXT NOT NULL, job TEXT NOT NULL, task TEXT NOT NULL, content TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entries_by_name ON entries (account, job, task);
CREATE TABLE IF NOT EXISTS syncs (times INTEGER NOT NULL);
INSERT INTO syncs SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM syncs);
"""
RUNNING = ("preparing", "running")  # states of a task that a node has


@dataclass(slots=True, kw_only=True)
class Job:
    """A job. `name` is its id in lower case, `pool` that of its pool."""

    account: str
    name: str
    pool: str
    state: str
    priority: int
    parallel: int  # maxParallelTasks; -1 for any number
    deadline: str  # when maxWallClockTime is over, RFC 3339; "" for never
    body: Body
    record: Body = field(default_factory=dict)
    seq: int = 0  # by which older ones come first; given when the job is stored

    @property
    def id(self) -> str:
        return self.body["id"]

    @property
    def pool_key(self) -> PoolKey:
        return PoolKey(self.account, self.pool)


@dataclass(slots=True, kw_only=True)
class Task:
    """A task. `held`: not all that it depends on is there; `satisfied`: what depends on it may continue."""

    key: TaskKey
    state: str
    held: bool
    slots: int
    body: Body
    record: Body = field(default_factory=dict)
    satisfied: bool = False
    result: str = ""  # success, failure; "" until it has ended
    seq: int = 0

    @property
    def id(self) -> str:
        return self.body["id"]

    @property
    def running(self) -> bool:
        return self.state in RUNNING

    @property
    def node(self) -> TaskNode | None:
        """Where it runs or ran last."""
        return TaskNode(*self.record["node"]) if self.record.get("node") else None


class JobsTasks:
    """The tasks of one job, the oldest first, and which of them wait for which."""

    def __init__(self) -> None:
        self.all: dict[str, Task] = {}
        self._after_tasks: dict[str, list[Task]] = {}  # by the id that they name

    def add(self, task: Task) -> None:
        for name in _depends_on(task):
            self._after_tasks.setdefault(name, []).append(task)
        self.all[task.key.task] = task

    def in_states(self, *states: str) -> list[Task]:
        return [each for each in self.all.values() if each.state in states]

    def waiting_for(self, task: Task) -> list[Task]:
        """The held tasks that name `task`."""
        found = self._after_tasks.get(task.key.task, ())
        left = {each.key: each for each in found if each.held and self.all.get(each.key.task) is each}
        return [left[key] for key in sorted(left)]

    def unmet(self, task: Task) -> bool:
        """Whether a task depends on one that doesn't exist, or doesn't yet let it continue."""
        return not all((named := self.all.get(name)) and named.satisfied for name in _depends_on(task))


def _depends_on(task: Task) -> list[str]:
    return [name.lower() for name in (task.body.get("dependsOn") or {}).get("taskIds") or ()]


class Tables:
    """The file. Opened once."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.executescript(_SCHEMA)
        self.depth = 0  # of what is written together
        self._unsynced = False
        self._load()

    def _load(self) -> None:
        self._jobs: dict[tuple[str, str], Job] = {}  # the oldest first
        self._tasks: dict[tuple[str, str], JobsTasks] = {}
        self._seq = 0  # the last that was given
        for seq, task, content in self._db.execute("SELECT seq, task, content FROM entries ORDER BY seq"):
            known: dict[str, Any] = {**json.loads(content), "seq": seq}
            if task:
                known["key"] = TaskKey(*known["key"])
            made = Task if task else Job
            here = {each.name for each in fields(made)}  # an earlier version kept more
            self._remember(made(**{name: value for name, value in known.items() if name in here}))

    def _remember(self, entry: "Job | Task") -> None:
        if isinstance(entry, Job):
            self._jobs[entry.account, entry.name] = entry
            self._tasks[entry.account, entry.name] = JobsTasks()
        else:
            self.of(entry.key.account, entry.key.job).add(entry)
        self._seq = entry.seq

    def put(self, entry: "Job | Task") -> None:
        key = entry.key if isinstance(entry, Task) else (entry.account, entry.name, "")
        new = not entry.seq
        entry.seq = entry.seq or self._seq + 1
        content = json.dumps({each.name: getattr(entry, each.name) for each in fields(entry)})
        self._db.execute("INSERT OR REPLACE INTO entries VALUES (?,?,?,?,?)", (entry.seq, *key, content))
        if new:
            self._remember(entry)

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def together(self, *, loosely: bool = False) -> Iterator[None]:
        """Writes inside are committed as one, or not at all. May be nested, and the outermost counts; holds no await."""
        if not self.depth:
            self._db.execute(f"PRAGMA synchronous={'NORMAL' if loosely else 'FULL'}")
            self._db.execute("BEGIN IMMEDIATE")
        self.depth += 1
        try:
            yield
        except BaseException:
            self.depth -= 1
            if not self.depth:
                self._db.execute("ROLLBACK")
                self._load()
            raise
        self.depth -= 1
        if not self.depth:
            self._db.execute("COMMIT")
            self._unsynced = loosely

    def sync(self) -> None:
        """Waits until the disk has what was written loosely: before somebody is told of it."""
        if self._unsynced:
            with self.together():
                self._db.execute("UPDATE syncs SET times = times + 1")

    # Jobs

    def job(self, account: str, name: str) -> Job | None:
        return self._jobs.get((account, name.lower()))

    def jobs(self, account: str, after: str = "") -> list[Job]:
        """The jobs of an account by id, those whose id, in lower case, comes after `after`."""
        found = (each for each in self._jobs.values() if each.account == account and each.name > after)
        return sorted(found, key=lambda each: each.name)

    def jobs_in(self, *states: str) -> list[Job]:
        """Jobs of all accounts in one of these states."""
        return [each for each in self._jobs.values() if each.state in states]

    def jobs_of(self, pool: PoolKey) -> list[Job]:
        """By priority, then by age."""
        return sorted((each for each in self._jobs.values() if each.pool_key == pool), key=lambda each: -each.priority)

    def jobs_with_deadline(self) -> list[Job]:
        return sorted((each for each in self._jobs.values() if each.deadline), key=lambda each: each.deadline)

    def remove_job(self, account: str, name: str) -> None:
        """The job with everything of it."""
        with self.together():
            self._db.execute("DELETE FROM entries WHERE account = ? AND job = ?", (account, name))
            self._jobs.pop((account, name), None)
            self._tasks.pop((account, name), None)

    # Tasks

    def of(self, account: str, job: str) -> JobsTasks:
        return self._tasks.get((account, job)) or JobsTasks()

    def task(self, key: TaskKey) -> Task | None:
        return self.of(key.account, key.job).all.get(key.task.lower())

    def tasks(self, account: str, job: str, after: str = "") -> list[Task]:
        """All tasks of a job by id, those whose id comes after `after`."""
        found = (each for name, each in self.of(account, job).all.items() if name > after)
        return sorted(found, key=lambda each: each.key.task)

    def running_keys(self, pool: PoolKey) -> list[TaskKey]:
        found = (each for job in self.jobs_of(pool) for each in self.of(job.account, job.name).in_states(*RUNNING))
        return [each.key for each in sorted(found, key=lambda each: each.seq)]

    def remove_task(self, key: TaskKey) -> None:
        with self.together():
            self._db.execute("DELETE FROM entries WHERE account = ? AND job = ? AND task = ?", tuple(key))
            self.of(key.account, key.job).all.pop(key.task, None)
