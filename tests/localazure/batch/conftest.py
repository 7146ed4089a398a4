"""A Batch account of its own for each test that asks for one, and jobs and tasks without a server."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from localazure.batch.work import Work
from tests.localazure.batch.data_plane import Account
from tests.support.embedded import EmbeddedAzure
from tests.support.in_process import judging_as_if_things_ran


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 10, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(autouse=True, scope="module")
def judged() -> Iterator[None]:
    """The server in the test's own process takes jobs as one whose pools have nodes does; its pools get none."""
    with pytest.MonkeyPatch.context() as patch:
        judging_as_if_things_ran(patch)
        yield


@pytest.fixture
def account(azure: EmbeddedAzure, group: str) -> Account:
    return Account(azure, group)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def work(tmp_path: Path, clock: Clock) -> Iterator[Work]:
    work = Work(tmp_path / "batch.sqlite", clock)
    yield work
    work.close()
