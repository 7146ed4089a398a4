"""A small checkout whose workload does what its arguments say, images and containers in folders of the test, and no network."""

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from localazure.arm.store import Store
from localazure.containers.images import Image, Images
from localazure.containers.runtime import Runtime
from localazure.nothing_runs.images import PromisedImages
from tests.localazure.conftest import new_group
from tests.localazure.containers.sdk import Groups, Registry
from tests.support.embedded import EmbeddedAzure, ServedAzure
from tests.support.in_process import judging_as_if_things_ran
from tests.support.patience import SECONDS

T = TypeVar("T")
STORAGE = "2024-01-01"

DOCKERFILE = """\
FROM python:3.11-slim
ENV GREETING=hello PYTHONUNBUFFERED=1
WORKDIR /app
COPY . .
ENTRYPOINT ["python", "main.py"]
CMD ["say", "nothing asked"]
"""

MAIN = '''\
"""Does what its arguments say, one verb after the other."""
import os, signal, subprocess, sys, time

verbs = iter(sys.argv[1:])
for verb in verbs:
    if verb == "say":
        print(next(verbs), flush=True)
    elif verb == "env":
        for name in sorted(os.environ):
            print(f"{name}={os.environ[name]}", flush=True)
    elif verb == "lines":
        for number in range(int(next(verbs))):
            print(f"line {number}")
    elif verb == "exit":
        sys.exit(int(next(verbs)))
    elif verb == "write":
        with open(next(verbs), "x") as file:
            file.write("written")
    elif verb == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif verb == "child":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(f"child {child.pid}", flush=True)
    elif verb == "pid":
        print(f"pid {os.getpid()}", flush=True)
    elif verb == "wait":
        while True:
            time.sleep(600)
'''


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


async def until(true: Callable[[], Any], what: str) -> Any:
    """Polls until `true()` is truthy and returns that. AssertionError, naming `what`, at the deadline."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        found = true()
        if found:
            return found
        await asyncio.sleep(0.02)
    raise AssertionError(f"not within {SECONDS} s: {what}")


def write_workload(folder: Path, dockerfile: str = DOCKERFILE, **files: str) -> Path:
    """A workload's folder. `files` are named with `__` for `.`: `requirements__txt`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Dockerfile").write_text(dockerfile)
    (folder / "main.py").write_text(MAIN)
    for name, content in files.items():
        (folder / name.replace("__", ".")).write_text(content)
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "state.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def images(tmp_path: Path, store: Store) -> Images:
    return Images(tmp_path / "cache", store)


@pytest.fixture(scope="session")
def hello(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The small workload's image, built once for all tests."""
    folder = tmp_path_factory.mktemp("hello")
    store = Store(folder / "state.sqlite")
    context = write_workload(folder / "workload")
    image = run(Images(folder / "cache", store).build(context, "Dockerfile", {}, [], folder / "build.log"))
    store.close()
    return image


@pytest.fixture
def runtime(starts_processes: None, tmp_path: Path) -> Iterator[Runtime]:
    folder = tmp_path / "containers"
    folder.mkdir()
    yield Runtime(folder)
    run(Runtime(folder).reap())


@pytest.fixture(scope="session")
def running_azure(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """A server on which containers run, whose checkout has one small workload."""
    yield from served(tmp_path_factory)


@pytest.fixture(scope="module")
def own_running_azure(starts_processes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    """One that tests of a module stop and kill; each starts it again."""
    yield from served(tmp_path_factory)


def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedAzure]:
    checkout = tmp_path_factory.mktemp("checkout")
    write_workload(checkout / "workloads" / "hello")
    write_workload(checkout / "workloads" / "vector_add")  # stands where the article's image leads to
    server = ServedAzure(tmp_path_factory.mktemp("containers"), checkout=checkout)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def running_registry(running_azure: ServedAzure) -> Registry:
    """A registry with the small workload in it, and an identity that may pull it."""
    return new_registry(running_azure)


@pytest.fixture(scope="session")
def registry(azure: EmbeddedAzure) -> Registry:
    """The same in the test's own process."""
    return new_registry(azure)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server in the test's own process judges requests as one on which things run: images have to be built and within reach,
    and what would start something is judged first."""
    judging_as_if_things_ran(monkeypatch)
    monkeypatch.setattr(PromisedImages, "find", Images.find)


def new_registry(azure: EmbeddedAzure) -> Registry:
    made = Registry(azure, new_group(azure), f"reg{uuid.uuid4().hex[:10]}")
    assert made.build("hello", "hello:1")["status"] == "Succeeded"
    made.allow_pull()
    return made


@pytest.fixture
def groups(azure: EmbeddedAzure, registry: Registry, group: str) -> Groups:
    """Container groups of a test, of the image in `registry`."""
    return Groups(azure, registry, group)


@pytest.fixture
def account(azure: EmbeddedAzure, group: str) -> Iterator[tuple[str, str]]:
    """A storage account: its name and a key."""
    name = f"st{uuid.uuid4().hex[:12]}"
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/{name}"
    azure.made(path, {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2"}, STORAGE)
    yield name, azure.post(f"{path}/listKeys", STORAGE).json()["keys"][0]["value"]
    azure.delete(path, STORAGE)
