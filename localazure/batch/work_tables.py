"""Jobs and tasks of all Batch accounts in one SQLite file: the tables and their queries.

Every method that writes has committed when it returns, or when the surrounding `together` ends, and then outlives this process.
It outlives the machine too, but for what is written `loosely`, which does so from the next write or `sync` on. One thread alone.
A row's body is what the client gave; its record is what the service says about it. Keys are in lower case.
"""
# ruff: noqa: S608 - the queries are assembled from this file's own words alone

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from localazure.arm.store import Body
from localazure.batch.model import PoolKey, TaskKey

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
  seq INTEGER PRIMARY KEY, account TEXT NOT NULL, job TEXT NOT NULL, pool TEXT NOT NULL, state TEXT NOT NULL,
  priority INTEGER NOT NULL, parallel INTEGER NOT NULL, deadline TEXT NOT NULL, body TEXT NOT NULL, record TEXT NOT NULL,
  UNIQUE (account, job)
);
CREATE INDEX IF NOT EXISTS jobs_by_pool ON jobs (account, pool, state);
CREATE TABLE IF NOT EXISTS tasks (
  seq INTEGER PRIMARY KEY, account TEXT NOT NULL, job TEXT NOT NULL, task TEXT NOT NULL, state TEXT NOT NULL,
  held INTEGER NOT NULL, satisfied INTEGER NOT NULL, result TEXT NOT NULL, number INTEGER, slots INTEGER NOT NULL,
  body TEXT NOT NULL, record TEXT NOT NULL, UNIQUE (account, job, task)
);
CREATE INDEX IF NOT EXISTS tasks_by_state ON tasks (account, job, state, held, seq);
CREATE INDEX IF NOT EXISTS tasks_by_number ON tasks (account, job, number) WHERE number IS NOT NULL;
CREATE TABLE IF NOT EXISTS dependencies (
  account TEXT NOT NULL, job TEXT NOT NULL, task TEXT NOT NULL, wanted TEXT NOT NULL, low INTEGER, high INTEGER
);
CREATE INDEX IF NOT EXISTS dependencies_of ON dependencies (account, job, task, wanted, low, high);
CREATE INDEX IF NOT EXISTS dependencies_on ON dependencies (account, job, wanted, low, high, task);
CREATE TABLE IF NOT EXISTS syncs (times INTEGER NOT NULL);
INSERT INTO syncs SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM syncs);
"""
RUNNING = ("preparing", "running")  # states of a task that a node has
_PAGE = 32
_READY_PAGE = 8  # few, since few slots are free at a time


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
    number: int | None = None  # its id as a number, for ranges of ids
    seq: int = 0

    @property
    def id(self) -> str:
        return self.body["id"]

    @property
    def running(self) -> bool:
        return self.state in RUNNING


class Tables:
    """The file. Opened once."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.executescript(_SCHEMA)
        self._depth = 0
        self._unsynced = False

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def together(self, *, loosely: bool = False) -> Iterator[None]:
        """Writes inside are committed as one, or not at all. May be nested, and the outermost counts; holds no await."""
        if not self._depth:
            self._db.execute(f"PRAGMA synchronous={'NORMAL' if loosely else 'FULL'}")
            self._db.execute("BEGIN IMMEDIATE")
        self._depth += 1
        try:
            yield
        except BaseException:
            self._depth -= 1
            if not self._depth:
                self._db.execute("ROLLBACK")
            raise
        self._depth -= 1
        if not self._depth:
            self._db.execute("COMMIT")
            self._unsynced = loosely

    def sync(self) -> None:
        """Waits until the disk has what was written loosely: before somebody is told of it."""
        if self._unsynced:
            with self.together():
                self._db.execute("UPDATE syncs SET times = times + 1")

    # Jobs

    def job(self, account: str, name: str) -> Job | None:
        return next(self._jobs("WHERE account = ? AND job = ?", (account, name.lower())), None)

    def jobs(self, account: str, after: str = "") -> Iterator[Job]:
        """All jobs of an account, by id."""
        return self._jobs("WHERE account = ? AND job > ? ORDER BY job", (account, after))

    def jobs_in(self, states: Iterable[str]) -> list[Job]:
        """Jobs of all accounts in one of these states."""
        requested = tuple(states)
        return list(self._jobs(f"WHERE state IN ({','.join('?' * len(requested))}) ORDER BY seq", requested))

    def jobs_of(self, pool: PoolKey, state: str) -> list[Job]:
        """By priority, then by age."""
        where = "WHERE account = ? AND pool = ? AND state = ? ORDER BY priority DESC, seq"
        return list(self._jobs(where, (pool.account, pool.pool, state)))

    def jobs_with_deadline(self) -> list[Job]:
        return list(self._jobs("WHERE deadline != '' ORDER BY deadline", ()))

    def open_jobs(self, account: str) -> int:
        """How many jobs count against the account's quota of active jobs."""
        return self._one("SELECT COUNT(*) FROM jobs WHERE account = ? AND state != 'completed'", (account,))

    def put_job(self, job: Job) -> None:
        values = (
            job.pool,
            job.state,
            job.priority,
            job.parallel,
            job.deadline,
            json.dumps(job.body),
            json.dumps(job.record),
        )
        if job.seq:
            self._db.execute(
                "UPDATE jobs SET pool=?, state=?, priority=?, parallel=?, deadline=?, body=?, record=? WHERE seq=?",
                (*values, job.seq),
            )
            return
        job.seq = (
            self._db.execute(
                "INSERT INTO jobs (account, job, pool, state, priority, parallel, deadline, body, record)"
                " VALUES (?,?,?,?,?,?,?,?,?)",
                (job.account, job.name, *values),
            ).lastrowid
            or 0
        )

    def remove_job(self, account: str, name: str) -> None:
        """The job with everything of it."""
        with self.together():
            for table in ("dependencies", "tasks", "jobs"):
                self._db.execute(f"DELETE FROM {table} WHERE account = ? AND job = ?", (account, name))

    def _jobs(self, where: str, values: tuple[Any, ...]) -> Iterator[Job]:
        query = f"SELECT account, job, pool, state, priority, parallel, deadline, body, record, seq FROM jobs {where}"
        for row in self._db.execute(query, values).fetchall():
            account, name, pool, state, priority, parallel, deadline, body, record, seq = row
            yield Job(
                account=account,
                name=name,
                pool=pool,
                state=state,
                priority=priority,
                parallel=parallel,
                deadline=deadline,
                body=json.loads(body),
                record=json.loads(record),
                seq=seq,
            )

    # Tasks

    def task(self, key: TaskKey) -> Task | None:
        return next(self._tasks("WHERE account = ? AND job = ? AND task = ?", tuple(key)), None)

    def has_task(self, key: TaskKey) -> bool:
        return bool(self._one("SELECT COUNT(*) FROM tasks WHERE account = ? AND job = ? AND task = ?", tuple(key)))

    def tasks(self, account: str, job: str, after: str = "") -> Iterator[Task]:
        """All tasks of a job by id, a page at a time, those whose id comes after `after`."""
        while True:
            where = f"WHERE account = ? AND job = ? AND task > ? ORDER BY task LIMIT {_PAGE}"
            page = list(self._tasks(where, (account, job, after)))
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].key.task

    def ready_tasks(self, account: str, job: str) -> Iterator[Task]:
        """Those that a node may take, the oldest first, a page at a time: tables may change between two of them."""
        after = 0
        while True:
            where = "WHERE account = ? AND job = ? AND state = 'active' AND held = 0 AND seq > ?"
            page = list(self._tasks(f"{where} ORDER BY seq LIMIT {_READY_PAGE}", (account, job, after)))
            yield from page
            if len(page) < _READY_PAGE:
                return
            after = page[-1].seq

    def running_tasks(self, account: str, job: str) -> list[Task]:
        return list(
            self._tasks("WHERE account = ? AND job = ? AND state IN ('preparing', 'running') ORDER BY seq", (account, job))
        )

    def running_keys(self, pool: PoolKey) -> list[TaskKey]:
        rows = self._db.execute(
            "SELECT tasks.account, tasks.job, tasks.task FROM jobs JOIN tasks ON tasks.account = jobs.account"
            " AND tasks.job = jobs.job WHERE jobs.account = ? AND jobs.pool = ? AND tasks.state IN ('preparing', 'running')"
            " ORDER BY tasks.seq",
            tuple(pool),
        )
        return [TaskKey(*row) for row in rows]

    def running_count(self, account: str, job: str) -> int:
        query = "SELECT COUNT(*) FROM tasks WHERE account = ? AND job = ? AND state IN ('preparing', 'running')"
        return self._one(query, (account, job))

    def unfinished(self, account: str, job: str) -> bool:
        """Whether a job has a task that hasn't completed."""
        query = "SELECT EXISTS (SELECT 1 FROM tasks WHERE account = ? AND job = ? AND state != 'completed')"
        return bool(self._one(query, (account, job)))

    def task_counts(self, account: str, job: str) -> list[tuple[str, str, int, int]]:
        """State, result, how many tasks, and how many slots they take."""
        query = "SELECT state, result, COUNT(*), SUM(slots) FROM tasks WHERE account = ? AND job = ? GROUP BY state, result"
        return self._db.execute(query, (account, job)).fetchall()

    def pool_counts(self, pool: PoolKey) -> tuple[int, int, int, int]:
        """Tasks of a pool that may start, those that run, and the slots of both."""
        waits = "jobs.state = 'active' AND tasks.state = 'active' AND held = 0"
        runs = "tasks.state IN ('preparing', 'running')"
        row = self._db.execute(
            f"SELECT TOTAL({waits}), TOTAL({runs}), TOTAL(slots * ({waits})), TOTAL(slots * ({runs})) FROM jobs JOIN tasks"
            " ON tasks.account = jobs.account AND tasks.job = jobs.job AND tasks.state != 'completed'"
            " WHERE jobs.account = ? AND jobs.pool = ?",
            tuple(pool),
        ).fetchone()
        active, running, active_slots, running_slots = (int(each) for each in row)
        return active, running, active_slots, running_slots

    def put_task(self, task: Task) -> None:
        values = (
            task.state,
            task.held,
            task.satisfied,
            task.result,
            task.slots,
            json.dumps(task.body),
            json.dumps(task.record),
        )
        if task.seq:
            self._db.execute(
                "UPDATE tasks SET state=?, held=?, satisfied=?, result=?, slots=?, body=?, record=? WHERE seq=?",
                (*values, task.seq),
            )
            return
        task.seq = (
            self._db.execute(
                "INSERT INTO tasks (account, job, task, number, state, held, satisfied, result, slots, body, record)"
                " VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                (*task.key, task.number, *values),
            ).lastrowid
            or 0
        )

    def remove_task(self, key: TaskKey) -> None:
        with self.together():
            for table in ("dependencies", "tasks"):
                self._db.execute(f"DELETE FROM {table} WHERE account = ? AND job = ? AND task = ?", tuple(key))

    def release(self, key: TaskKey) -> None:
        """Everything that a task depends on is there."""
        self._db.execute("UPDATE tasks SET held = 0 WHERE account = ? AND job = ? AND task = ?", tuple(key))

    def _tasks(self, where: str, values: tuple[Any, ...]) -> Iterator[Task]:
        query = f"SELECT account, job, task, state, held, satisfied, result, number, slots, body, record, seq FROM tasks {where}"
        for row in self._db.execute(query, values).fetchall():
            account, job, name, state, held, satisfied, result, number, slots, body, record, seq = row
            yield Task(
                key=TaskKey(account, job, name),
                state=state,
                held=bool(held),
                satisfied=bool(satisfied),
                result=result,
                number=number,
                slots=slots,
                body=json.loads(body),
                record=json.loads(record),
                seq=seq,
            )

    # What tasks depend on

    def put_dependencies(self, key: TaskKey, tasks: Iterable[str], ranges: Iterable[tuple[int, int]]) -> None:
        """`tasks`: ids; `ranges`: first and last number, both included."""
        rows = [(*key, name.lower(), None, None) for name in tasks] + [(*key, "", low, high) for low, high in ranges]
        self._db.executemany("INSERT INTO dependencies VALUES (?,?,?,?,?,?)", rows)

    def waiting_for(self, task: Task) -> list[TaskKey]:
        """The held tasks that name `task`, or a range that it lies in and of which nothing is lacking any more.

        Many tasks wait for the same range, so each range is counted once, and not for each of them.
        """
        account, job, name = task.key
        held = (
            "SELECT DISTINCT d.task FROM dependencies d INDEXED BY dependencies_on JOIN tasks t"
            " ON t.account = d.account AND t.job = d.job AND t.task = d.task"
            " WHERE d.account = ? AND d.job = ? AND t.held = 1 AND d.wanted = ?"
        )
        found = {row[0] for row in self._db.execute(held, (account, job, name))}
        if task.number is not None:
            ranges = self._db.execute(
                "SELECT DISTINCT low, high FROM dependencies WHERE account = ? AND job = ? AND wanted = ''"
                " AND low <= ? AND high >= ?",
                (account, job, task.number, task.number),
            ).fetchall()
            for low, high in ranges:
                if high - low + 1 == self._satisfied(account, job, low, high):
                    rows = self._db.execute(f"{held} AND d.low = ? AND d.high = ?", (account, job, "", low, high))
                    found.update(row[0] for row in rows)
        return [TaskKey(account, job, waiting) for waiting in sorted(found)]

    def _satisfied(self, account: str, job: str, low: int, high: int) -> int:
        """How many tasks of a range let others continue."""
        query = "SELECT COUNT(*) FROM tasks WHERE account = ? AND job = ? AND number BETWEEN ? AND ? AND satisfied = 1"
        return self._one(query, (account, job, low, high))

    def unmet(self, key: TaskKey, counted: dict[tuple[int, int], int]) -> bool:
        """Whether a task depends on one that doesn't exist, or doesn't yet let it continue.

        `counted`: what ranges of the job were found to have, for several tasks that are asked about together.
        """
        named = self._one(
            "SELECT EXISTS (SELECT 1 FROM dependencies d INDEXED BY dependencies_of LEFT JOIN tasks t"
            " ON t.account = d.account AND t.job = d.job AND t.task = d.wanted"
            " WHERE d.account = ? AND d.job = ? AND d.task = ? AND d.wanted != '' AND COALESCE(t.satisfied, 0) = 0)",
            tuple(key),
        )
        if named:
            return True
        ranges = self._db.execute(
            "SELECT low, high FROM dependencies INDEXED BY dependencies_of"
            " WHERE account = ? AND job = ? AND task = ? AND wanted = ''",
            tuple(key),
        ).fetchall()
        for low, high in ranges:
            if (low, high) not in counted:
                counted[low, high] = self._satisfied(key.account, key.job, low, high)
        return any(high - low + 1 > counted[low, high] for low, high in ranges)

    def _one(self, query: str, values: tuple[Any, ...]) -> int:
        return int(self._db.execute(query, values).fetchone()[0])
