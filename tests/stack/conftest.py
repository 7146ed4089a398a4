"""Stacks for tests, taken down when the test ends, and the Azure CLI."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.azure_cli import AzureCli
from tests.support.embedded import ServedAzure
from tests.support.stack import ProgramStack

# What somebody has who has used Azure for a while: quotas, roles for his blobs, a registration; test_promised_commands begins
# without it.
HAD = ("batch-quota", "environment-quota", "owner-without-data", "unregistered-insights")


def calm(server: ServedAzure) -> None:
    """Ends what a test has planted; `fault clear` alone brings all of the weather back, for each test that follows."""
    server.clear_faults()
    for part in HAD:
        server.fault("calm", name=part)


MakeStack = Callable[..., ProgramStack]
Shipped = Callable[[ServedAzure, str], ProgramStack]


@pytest.fixture(scope="session")
def azure(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """Shared by the stacks of one worker, in rough weather, but for what a subscription has that isn't new."""
    server = ServedAzure(tmp_path_factory.mktemp("azure"), weather="rough")
    calm(server)
    yield server
    server.stop()


@pytest.fixture
def made() -> Iterator[list[ProgramStack]]:
    """The stacks that a test has made, taken down when it ends."""
    stacks: list[ProgramStack] = []
    yield stacks
    for stack in stacks:
        stack.end()


@pytest.fixture
def make_stack(engine_bin: Path, made: list[ProgramStack]) -> MakeStack:
    """`make_stack(azure, config)`: a stack of the test's own. `warm=False`: the engine starts its processes by itself."""

    def make(azure: ServedAzure, config: dict[str, Any], *, warm: bool = True) -> ProgramStack:
        made.append(ProgramStack(azure, f"t{uuid.uuid4().hex[:8]}", config, engine_bin=engine_bin, warm=warm))
        return made[-1]

    return make


@pytest.fixture(scope="module")
def shared(azure: ServedAzure, engine_bin: Path) -> Iterator[ProgramStack]:
    """One stack for all tests of a module; each brings it to the configuration that it needs with `become`."""
    stack = ProgramStack(azure, f"t{uuid.uuid4().hex[:8]}", None, engine_bin=engine_bin)
    yield stack
    stack.end()


@pytest.fixture
def shipped(engine_bin: Path, made: list[ProgramStack]) -> Shipped:
    """`shipped(azure, "dev")`: the stack of the file that the project ships, connected as `make` does."""

    def connect(azure: ServedAzure, name: str) -> ProgramStack:
        done = azure.command("connect", name)
        assert done.returncode == 0, done.stderr
        made.append(ProgramStack(azure, name, None, engine_bin=engine_bin))
        made[-1].create()
        return made[-1]

    return connect


@pytest.fixture
def script(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The file with the module's `SCRIPT`."""
    file = tmp_path / "my script.py"
    file.write_text(request.module.SCRIPT)
    return file


@pytest.fixture(scope="session")
def az(azure: ServedAzure) -> Iterator[AzureCli]:
    """The real Azure CLI, signed in to the shared embedded Azure with a configuration of the test worker's own."""
    signed_in = AzureCli(azure)
    yield signed_in
    signed_in.close()
