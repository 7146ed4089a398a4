"""One embedded Azure for each test worker, and the engine; each test has a stack of its own."""

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.embedded import CHECKOUT, EmbeddedAzure
from tests.support.stack import ProgramStack


@pytest.fixture(scope="session")
def engine_bin() -> Path:
    """The folder of a `pulumi` of the pinned version or later; built where the machine has none."""
    done = subprocess.run([sys.executable, "engine/build.py"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAzure]:
    server = EmbeddedAzure(tmp_path_factory.mktemp("azure"))
    yield server
    server.stop()


@pytest.fixture
def own_azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAzure]:
    """A server that a test may kill."""
    server = EmbeddedAzure(tmp_path_factory.mktemp("own"))
    yield server
    server.stop()


MakeStack = Callable[..., ProgramStack]


@pytest.fixture
def make_stack(engine_bin: Path) -> Iterator[MakeStack]:
    """`make_stack(azure, config)`: a stack that is taken down when the test ends."""
    made: list[ProgramStack] = []

    def make(azure: EmbeddedAzure, config: dict[str, Any]) -> ProgramStack:
        made.append(ProgramStack(azure, f"t{uuid.uuid4().hex[:8]}", config, engine_bin=engine_bin))
        return made[-1]

    yield make
    for stack in made:
        done = stack.down()
        assert done.returncode == 0, done.stdout + done.stderr


Shipped = Callable[[EmbeddedAzure, str], ProgramStack]


@pytest.fixture
def shipped(engine_bin: Path) -> Iterator[Shipped]:
    """`shipped(azure, "dev")`: the stack of the file that the project ships, connected as `make` does, taken down afterwards."""
    made: list[ProgramStack] = []

    def connect(azure: EmbeddedAzure, name: str) -> ProgramStack:
        done = azure.command("connect", name)
        assert done.returncode == 0, done.stderr
        made.append(ProgramStack(azure, name, None, engine_bin=engine_bin))
        made[-1].create()
        return made[-1]

    yield connect
    for stack in made:
        done = stack.down()
        assert done.returncode == 0, done.stdout + done.stderr
