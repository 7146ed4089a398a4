"""The commands of examples/t4-tonight/README.md, read out of it and run as they stand, in a copy of the checkout."""

from pathlib import Path

import pytest

from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.readme_commands import commands_in, copied, groups_left, login, walked

README = CHECKOUT / "examples" / "t4-tonight" / "README.md"


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_commands_run_as_they_stand_and_leave_nothing(azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    commands = commands_in(README)
    outputs = walked(commands, copied(tmp_path / "clone", installed=True), login(azure, engine_bin))
    ran = next(output for command, output in zip(commands, outputs, strict=True) if " operations run " in command)
    first, *_, last = ran.splitlines()
    assert first.startswith("hello from ")
    assert '"passed": true' in last
    assert "nothing is running" in outputs[-2]
    assert groups_left(azure, "tonight") == []
