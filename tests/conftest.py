"""What tests of several rooms need: an embedded Azure for each test worker, one of a test's own, and the engine."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.embedded import CHECKOUT, EmbeddedAzure


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAzure]:
    """Shared by the tests of one worker: each has resource groups and stacks of its own in it."""
    server = EmbeddedAzure(tmp_path_factory.mktemp("azure"))
    yield server
    server.stop()


@pytest.fixture
def own_azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAzure]:
    """A server that a test may stop, kill or upset."""
    server = EmbeddedAzure(tmp_path_factory.mktemp("own"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def engine_bin() -> Path:
    """The folder of a `pulumi` of the pinned version or later; built where the machine has none."""
    done = subprocess.run([sys.executable, "engine/build.py"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())
