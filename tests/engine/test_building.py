"""How a build ends: complete in the cache or not at all, whoever else builds, and however it is stopped. Go is pretended."""

import io
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engine import go, pulumi_tools
from engine.progress import Progress
from tests.engine.fakes import Machine, alive, finished, wait_until

BUILT = ["pulumi", "pulumi-language-python", "pulumi-language-python-served"]
COPIED = "pulumi-language-python-exec"


@pytest.fixture(autouse=True)
def _machine_with_go(machine: Machine) -> None:
    machine.has_go()


def test_the_folder_is_the_only_thing_on_standard_output(machine: Machine) -> None:
    result = machine.run()
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert "5 to 8 minutes" in result.stderr, "the estimate belongs on standard error"


def test_the_folder_has_all_that_an_engine_needs_and_nothing_else(machine: Machine) -> None:
    machine.run()
    assert {file.name for file in machine.built.iterdir()} == {*BUILT, COPIED, "sources"}
    assert all(os.access(file, os.X_OK) for file in machine.built.iterdir() if file.name != "sources")
    answer = subprocess.run([machine.built / "pulumi", "version"], capture_output=True, text=True, check=True)
    assert answer.stdout == "v3.259.0\n"
    assert no_temporary_folder(machine)


def test_two_builds_at_once_make_one_and_the_second_says_for_whom_it_waits(machine: Machine) -> None:
    hold = machine.records / "hold"
    hold.touch()
    first = machine.start()
    wait_until(lambda: len(machine.builds()) == 1)
    second = machine.start()
    assert second.stderr is not None
    waiting = next(line for line in second.stderr if line.startswith("waiting for"))
    hold.unlink()
    results = [finished(first), finished(second)]
    assert [result.returncode for result in results] == [0, 0]
    assert [result.stdout for result in results] == [f"{machine.built}\n"] * 2
    assert f"process {first.pid}, building pulumi-3.259.0" in waiting
    assert machine.builds() == BUILT


def test_a_build_that_was_killed_leaves_nothing_in_place_and_the_next_one_succeeds(machine: Machine) -> None:
    hold = machine.records / "hold"
    hold.touch()
    killed = machine.start()
    wait_until(lambda: len(machine.builds()) == 1)
    killed.kill()
    hold.unlink()
    killed.communicate(timeout=60)
    wait_until(lambda: not alive(machine.last_build_process()))
    assert not machine.built.exists()
    assert not no_temporary_folder(machine), "the case that is tested is a half build that is still there"
    result = machine.run()
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert no_temporary_folder(machine)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_build_ends_go_and_leaves_nothing(machine: Machine, number: signal.Signals) -> None:
    (machine.records / "hold").touch()
    process = machine.start()
    wait_until(lambda: len(machine.builds()) == 1)
    process.send_signal(number)
    result = finished(process)
    assert (result.returncode, result.stdout) == (130, "")
    assert "Traceback" not in result.stderr
    assert not alive(machine.last_build_process())
    assert not machine.built.exists()
    assert no_temporary_folder(machine)


def test_an_interrupted_build_waits_for_a_compiler_that_outlives_go(machine: Machine) -> None:
    (machine.records / "hold").touch()
    compiler = machine.records / "compiler"
    compiler.touch()
    process = machine.start()
    wait_until(lambda: compiler.read_text() != "")
    process.send_signal(signal.SIGINT)
    assert finished(process).returncode == 130
    assert not alive(int(compiler.read_text()))
    assert no_temporary_folder(machine)


def test_a_build_that_is_interrupted_while_go_starts_ends_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (machine.records / "hold").touch()
    monkeypatch.setenv("FAKE_RECORDS", str(machine.records))
    started: list[subprocess.Popen[str]] = []

    class Interrupted(subprocess.Popen[str]):
        """Go has started, and whoever started it doesn't know yet."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(go.subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        go.build(
            str(machine.path / "go"),
            pulumi_tools.COMMAND_LINE,
            tmp_path / "pulumi",
            [],
            scratch=tmp_path,
            log=tmp_path / "log",
            progress=Progress(io.StringIO()),
        )
    assert started[0].poll() is not None


@pytest.mark.parametrize("name", [*BUILT, COPIED])
def test_a_build_with_a_missing_file_is_made_again(machine: Machine, name: str) -> None:
    machine.run()
    (machine.built / name).unlink()
    result = machine.run()
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert f"{name} is missing" in result.stderr
    assert (machine.built / name).exists()
    assert machine.builds() == BUILT * 2


@pytest.mark.parametrize("answer", ["echo v3.258.0", "echo", "exit 3"])
def test_a_build_that_does_not_answer_the_pinned_version_is_made_again(machine: Machine, answer: str) -> None:
    machine.run()
    machine.has_pulumi(answer, machine.built)
    result = machine.run()
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert "instead of v3.259.0" in result.stderr
    assert machine.run().stderr == "", "the second build is good"


def test_a_build_out_of_other_sources_is_made_again_and_stays_until_then(machine: Machine) -> None:
    machine.run()
    (machine.built / "sources").write_text("of another checkout")
    hold = machine.records / "hold"
    hold.touch()
    process = machine.start()
    wait_until(lambda: len(machine.builds()) == len(BUILT) + 1)
    assert (machine.built / "pulumi").exists(), "somebody else may use it"
    hold.unlink()
    result = finished(process)
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert "it was built out of other sources" in result.stderr
    assert machine.run().stderr == "", "the second build is good"


def test_a_failing_build_shows_its_last_lines_and_its_log_and_leaves_nothing(machine: Machine) -> None:
    (machine.records / "fail").write_text("module.go:7: undefined: Everything")
    result = machine.run()
    assert (result.returncode, result.stdout) == (1, "")
    assert "module.go:7: undefined: Everything" in result.stderr
    assert "Traceback" not in result.stderr
    log = machine.cache / "pulumi-3.259.0.log"
    assert f"the whole log: {log}" in result.stderr
    assert "undefined: Everything" in log.read_text()
    assert not machine.built.exists()
    assert no_temporary_folder(machine)


def test_a_broken_build_that_cannot_be_made_again_is_taken_away(machine: Machine) -> None:
    machine.run()
    (machine.built / "pulumi-language-python").unlink()
    (machine.records / "fail").write_text("no space left on device")
    assert machine.run().returncode == 1
    assert not machine.built.exists()


def test_a_cache_that_cannot_be_written_is_one_line(machine: Machine) -> None:
    machine.cache.parent.write_text("a file where the folder should be")
    result = machine.run()
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines()[-1] == f"{machine.cache}: Not a directory"


def no_temporary_folder(machine: Machine) -> bool:
    return not list(machine.cache.glob("*.building-*"))
