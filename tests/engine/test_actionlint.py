"""Which actionlint is taken: the pinned one on PATH, the one in the cache, or one that has yet to be built. Go is pretended."""

import pytest

from engine.actionlint_tool import VERSION
from tests.engine.pretended_machine import Machine


def test_the_pinned_one_on_path_is_used(machine: Machine) -> None:
    machine.has("actionlint", VERSION.removeprefix("v"))
    result = machine.run("actionlint")
    assert (result.returncode, result.stdout, machine.builds()) == (0, f"{machine.path}\n", [])


@pytest.mark.parametrize("answer", ["1.7.11", "1.8.0", "nothing"])
def test_another_one_finds_other_things_and_is_not_used(machine: Machine, answer: str) -> None:
    machine.has_go()
    machine.has("actionlint", answer)
    built = machine.cache / f"actionlint-{VERSION.removeprefix('v')}"
    assert machine.run("actionlint", "--check").returncode == 1
    for _ in range(2):
        result = machine.run("actionlint")
        assert (result.returncode, result.stdout) == (0, f"{built}\n")
    assert machine.builds() == ["actionlint"]


def test_without_go_it_is_said_how_to_get_it(machine: Machine) -> None:
    result = machine.run("actionlint")
    assert (result.returncode, result.stdout) == (2, "")
    assert "missing: Go 1.26 or later, to build actionlint" in result.stderr
