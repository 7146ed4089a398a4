"""The pretended machine of each test."""

from pathlib import Path

import pytest

from tests.engine.pretended_machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
