"""Which Pulumi is taken: the one on PATH, the one in the cache, or one that has yet to be built. Go and Pulumi are pretended."""

import re
from pathlib import Path

import pytest

from tests.engine.pretended_machine import PINNED, Machine, program

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("version", ["v3.259.0", "v3.259.4", "v3.260.1", "v3.300.0-alpha.1"])
def test_a_pulumi_on_path_of_the_pinned_minor_version_or_later_is_used(machine: Machine, version: str) -> None:
    machine.has_go()
    machine.has_pulumi(f"echo {version}")
    result = machine.run()
    assert (result.returncode, result.stdout) == (0, f"{machine.path}\n")
    assert version in result.stderr
    assert machine.builds() == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("echo v3.258.9", "v3.258.9"),
        ("echo v2.300.0", "v2.300.0"),
        ("echo v4.0.0", "v4.0.0"),
        ("echo", "of no known version"),
        ("echo broken installation", "of no known version"),
        ("echo v3.259.0; exit 1", "of no known version"),
    ],
)
def test_a_pulumi_on_path_of_another_version_is_not_used(machine: Machine, answer: str, said: str) -> None:
    machine.has_go()
    machine.has_pulumi(answer)
    result = machine.run()
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert f"{machine.path / 'pulumi'} is {said}" in result.stderr


def test_a_pulumi_without_its_python_language_host_is_not_used(machine: Machine) -> None:
    machine.has_go()
    machine.has_pulumi(f"echo {PINNED}", host=False)
    result = machine.run()
    assert result.stdout == f"{machine.built}\n"
    assert "pulumi-language-python" in result.stderr


def test_the_language_host_may_lie_elsewhere_on_path(machine: Machine) -> None:
    elsewhere = machine.folder / "opt"
    machine.has_pulumi(f"echo {PINNED}", elsewhere, host=False)
    program(machine.path / "pulumi-language-python", "#!/bin/sh\n")
    result = machine.run(PATH=f"{machine.path}:{elsewhere}")
    assert (result.returncode, result.stdout) == (0, f"{elsewhere}\n")


def test_a_build_is_used_again_without_go_and_without_a_word(machine: Machine) -> None:
    machine.has_go()
    assert machine.run().returncode == 0
    (machine.path / "go").unlink()
    again = machine.run()
    assert (again.returncode, again.stdout, again.stderr) == (0, f"{machine.built}\n", "")
    assert machine.builds() == ["pulumi", "pulumi-language-python", "pulumi-language-python-served"]


def test_a_build_of_the_cache_on_path_is_judged_as_such(machine: Machine) -> None:
    machine.has_go()
    machine.run()
    (machine.built / "sources").write_text("of another checkout")
    result = machine.run(PATH=f"{machine.built}:{machine.path}")
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")
    assert "it was built out of other sources" in result.stderr


@pytest.mark.parametrize("go", [None, "go1.25.11", "devel"])
def test_a_missing_or_old_go_is_one_line_that_says_how_to_get_it(machine: Machine, go: str | None) -> None:
    if go is not None:
        machine.has_go()
        machine.go_version = go
    result = machine.run()
    assert (result.returncode, result.stdout) == (2, "")
    last = result.stderr.splitlines()[-1]
    assert last.startswith("missing: Go 1.26 or later")
    assert "https://go.dev/dl/" in last
    assert "Traceback" not in result.stderr


def test_check_builds_nothing_and_says_what_is_missing(machine: Machine) -> None:
    machine.has_go()
    result = machine.run("--check")
    assert (result.returncode, result.stdout) == (1, "")
    assert "pulumi is not on PATH" in result.stderr
    assert str(machine.built) in result.stderr
    assert not machine.cache.exists()


def test_check_names_the_build_that_is_there(machine: Machine) -> None:
    machine.has_go()
    machine.run()
    result = machine.run("--check")
    assert (result.returncode, result.stdout) == (0, f"{machine.built}\n")


def test_the_python_package_is_of_the_version_that_is_built(machine: Machine) -> None:
    machine.has_go()
    built = Path(machine.run().stdout.strip()).name.removeprefix("pulumi-")
    requirement = re.search(r"^pulumi==(\S+)$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert requirement is not None
    assert requirement[1] == f"{built.rpartition('.')[0]}.*"
