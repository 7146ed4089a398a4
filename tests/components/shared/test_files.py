"""Reading a file that a stack file names."""

from pathlib import Path

import pytest

from azure_gpu.shared.files import read_text


def test_a_file_is_read_and_what_is_none_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "group.yaml"
    file.write_text("größer", encoding="utf-8")
    assert read_text(str(file)) == "größer"
    with pytest.raises(OSError, match="not a regular file"):
        read_text(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        read_text(str(tmp_path / "other.yaml"))
