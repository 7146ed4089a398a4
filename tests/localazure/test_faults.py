"""Faults on purpose, through the control path and the command."""

import pytest

from tests.localazure.conftest import GROUPS
from tests.support.embedded import EmbeddedAzure

PATH = "/local/faults"


pytestmark = pytest.mark.usefixtures("no_fault_is_left")


@pytest.mark.slow
def test_the_command_adds_lists_and_clears(azure: EmbeddedAzure, group: str) -> None:
    added = azure.command("fault", "fail", "--method", "GET", "--path", f"{group}*", "--status", "503", "--code", "Down")
    assert added.returncode == 0, added.stderr
    assert "503" in azure.command("fault", "list").stdout
    assert azure.get(group, GROUPS).json()["error"]["code"] == "Down"
    assert azure.command("fault", "list").stdout == "no faults\n"
    azure.command("fault", "clock", "2019-06-01")
    assert "2019-06-01" in azure.command("fault", "list").stdout
    assert azure.command("fault", "clear").stdout == "no faults\n"


def test_a_wrong_fault_command_is_one_line(azure: EmbeddedAzure) -> None:
    done = azure.command("fault", "fail", "--status", "200")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert azure.command("fault", "clock", "soon").returncode == 2
