"""What is sent to Azure, and what is refused, is what was recorded."""

import functools
from typing import Any

import pytest

from tests.components import recorded_bodies


@functools.cache
def record() -> dict[str, Any]:
    return recorded_bodies.recorded()


def test_the_record_holds_every_case_and_every_stack_file() -> None:
    assert sorted(record()) == recorded_bodies.names()


def test_a_case_that_comes_or_goes_is_one_line_and_a_changed_one_says_where() -> None:
    before, after = {"gone": {"a": 1}, "kept": {"a": 1}}, {"kept": {"a": 2}, "new": {"a": 1}}
    assert list(recorded_bodies.changes(before, after)) == ["gone: gone", "kept.a: 1 is now 2", "new: new"]


@pytest.mark.parametrize("name", recorded_bodies.names())
def test_the_program_declares_and_refuses_what_was_recorded(name: str) -> None:
    assert list(recorded_bodies.differences(record()[name], recorded_bodies.now(name))) == []
