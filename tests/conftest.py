"""What tests of several rooms need: an embedded Azure for each test worker, one of a test's own, Kubernetes, and the engine."""

import gc
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.embedded import CHECKOUT, EmbeddedAzure
from tests.support.examples import register_profiles

if TYPE_CHECKING:  # it takes a while to load, and most tests need none of it
    from tests.support.kubernetes import ControlPlane

# Whoever starts the tests in a shell's background has them ignore Ctrl-C, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

register_profiles()

# A test that starts one of these takes seconds: it is slow, unless it is marked as one that the quick run shouldn't be without.
_SLOW_TO_START = {"control_plane", "own_azure"}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the end, and the garbage collector needn't go through it, a tenth of quick tests' time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what `-m` doesn't want
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        starts = isinstance(item, pytest.Function) and not _SLOW_TO_START.isdisjoint(item.fixturenames)
        if starts and item.get_closest_marker("quick") is None:
            item.add_marker(pytest.mark.slow)


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
def still_azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedAzure]:
    """One on which nothing runs, shared by the tests of one worker."""
    server = EmbeddedAzure(tmp_path_factory.mktemp("still"), nothing_runs=True)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def engine_bin() -> Path:
    """The folder of a `pulumi` of the pinned version or later; built where the machine has none."""
    done = subprocess.run([sys.executable, "engine/build.py"], cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def languages_bin() -> Path:
    """The folder of the language hosts for TypeScript and YAML; built where the machine has none."""
    asked = [sys.executable, "engine/build.py", "languages"]
    done = subprocess.run(asked, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True)
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def kubernetes_bin() -> Path:
    """The folder of kubectl, kubelogin and the control plane's programs."""
    from tests.support import kubernetes

    return kubernetes.needed()


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[ControlPlane]":
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
