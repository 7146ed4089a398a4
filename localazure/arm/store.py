"""The store of the embedded Azure, one SQLite file: resources, long operations, and small documents of the services.

Every method that writes has committed durably (write-ahead log, synchronous=FULL) when it returns, so what a client was told
survives a kill, and a crash of the machine too unless the store was opened without `is_durable`. The store is used from one
thread, the server's event loop.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from azure_gpu.formats import arm_ids
from azure_gpu.formats.arm_ids import ArmId, parse
from azure_gpu.formats.azure_types import AzureType

Body = dict[str, Any]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS resources (
  key TEXT PRIMARY KEY, id TEXT NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL,
  body TEXT NOT NULL, service TEXT NOT NULL, private TEXT NOT NULL, created_at TEXT NOT NULL, changed_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS resources_by_type ON resources (type, name);
CREATE TABLE IF NOT EXISTS operations (
  id TEXT PRIMARY KEY, resource_key TEXT NOT NULL, status TEXT NOT NULL, record TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS operations_by_resource ON operations (resource_key, status);
CREATE TABLE IF NOT EXISTS documents (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass(slots=True, kw_only=True)
class Resource:
    """One stored resource. What GET answers is `body`, with `service` laid over it."""

    id: ArmId  # in the spelling first stored
    body: Body  # what the client PUT, with the service's defaults where it was silent; no id, name, type
    service: Body = field(default_factory=dict)  # what the service set, in the body's shape: {"properties": {"clientId": ...}}
    private: Body = field(default_factory=dict)  # what the service remembers and never answers: keys, run records
    state: str = "Succeeded"  # provisioningState: Creating, Updating, Succeeded, Failed, Deleting
    created_at: str = ""  # RFC 3339, UTC
    changed_at: str = ""
    answering: bool = False  # not stored: the record is shown in the answer to its own change

    @property
    def key(self) -> str:
        return self.id.key

    @property
    def location(self) -> str:
        return str(self.body.get("location") or "")

    @property
    def tags(self) -> dict[str, str]:
        return self.body.get("tags") or {}

    @property
    def properties(self) -> Body:
        return self.body.get("properties") or {}


@dataclass(slots=True, kw_only=True)
class Operation:
    """One long operation. `kind` is put, delete, or the name of an action."""

    id: str
    resource_key: str
    resource_id: str
    kind: str
    status: str  # InProgress, Succeeded, Failed
    started_at: str
    as_of: str  # YYYY-MM-DD, the date at which the request was validated
    ended_at: str = ""
    error: Body | None = None  # ARM's error content
    result: Body | None = None  # what an action answers in the end


class Store:
    """Resources, operations and documents. Keys are lower-case ids (`ArmId.key`); lists come in the order of their keys."""

    def __init__(self, path: Path, *, is_durable: bool = True) -> None:
        path.touch(mode=0o600)  # it holds keys; SQLite gives its log files the same mode
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA synchronous={'FULL' if is_durable else 'OFF'}")
        self._db.executescript(_SCHEMA)
        self._supposed: dict[str, Resource] = {}

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Writes inside become durable as one, or not at all. Holds no await."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # Resources

    def get(self, resource_id: str) -> Resource | None:
        """The resource with this id, in any letter case."""
        row = self._db.execute(f"{_SELECT} WHERE key = ?", (resource_id.lower(),)).fetchone()
        return _resource(row) if row else None

    @contextmanager
    def supposing(self, groups: Iterable[Resource]) -> Iterator[None]:
        """`group` finds these inside, which are stored nowhere: what a template would make. Holds no await."""
        self._supposed = {each.key: each for each in groups}
        try:
            yield
        finally:
            self._supposed = {}

    def group(self, subscription: str, name: str) -> Resource | None:
        """A resource group that is there, or is supposed to be."""
        key = f"/subscriptions/{subscription}/resourceGroups/{name}".lower()
        return self._supposed.get(key) or self.get(key)

    def put(self, resource: Resource) -> None:
        self._db.execute(
            "INSERT INTO resources VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (key) DO UPDATE SET state=excluded.state,"
            " body=excluded.body, service=excluded.service, private=excluded.private, changed_at=excluded.changed_at",
            (
                resource.key,
                resource.id.text,
                resource.id.type.lower(),
                resource.id.name.lower(),
                resource.state,
                json.dumps(resource.body),
                json.dumps(resource.service),
                json.dumps(resource.private),
                resource.created_at,
                resource.changed_at,
            ),
        )

    def made(self, resource_id: str, body: Body, now: str, service: Body | None = None) -> Resource:
        """The resource of an id, made where there is none."""
        found, parsed = self.get(resource_id), parse(resource_id)
        if found is None and parsed is not None:
            found = Resource(id=parsed, body=body, service=service or {}, created_at=now, changed_at=now)
            self.put(found)
        if found is None:
            raise ValueError(f"'{resource_id}' is no id")
        return found

    def delete(self, resource_id: str) -> None:
        self._db.execute("DELETE FROM resources WHERE key = ?", (resource_id.lower(),))

    def below(self, scope: str) -> list[Resource]:
        """Everything whose id lies below `scope`: children, a group's resources, role assignments on any of them."""
        start = scope.lower().rstrip("/") + "/"
        return self._select("WHERE key >= ? AND key < ?", (start, start[:-1] + "0"))  # "0" follows "/" in ASCII

    def of_type(self, arm_type: str, scope: str = "") -> list[Resource]:
        """All resources of a type, or those whose id lies below `scope`."""
        if not scope:
            return self._select("WHERE type = ?", (arm_type.lower(),))
        start = scope.lower().rstrip("/") + "/"
        return self._select("WHERE type = ? AND key >= ? AND key < ?", (arm_type.lower(), start, start[:-1] + "0"))

    def at(self, text: str, azure_type: AzureType) -> Resource | None:
        """The resource of a type that an id names; None where the text is the id of none."""
        parsed = parse(text)
        return self.get(parsed.key) if parsed is not None and parsed.is_type(azure_type.arm_type) else None

    def named(self, arm_type: str, name: str) -> list[Resource]:
        """All resources of a type with this name, wherever they lie: for names that are unique in all of Azure."""
        return self._select("WHERE type = ? AND name = ?", (arm_type.lower(), name.lower()))

    def _select(self, where: str, values: tuple[str, ...]) -> list[Resource]:
        return [_resource(row) for row in self._db.execute(f"{_SELECT} {where} ORDER BY key", values)]

    # Long operations

    def put_operation(self, operation: Operation) -> None:
        record = {name: getattr(operation, name) for name in Operation.__slots__}
        self._db.execute(
            "INSERT OR REPLACE INTO operations VALUES (?,?,?,?)",
            (operation.id, operation.resource_key, operation.status, json.dumps(record)),
        )

    def get_operation(self, operation_id: str) -> Operation | None:
        return next(self._operations("id = ?", operation_id), None)

    def operation_in_progress(self, resource_key: str) -> Operation | None:
        return next(self._operations("resource_key = ? AND status = 'InProgress'", resource_key), None)

    def operations_in_progress(self) -> list[Operation]:
        return list(self._operations("status = 'InProgress'"))

    def _operations(self, where: str, *values: str) -> Iterator[Operation]:
        rows = self._db.execute(f"{_RECORDS} {where} ORDER BY id", values).fetchall()
        return (Operation(**json.loads(record)) for (record,) in rows)

    def forget_operations(self, ended_before: str) -> None:
        """Forgets operations that ended before an instant, as `Clock.stamp` spells it: nobody polls them any more."""
        self._db.execute(
            "DELETE FROM operations WHERE status != 'InProgress' AND json_extract(record, '$.ended_at') < ?", (ended_before,)
        )

    # Documents

    def document(self, name: str) -> Body | None:
        """A service's own record that isn't a resource, such as `registries/runs/ca1`; None where there is none."""
        row = self._db.execute("SELECT content FROM documents WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None

    def put_document(self, name: str, content: Body) -> None:
        self._db.execute("INSERT OR REPLACE INTO documents VALUES (?,?)", (name, json.dumps(content)))

    def delete_document(self, name: str) -> None:
        self._db.execute("DELETE FROM documents WHERE name = ?", (name,))

    def documents(self, prefix: str) -> dict[str, Body]:
        """All documents whose name starts with `prefix`, by name."""
        rows = self._db.execute(
            "SELECT name, content FROM documents WHERE substr(name, 1, ?) = ? ORDER BY name", (len(prefix), prefix)
        )
        return {name: json.loads(content) for name, content in rows}


_RECORDS = "SELECT record FROM operations WHERE"
_SELECT = "SELECT id, state, body, service, private, created_at, changed_at FROM resources"


def _resource(row: tuple[str, ...]) -> Resource:
    resource_id, state, body, service, private, created_at, changed_at = row
    parsed = arm_ids.parse(resource_id)
    if parsed is None:
        raise ValueError(f"the state file holds an id that is none: {resource_id!r}")
    return Resource(
        id=parsed,
        body=json.loads(body),
        service=json.loads(service),
        private=json.loads(private),
        state=state,
        created_at=created_at,
        changed_at=changed_at,
    )
