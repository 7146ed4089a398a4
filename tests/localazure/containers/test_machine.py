"""Which Python of this machine an image gets."""

import sys
from pathlib import Path

import pytest

from localazure.containers import machine

OURS = f"{sys.version_info.major}.{sys.version_info.minor}"
# As pyenv's shims answer for a version that is installed and isn't the chosen one.
SHIM = '#!/bin/sh\necho "pyenv: $(basename $0): command not found" >&2\nexit 127\n'
OTHER = f'#!/bin/sh\nexec {sys.executable} "$@"\n'  # says that it is another version than its name
WORKING = "#!/bin/sh\necho /opt/python/bin/python3.9 3.9\n"


@pytest.mark.slow
@pytest.mark.parametrize(("program", "expected"), [(SHIM, None), (OTHER, None), (WORKING, "/opt/python/bin/python3.9")])
def test_a_program_of_the_name_counts_where_it_is_that_python(tmp_path: Path, program: str, expected: str | None) -> None:
    file = tmp_path / "python3.9"
    file.write_text(program)
    file.chmod(0o755)
    assert machine.interpreter("3.9", str(tmp_path)) == expected


def test_a_version_without_a_program_is_missing(tmp_path: Path) -> None:
    assert machine.interpreter("3.9", str(tmp_path)) is None


def test_our_own_version_needs_no_program(tmp_path: Path) -> None:
    assert machine.interpreter(OURS, str(tmp_path)) == sys.executable
