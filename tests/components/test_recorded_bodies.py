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


@pytest.mark.parametrize("name", recorded_bodies.names())
def test_the_program_declares_and_refuses_what_was_recorded(name: str) -> None:
    assert list(recorded_bodies.differences(record()[name], recorded_bodies.now(name))) == []
