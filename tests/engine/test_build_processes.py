"""How a build in a process ends: complete in the cache or not at all, whoever else builds, and however it is stopped."""

import io
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from engine import go, pulumi_tools
from engine.answers import answer
from engine.progress import Progress
from tests.engine.pretended_machine import RealMachine, alive, finished, program
from tests.support.embedded import until
from tests.support.patience import SECONDS

pytestmark = pytest.mark.slow

BUILT = ["pulumi", "pulumi-language-python", "pulumi-language-python-served"]


@pytest.fixture
def machine(tmp_path: Path) -> RealMachine:
    made = RealMachine(tmp_path)
    made.has_go()
    return made


def nothing_half_built(machine: RealMachine) -> bool:
    return not list(machine.cache.glob("*.building-*"))


def begun(machine: RealMachine) -> "subprocess.Popen[str]":
    """A build whose Go waits until the file `hold` is gone."""
    (machine.records / "hold").touch()
    process = machine.start()
    until(lambda: len(machine.builds()) == 1, "Go has begun")
    return process


def test_the_folder_is_the_only_thing_on_standard_output(machine: RealMachine) -> None:
    result = machine.run()
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert "about 3 minutes" in result.stderr
    assert {file.name for file in machine.built.iterdir()} == {*BUILT, "pulumi-language-python-exec", "sources"}
    assert nothing_half_built(machine)


def test_two_builds_at_once_make_one_and_the_second_says_for_whom_it_waits(machine: RealMachine) -> None:
    first = begun(machine)
    second = machine.start()
    assert second.stderr is not None
    waiting = next(line for line in second.stderr if line.startswith("waiting for"))
    (machine.records / "hold").unlink()
    results = [finished(first), finished(second)]
    assert [result.returncode for result in results] == [0, 0]
    assert [result.stdout for result in results] == [f"{machine.built}\n"] * 2
    assert f"process {first.pid}, building pulumi-3.259.0" in waiting
    assert machine.builds() == BUILT


def test_a_build_that_was_killed_leaves_nothing_in_place_and_the_next_one_succeeds(machine: RealMachine) -> None:
    killed = begun(machine)
    killed.kill()
    (machine.records / "hold").unlink()
    killed.communicate(timeout=SECONDS)
    until(lambda: not alive(machine.last_build_process()), "Go has ended")
    assert not machine.built.exists()
    assert not nothing_half_built(machine), "the case that is tested is a half build that is still there"
    result = machine.run()
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert nothing_half_built(machine)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_build_ends_go_and_leaves_nothing(machine: RealMachine, number: signal.Signals) -> None:
    process = begun(machine)
    process.send_signal(number)
    result = finished(process)
    assert (result.returncode, result.stdout) == (130, "")
    assert "Traceback" not in result.stderr
    assert not alive(machine.last_build_process())
    assert not machine.built.exists()
    assert nothing_half_built(machine)


def test_an_interrupted_build_waits_for_a_compiler_that_outlives_go(machine: RealMachine) -> None:
    compiler = machine.records / "compiler"
    compiler.touch()
    process = begun(machine)
    until(lambda: compiler.read_text() != "", "the compiler runs")
    process.send_signal(signal.SIGINT)
    assert finished(process).returncode == 130
    assert not alive(int(compiler.read_text()))
    assert nothing_half_built(machine)


def test_a_build_that_is_interrupted_while_go_starts_ends_it(
    machine: RealMachine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
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


def test_a_failing_build_shows_its_last_lines_and_its_log_and_leaves_nothing(machine: RealMachine) -> None:
    (machine.records / "fail").write_text("module.go:7: undefined: Everything")
    result = machine.run()
    assert (result.returncode, result.stdout) == (1, "")
    assert "module.go:7: undefined: Everything" in result.stderr
    assert "Traceback" not in result.stderr
    log = machine.cache / "pulumi-3.259.0.log"
    assert f"the whole log: {log}" in result.stderr
    assert "undefined: Everything" in log.read_text()
    assert not machine.built.exists()
    assert nothing_half_built(machine)


def test_a_program_that_fails_or_is_not_there_answers_nothing(tmp_path: Path) -> None:
    program(tmp_path / "fails", "#!/bin/sh\necho v3.259.0; exit 1\n")
    program(tmp_path / "answers", "#!/bin/sh\necho v3.259.0\n")
    assert [answer([tmp_path / name]) for name in ("fails", "missing", "answers")] == ["", "", "v3.259.0\n"]
