"""The commands of examples/from-shipyard/README.md, read out of it and run as they stand, in a copy of the checkout."""

from pathlib import Path

import pytest

from tests.support.embedded import CHECKOUT, ServedAzure
from tests.support.readme_commands import commands_in, copied, groups_left, login, walked

README = CHECKOUT / "examples" / "from-shipyard" / "README.md"


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_commands_run_as_they_stand_and_leave_nothing(azure: ServedAzure, engine_bin: Path, tmp_path: Path) -> None:
    folder = copied(tmp_path / "clone", installed=True)
    outputs = dict(zip(commands_in(README), walked(commands_in(README), folder, login(azure, engine_bin)), strict=True))
    imported = next(output for command, output in outputs.items() if " import " in command)
    assert "Standard_NC6 retired on 2023-09-06" in " ".join(imported.replace("#", " ").split())
    # The command that `import` prints is the README's own, but for the Python that runs it.
    printed = next(line for line in imported.splitlines() if "operations run" in line)
    words = printed.split("operations ")[1].replace("--pool pi ", "").split()
    assert set(words) <= set(next(command for command in outputs if " operations run " in command).split())
    wrote = "".join(log.read_text(encoding="utf-8") for log in (folder / "shipyard-runs").rglob("stdout.txt"))
    for seed in range(1, 5):
        assert f"seed {seed} pi is about 3.1" in wrote
    assert "4 tasks together: pi is about 3.1" in wrote
    assert groups_left(azure, "shipyard") == []
