"""`logs NAME --into` against a storage account in memory: all of a run's files, some of them, none."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from azure_gpu_operations.batch import blobs
from azure_gpu_operations.run import logs_and_stop

FILE = "run-1/main/out/model.bin"
SOME = "error: the run run-1 hasn't uploaded all its files: it is still running or was stopped early; "


class Blobs:
    """The container of runs, by names."""

    kept: tuple[str, ...] = ()

    def __init__(self, *_: object) -> None:
        pass

    def names(self, container: str, prefix: str) -> Iterator[str]:
        assert container == "runs"
        return (name for name in self.kept if name.startswith(prefix))

    def fetch(self, container: str, prefix: str, folder: Path) -> Iterator[Path]:
        return (folder / name.removeprefix(prefix) for name in self.names(container, prefix))

    def close(self) -> None:
        pass


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> type[Blobs]:
    stack = SimpleNamespace(name="dev", storage="/storage", pools={}, connection=SimpleNamespace(subscription_id="s"))
    monkeypatch.setattr(logs_and_stop, "view", lambda _: stack)
    monkeypatch.setattr(logs_and_stop.stack_options, "stack_of", lambda _: "dev")
    monkeypatch.setattr("azure_gpu_operations.azure.Arm", lambda _: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(blobs, "Blobs", Blobs)
    return Blobs


@pytest.mark.parametrize(
    ("names", "code", "told"),
    [
        ((FILE,), 0, "fetched 1 file into {into}\n"),
        ((FILE, "under-way/run-10"), 0, "fetched 1 file into {into}\n"),
        (
            (
                FILE,
                "under-way/run-1",
            ),
            1,
            SOME + "fetched 1 file into {into}\n",
        ),
        (("under-way/run-1",), 1, SOME + "fetched 0 files into {into}\n"),
    ],
)
def test_files_that_are_not_all_there_are_fetched_with_an_error(
    kept: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, ...], code: int, told: str
) -> None:
    kept.kept = names
    assert logs_and_stop._fetch(Namespace(name="run-1", into=tmp_path)) == code
    printed = capsys.readouterr()
    assert printed.err + printed.out == told.format(into=tmp_path)


def test_a_run_that_keeps_no_file_is_refused(kept: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept.kept = ("run-2/main/x",)
    assert logs_and_stop._fetch(Namespace(name="run-1", into=tmp_path)) == 2
    assert "NAME: no files are stored under this name; given: 'run-1'" in capsys.readouterr().err
