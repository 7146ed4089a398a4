"""The hosts for TypeScript and YAML: Pulumi's own where the machine has them, else built. Go and Pulumi are pretended."""

import os

import pytest

from tests.engine.pretended_machine import PINNED, Machine

HOSTS = ["pulumi-language-nodejs", "pulumi-language-yaml"]
BUILT = ["pulumi-language-nodejs", "pulumi-language-nodejs-served", "pulumi-language-yaml"]


@pytest.fixture(autouse=True)
def _machine_with_go(machine: Machine) -> None:
    machine.has_go()


def test_they_are_built_when_they_are_asked_for_and_used_again(machine: Machine) -> None:
    first = machine.run("languages")
    assert (first.returncode, first.stdout) == (0, f"{machine.built_languages}\n")
    assert {file.name for file in machine.built_languages.iterdir()} == {*BUILT, "sources"}
    assert machine.builds() == BUILT
    again = machine.run("languages")
    assert (again.returncode, again.stdout, again.stderr) == (0, f"{machine.built_languages}\n", "")


def test_the_command_line_alone_is_built_without_them(machine: Machine) -> None:
    assert machine.run().returncode == 0
    assert not machine.built_languages.exists()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_those_of_a_pulumi_on_path_are_used(machine: Machine, elsewhere: bool) -> None:
    machine.has_pulumi(f"echo {PINNED}")
    folder = machine.folder / "opt" if elsewhere else machine.path
    for name in HOSTS:
        machine.has(name, "a host", folder)
    result = machine.run("languages", PATH=f"{machine.path}:{folder}")
    assert (result.returncode, result.stdout) == (0, f"{machine.path}\n")
    assert machine.builds() == []


@pytest.mark.parametrize("missing", HOSTS)
def test_a_pulumi_on_path_without_one_of_them_has_both_built(machine: Machine, missing: str) -> None:
    machine.has_pulumi(f"echo {PINNED}")
    for name in HOSTS:
        if name != missing:
            machine.has(name, "a host")
    result = machine.run("languages")
    assert (result.returncode, result.stdout) == (0, f"{machine.built_languages}\n")
    assert f"has no {missing}" in result.stderr


@pytest.mark.parametrize("name", BUILT)
def test_a_build_with_a_missing_host_is_made_again(machine: Machine, name: str) -> None:
    machine.run("languages")
    (machine.built_languages / name).unlink()
    result = machine.run("languages")
    assert f"{name} is missing" in result.stderr
    assert os.access(machine.built_languages / name, os.X_OK)


def test_a_build_out_of_other_sources_is_made_again(machine: Machine) -> None:
    machine.run("languages")
    (machine.built_languages / "sources").write_text("of another checkout")
    assert "it was built out of other sources" in machine.run("languages").stderr
    assert machine.builds() == BUILT * 2
