"""What tests of several rooms need: an embedded Azure for each test worker, one of a test's own, Kubernetes, and the engine."""

import asyncio
import gc
import logging
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.event_loop import new_event_loop
from tests.support.examples import register_profiles
from tests.support.in_process import InProcessAzure
from tests.support.purity import pytest_runtest_makereport, pytest_runtest_protocol, pytest_runtest_teardown  # noqa: F401

if TYPE_CHECKING:  # it takes a while to load, and most tests need none of it
    from tests.support.kubernetes import ControlPlane

# Whoever starts the tests in a shell's background has them ignore Ctrl-C, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

register_profiles()

_ALL_SLOW = re.compile(r"^pytestmark = .*\bmark\.slow\b", re.MULTILINE)

# Futures whose exception nobody asked for are logged while garbage is collected, with lines of source that are parsed for it; a
# parser that collects garbage itself then fails (Python 3.11: "AST constructor recursion depth mismatch").
logging.getLogger("asyncio").setLevel(logging.CRITICAL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the end, and the garbage collector needn't go through it, a tenth of quick tests' time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(
            100_000
        )  # not 700: programs with their hundreds of resources are built and thrown away, a seventh of the time
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files all of whose tests are slow aren't imported for the quick ones. One that is named is, and its tests are left out."""
    if config.option.markexpr != "not slow" or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    if any(Path(argument.partition("::")[0]).resolve() == collection_path for argument in config.args):
        return None
    return True if _ALL_SLOW.search(collection_path.read_text(encoding="utf-8")) else None


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what `-m` doesn't select
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and "starts_processes" in item.fixturenames:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def a_loop() -> None:
    """The main thread has an event loop, as a new process does: `asyncio.run` takes it away, and Pulumi's SDK asks for it."""
    try:
        is_closed = asyncio.get_event_loop_policy().get_event_loop().is_closed()
    except RuntimeError:
        is_closed = True
    if is_closed:
        new_event_loop()


@pytest.fixture(scope="session")
def starts_processes() -> None:
    """Every fixture that starts a process requests it, which makes the tests that use one slow."""


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessAzure]:
    """In the test's own process; nothing runs on it. Shared by the tests of one worker: each has resource groups of its own."""
    server = InProcessAzure(tmp_path_factory.mktemp("azure"))
    yield server
    server.stop()


@pytest.fixture
def own_azure(tmp_path: Path) -> Iterator[InProcessAzure]:
    """One in the test's own process that a test may restart, upset, or take to another time."""
    server = InProcessAzure(tmp_path / "azure")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def served_azure(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """In a process of its own. Shared by the tests of one worker: each has resource groups and stacks of its own in it."""
    server = ServedAzure(tmp_path_factory.mktemp("served"))
    yield server
    server.stop()


@pytest.fixture
def own_served_azure(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """In a process of its own, which a test may stop, kill or upset."""
    server = ServedAzure(tmp_path_factory.mktemp("own"))
    yield server
    server.stop()


@pytest.fixture(scope="session")
def still_azure(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """In a process of its own, and nothing runs on it. Shared by the tests of one worker."""
    server = ServedAzure(tmp_path_factory.mktemp("still"), nothing_runs=True)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def engine_bin(starts_processes: None) -> Path:
    """The folder of a `pulumi` of the pinned version or later; built where the machine has none."""
    done = subprocess.run([sys.executable, "engine/build.py"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def languages_bin(starts_processes: None) -> Path:
    """The folder of the language hosts for TypeScript and YAML; built where the machine has none."""
    asked = [sys.executable, "engine/build.py", "languages"]
    done = subprocess.run(asked, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def kubernetes_bin(starts_processes: None) -> Path:
    """The folder of kubectl, kubelogin and the control plane's programs."""
    from tests.support import kubernetes

    return kubernetes.needed()


@pytest.fixture(scope="session")
def control_plane(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[ControlPlane]":
    """Shared by the tests of one worker: each has namespaces and nodes of its own in it. There is no node agent."""
    from tests.support import kubernetes

    with kubernetes.running(kubernetes.clusters_in(tmp_path_factory.mktemp("kubernetes")), kubernetes.shape()) as running:
        yield running


@pytest.fixture
def namespace(control_plane: "ControlPlane") -> Iterator[str]:
    """A namespace of the shared control plane."""
    from tests.support import kubernetes

    with kubernetes.new_namespace(control_plane) as name:
        yield name
