"""The engine that judges bodies by the table of refusals, and the form of the table."""

import contextlib
import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.formats import conditions
from localazure import evidence
from localazure.arm import refusals
from localazure.arm.errors import ArmError
from localazure.evidence import Refusal
from tests.localazure.any_body import json_of, many
from tests.support.tables import of_table

TYPE = "Microsoft.Lab/boxes"
ROWS = [row for rows in evidence.refusals().values() for row in rows]
STEPS = sorted({step.rstrip("[]{}") for row in ROWS for step in row.path.split(".")})


def judged(monkeypatch: pytest.MonkeyPatch, path: str, condition: str, body: Any, before: Any = None, message: str = "") -> str:
    """The target and the message of the refusal by one row; "" where it lets the body through."""
    row = Refusal(TYPE, "", "", path, condition, "400", "Bad", message, "", "here", "documented", "")
    monkeypatch.setattr(evidence, "refusals", lambda: {TYPE.lower(): [row]})
    try:
        refusals.judge(TYPE, body, date(2026, 5, 1), before=before, facts={"most": 5, "known": ["a"]})
    except ArmError as error:
        return f"{error.target}: {error.message}"
    return ""


@of_table("path", "condition", "refused", "taken")
def test_a_condition(path: str, condition: str, refused: Any, taken: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        assert judged(patch, path, condition, refused)
        assert not judged(patch, path, condition, taken)


def test_what_changes_is_compared_with_what_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for was, now, refused in (("A", "a", False), ([1, 2], [2, 1], False), (None, False, False), ("a", "b", True)):
        assert bool(judged(monkeypatch, "a.b", "changed", {"a": {"b": now}}, {"a": {"b": was}})) is refused
    assert not judged(monkeypatch, "a", "changed", {"a": 1}), "nothing was there"


def test_a_refusal_names_the_path_and_fills_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"a": [{"name": "x", "n": [1]}, {"name": "y", "n": [7]}]}
    told = judged(monkeypatch, "a[].n[]", "> 5", body, message="{value} of {..name} is above {@most} { }")
    assert told == "a[1].n[0]: 7 of  is above 5 { }"


def test_rows_hold_for_their_versions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Refusal(TYPE, "2024-01-01", "2024-12-31", "a", "set", "400", "Bad", "", "", "here", "documented", "")
    monkeypatch.setattr(evidence, "refusals", lambda: {TYPE.lower(): [row]})
    for version, refused in (("2023-05-01", False), ("2024-05-01", True), ("2025-01-01", False)):
        monkeypatch.setattr(refusals.requested_version, "current", lambda version=version: version)
        if refused:
            with pytest.raises(ArmError):
                refusals.judge(TYPE, {"a": 1}, date(2026, 5, 1))
        else:
            refusals.judge(TYPE, {"a": 1}, date(2026, 5, 1))


def test_each_row_is_complete() -> None:
    wrong = [
        f"{row.arm_type} {row.path}: {row.condition}"
        for row in ROWS
        if row.rank not in evidence.RANKS
        or not row.source
        or not re.fullmatch(r"[45]\d\d", row.status)
        or (row.rank == "assumed") != row.source.startswith("kept: ")
        or (row.rank == "recorded") != row.source.lower().startswith("test_")
        or any(each.operand.startswith("/") != (each.test in ("like", "unlike")) for each in conditions.clauses(row.condition))
    ]
    assert wrong == []
    assert all(
        re.compile(each.operand[1:-1]) for row in ROWS for each in conditions.clauses(row.condition) if each.operand[:1] == "/"
    )


@many(200)
@given(st.sampled_from(sorted({row.arm_type for row in ROWS})), json_of(STEPS))
def test_any_body_is_taken_or_refused(arm_type: str, body: Any) -> None:
    if not isinstance(body, dict):
        body = {"properties": body}
    with contextlib.suppress(ArmError):
        refusals.judge(arm_type, body, date(2026, 5, 1), before=body, facts={"name": "x"})
