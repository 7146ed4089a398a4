"""The store: what lies below an id, what is written together, and what a second process finds."""

import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from localazure.arm.store import Operation, Resource, Store
from tests.localazure.parts import arm_id

SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000000"
NAMES = st.text(st.sampled_from("aZ09-_.() "), min_size=1, max_size=4)


def group(name: str) -> Resource:
    return Resource(id=arm_id(f"{SUBSCRIPTION}/resourceGroups/{name}"), body={"location": "westeurope"})


def identity(in_group: str, name: str) -> Resource:
    text = f"{SUBSCRIPTION}/resourceGroups/{in_group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}"
    return Resource(id=arm_id(text), body={})


@given(st.lists(st.tuples(NAMES, NAMES), max_size=8), NAMES)
def test_below_an_id_lies_exactly_what_its_id_starts(entries: list[tuple[str, str]], asked: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "azure.sqlite")
        with store.together():
            for in_group, name in entries:
                store.put(group(in_group))
                store.put(identity(in_group, name))
        found = {each.key for each in store.below(group(asked).id.text.upper())}
        of_type = {each.key for each in store.of_type("microsoft.managedidentity/USERASSIGNEDIDENTITIES", group(asked).id.text)}
        store.close()
    assert found == {identity(one, name).key for one, name in entries if one.lower() == asked.lower()}
    assert of_type == found


def test_a_second_process_finds_what_was_written(tmp_path: Path) -> None:
    first = Store(tmp_path / "azure.sqlite")
    stored = identity("rg", "Trainer")
    stored.private = {"key": "ü\ud800"}  # even half a character that a client sent
    first.put(stored)
    second = Store(tmp_path / "azure.sqlite")
    assert second.get(stored.id.text.upper()) == stored
    first.close()
    second.close()


def test_writes_together_are_all_or_none(tmp_path: Path) -> None:
    store = Store(tmp_path / "azure.sqlite")

    def two_writes_and_an_error() -> None:
        with store.together():
            store.put(group("rg"))
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        two_writes_and_an_error()
    assert store.get(group("rg").id.text) is None
    store.close()


def test_commits_are_durable(tmp_path: Path) -> None:
    store = Store(tmp_path / "azure.sqlite")
    database: sqlite3.Connection = store._db
    assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
    store.close()


def test_operations_are_forgotten_when_they_ended_long_ago(tmp_path: Path) -> None:
    store = Store(tmp_path / "azure.sqlite")
    ended = {"old": "2026-01-01", "new": "2026-03-01", "going": ""}
    for name, when in ended.items():
        status = "Succeeded" if when else "InProgress"
        operation = Operation(
            id=name, resource_key="k", resource_id="K", kind="put", status=status, started_at="", as_of="", ended_at=when
        )
        store.put_operation(operation)
    store.forget_operations("2026-02-01")
    assert [store.get_operation(name) is not None for name in ended] == [False, True, True]
    store.close()


def test_documents_are_found_by_the_start_of_their_names(tmp_path: Path) -> None:
    store = Store(tmp_path / "azure.sqlite")
    for name in ("runs/a", "runs/b", "runs_", "RUNS/c"):
        store.put_document(name, {"name": name})
    assert list(store.documents("runs/")) == ["runs/a", "runs/b"]
    store.delete_document("runs/a")
    assert store.document("runs/a") is None
    store.close()
