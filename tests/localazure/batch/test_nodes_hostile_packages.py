"""Application packages that are bombs, or lead elsewhere."""

import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from localazure.batch.nodes import packages


def test_a_zip_leads_nowhere_and_makes_no_links(tmp_path: Path) -> None:
    zipped, folder = tmp_path / "p.zip", tmp_path / "deep" / "package"
    with zipfile.ZipFile(zipped, "w") as file:
        file.writestr("../../escaped", "1")
        file.writestr("/absolute/escaped", "2")
        link = zipfile.ZipInfo("link")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc")
        setuid = zipfile.ZipInfo("setuid")
        setuid.external_attr = (stat.S_IFREG | 0o4755) << 16
        file.writestr(setuid, "3")
    packages._unpack(zipped, folder)
    below = {str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*") if not one.is_dir()}
    assert below == {
        "p.zip",
        *(f"deep/package/{name}" for name in ("escaped", "absolute/escaped", "link", "setuid")),
    }
    assert not (folder / "link").is_symlink()
    assert stat.S_IMODE((folder / "setuid").stat().st_mode) == 0o755


def test_a_zip_that_would_fill_the_disk_is_refused_before_it_does(tmp_path: Path) -> None:
    zipped, folder = tmp_path / "p.zip", tmp_path / "package"
    with zipfile.ZipFile(zipped, "w") as file:
        file.writestr("bomb", "1")
    content = bytearray(zipped.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (0xFFFFFFF0).to_bytes(4, "little")  # its size, once unpacked
    zipped.write_bytes(bytes(content))
    usage = shutil.disk_usage(tmp_path)._replace(free=2 << 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage)
        with pytest.raises(OSError, match="bytes"):
            packages._unpack(zipped, folder)
    assert not folder.exists()
