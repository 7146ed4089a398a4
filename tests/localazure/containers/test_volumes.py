"""Volumes as folders: whole or not there at all, whatever happens while they are made."""

from pathlib import Path

import pytest

from localazure.containers.volumes import MountFailedError, Volume, Volumes, folder_of


class KilledError(BaseException):
    """Stands for a kill of the server."""


def test_a_volume_that_a_kill_cut_off_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    volumes = Volumes(run="1", volumes=(Volume(name="keys", files={"a": b"first", "b": b"second"}),))
    write = Path.write_bytes

    def cut_off(self: Path, content: bytes) -> int:
        if self.name == "b":
            raise KilledError
        return write(self, content)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", cut_off)
        with pytest.raises(KilledError):
            volumes.prepare(tmp_path)
    volumes.prepare(tmp_path)
    assert {file.name: file.read_bytes() for file in folder_of(tmp_path, "keys").iterdir()} == {"a": b"first", "b": b"second"}


def test_a_file_that_the_machine_cannot_hold_fails_the_mount(tmp_path: Path) -> None:
    volumes = Volumes(run="1", volumes=(Volume(name="keys", files={"x" * 300: b""}),))
    with pytest.raises(MountFailedError, match="the volume keys can't be made: File name too long"):
        volumes.prepare(tmp_path)
    assert not folder_of(tmp_path, "keys").exists()


def test_a_new_run_empties_the_volumes_and_the_same_one_keeps_them(tmp_path: Path) -> None:
    volumes = (Volume(name="scratch"), Volume(name="share", shared=tmp_path / "shares" / "one"))
    group = tmp_path / "group"
    group.mkdir()
    Volumes(run="1", volumes=volumes).prepare(group)
    for name in ("scratch", "share"):
        (folder_of(group, name) / "file").write_text(name)
    Volumes(run="1", volumes=volumes).prepare(group)
    assert (folder_of(group, "scratch") / "file").exists()
    Volumes(run="2", volumes=volumes).prepare(group)
    assert list(folder_of(group, "scratch").iterdir()) == []
    assert (folder_of(group, "share") / "file").read_text() == "share"
