"""A Batch account of its own for each test that asks for one, and jobs and tasks without a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localazure.batch.work import Work
from tests.localazure.batch.data_plane import Account
from tests.localazure.batch.work_words import Clock
from tests.support.embedded import EmbeddedAzure, ServedAzure


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


@pytest.fixture(scope="session")
def azure(served_azure: ServedAzure) -> ServedAzure:
    return served_azure


@pytest.fixture
def own_azure(own_served_azure: ServedAzure) -> ServedAzure:
    return own_served_azure
