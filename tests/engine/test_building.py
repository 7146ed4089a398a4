"""When a build is made anew, and what is left of one that fails. Go is pretended; `test_build_processes.py` starts it."""

import pytest

from engine import go
from tests.engine.pretended_machine import Machine

BUILT = ["pulumi", "pulumi-language-python", "pulumi-language-python-served"]
COPIED = "pulumi-language-python-exec"


@pytest.fixture(autouse=True)
def _machine_with_go(machine: Machine) -> None:
    machine.has_go()


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
    there: list[bool] = []  # somebody else may use it
    machine.while_building = lambda: there.append((machine.built / "pulumi").exists())
    result = machine.run()
    assert (result.returncode, result.stdout, there) == (0, f"{machine.built}\n", [True] * len(BUILT))
    assert "it was built out of other sources" in result.stderr
    assert machine.run().stderr == "", "the second build is good"


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


@pytest.mark.parametrize(
    ("done", "total", "seconds", "said"),
    [
        (0, 700, 30, ""),
        (100, 700, 19, ""),
        (700, 700, 100, ""),
        (5, 0, 60, ""),
        (100, 700, 20, ", about 2 minutes left"),
        (100, 700, 100, ", about 10 minutes left"),
        (400, 700, 80, ", about a minute left"),
        (600, 700, 120, ", about 20 s left"),
    ],
    ids=["nothing yet", "too early", "all", "no total", "2 minutes", "10 minutes", "a minute", "seconds"],
)
def test_how_long_a_build_takes_is_said_by_the_speed_it_has_had(done: int, total: int, seconds: float, said: str) -> None:
    assert go.left(done, total, seconds) == said


def test_what_is_still_to_be_compiled_is_added_to_what_has_been() -> None:
    report = go._Report()
    report.read(["go: downloading a v1\n", "a\n", "b\n"])
    assert report.state() == "1 modules downloaded, 2 packages compiled"
    report.expect(8)
    report.read(["c\n"])
    assert report.state() == "1 modules downloaded, 3 of 10 packages compiled"
