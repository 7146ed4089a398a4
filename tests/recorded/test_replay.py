"""`make replay` counts what it says, and the tables hold facts only. The replay of all recordings is slow and needs them."""

import json
from collections import defaultdict
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.formats.arm_ids import parse
from tests.recorded import facts, replay, sessions
from tests.recorded.replay import Row, all_replayed, compared, figures, line, percentages
from tests.recorded.requests import CLUSTER_LIVES, LIVES
from tests.recorded.sessions import MANAGEMENT, Exchange, Session

ACCOUNT = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/madehere"
# Over the sessions of 2024 and later, in per cent.
HELD = {"status": 98, "error": 95, "headers": 99, "members": 97, "values": 99}
SERVED = 95  # of every type that the program declares and of what they depend on
needs_recordings = pytest.mark.skipif(not sessions.files(), reason=f"the recordings of Azure aren't here: {sessions.FOLDER}")


def exchange(method: str = "GET", path: str = ACCOUNT, *, number: int = 0, **given: Any) -> Exchange:
    usual = {
        "host": MANAGEMENT,
        "query": {"api-version": "2024-07-01"},
        "request": None,
        "status": 200,
        "headers": {},
        "response": None,
    }
    return Exchange(number=number, method=method, path=path, **{**usual, **given})


def test_an_answer_is_counted_by_status_headers_members_and_values() -> None:
    recorded = {"id": "x", "properties": {"state": "ready", "count": 3, "etag": "1", "list": ["a", "b"], "none": None}}
    each = exchange("PUT", status=201, headers={"location": "there", "retry-after": "15"}, response=recorded)
    row = compared(each, 201, {"location"}, {"ID": "x", "properties": {"STATE": "Ready", "count": 4, "etag": "2", "list": ["a"]}})
    assert (row.status, row.headers, row.error) == ((1, 1), (1, 1), None)
    assert row.members == (5, 6)  # the second of the list is missing; null is no member
    assert row.values == (3, 4)  # an etag isn't compared; letter case doesn't count
    assert row.differences == ['missing properties.list[1] = "b"', "properties.count = 4, recorded 3"]


def test_headers_are_those_of_the_recorded_answer_and_no_more() -> None:
    each = exchange("DELETE", status=202, headers={"location": "there"})
    assert compared(each, 202, {"location", "azure-asyncoperation"}, None).headers == (0, 1)
    assert compared(each, 200, {"location"}, None).headers is None  # another status: the headers would be counted twice


@pytest.mark.parametrize("ours", [{"error": {"code": "ResourceNotFound"}}, {"code": "ResourceNotFound"}])
def test_a_refusal_is_counted_by_its_code(ours: dict[str, Any]) -> None:
    each = exchange(status=404, response={"error": {"code": "ResourceNotFound", "message": "there"}})
    row = compared(each, 404, set(), ours)
    assert (row.status, row.error, row.members) == ((1, 1), (1, 1), None)
    assert compared(each, 200, set(), {"id": "x"}).error == (0, 1)


def test_what_isnt_served_is_counted_as_that_alone() -> None:
    rows = [compared(exchange(), status, set(), {}) for status in (200, 501)]
    assert figures(rows) == {
        "served": (1, 2),
        "status": (1, 1),
        "error": (0, 0),
        "headers": (0, 0),
        "members": (0, 0),
        "values": (0, 0),
    }
    assert percentages(figures(rows)) == "served 50.0 %, status 100.0 %"
    assert line("one", figures(rows)).split() == ["one", "1/2", "1/1", "-", "-", "-", "-"]


def recording(folder: Path, recorded: str | None, **first: Any) -> Path:
    each = {"method": "GET", "host": MANAGEMENT, "path": ACCOUNT, "query": {}, "request": None, "headers": {}}
    each |= {"status": 200, "response": None, **first}
    file = folder / "one.json"
    file.write_text(json.dumps({"name": "one", "path": "there/one.yaml", "recorded": recorded, "interactions": [each]}))
    return file


@pytest.mark.parametrize(
    ("written", "day", "recent"),
    [("2025-08-18", date(2025, 8, 18), True), ("26 Nov 2020", date(2020, 11, 26), False), (None, None, True)],
)
def test_a_recording_is_read_with_its_day(tmp_path: Path, written: str | None, day: date | None, recent: bool) -> None:
    session = sessions.read(recording(tmp_path, written))
    assert (session.name, session.recorded, session.recent) == ("one", day, recent)


def test_a_folder_without_recordings_is_skipped_with_a_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.main([str(tmp_path / "nowhere")]) == 0
    assert capsys.readouterr().out == f"skipped: no recordings in {tmp_path / 'nowhere'}\n"


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text("[]")
    with pytest.raises(ValueError, match=r"one\.json: no recording"):
        sessions.read(file)


def test_a_table_holds_what_the_service_says_and_nothing_of_the_session() -> None:
    body = {"location": "westus2", "properties": {"mode": "BatchService"}}
    shown = {
        "name": "madehere",
        "location": "westus2",
        "properties": {
            "mode": "BatchService",
            "provisioningState": "Succeeded",
            "accountEndpoint": "madehere.westus2.batch.azure.com",
            "slots": 20,
            "sentence": "all about madehere",
            "key": "of its own",
            "note": "made by somebody@example.com",
        },
    }
    made = [
        exchange("PUT", request=body, status=202, headers={"location": "there"}),
        exchange(number=1, response=shown),
        exchange("DELETE", number=2, status=202, headers={"location": "there", "retry-after": "15"}),
        exchange(number=3, status=404, response={"error": {"code": "ResourceNotFound"}}),
    ]
    found = facts.table(facts.answers(Session("one", "there/one.yaml", date(2025, 8, 18), tuple(made))))
    assert found["sessions"] == {"one": {"source": "there/one.yaml", "recorded": "2025-08-18"}}
    of_type = found["types"]["Microsoft.Batch/batchAccounts"]
    forms = [tuple(form.get(name) for name in ("operation", "when", "status", "headers", "code")) for form in of_type["answers"]]
    assert forms == [
        ("create", None, 202, ["location"], None),
        ("delete", None, 202, ["location"], None),
        ("read", None, 200, None, None),
        ("read", "it isn't there", 404, None, "ResourceNotFound"),
    ]
    any_value = dict.fromkeys(["accountEndpoint", "key", "note", "provisioningState", "slots", "sentence"])
    assert of_type["members"]["read"] == {
        f"properties.{name}": value for name, value in {**any_value, "slots": 20, "sentence": None}.items()
    }


@needs_recordings
def test_the_table_is_what_the_recordings_show() -> None:
    found = facts.table(answer for file in sessions.files() for answer in facts.answers(sessions.read(file)))
    assert found == json.loads(facts.TABLES[0].read_text(encoding="utf-8")), "python -m tests.recorded.facts writes it again"


@pytest.mark.slow
@needs_recordings
def test_the_embedded_azure_answers_as_the_recorded_one() -> None:
    held = [file for file in sessions.files() if sessions.read(file).recent]
    rows = [row for each in all_replayed(held) for row in each.rows if not row.beside]
    found = figures(rows)
    short = {name: found[name] for name, held in HELD.items() if found[name][0] * 100 < held * found[name][1]}
    assert short == {}, percentages(found)
    by_type: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if parsed := parse(row.path):
            by_type[parsed.type.lower()].append(row)
    declared = (figures(by_type[life.arm_type.lower()])["served"] + (life.arm_type,) for life in (*LIVES, *CLUSTER_LIVES))
    assert [name for served, of, name in declared if served * 100 < SERVED * of] == []
