"""Application packages that are bombs, lead elsewhere or can't be opened, and tasks that want the same one at once."""

import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from localazure.batch.nodes import packages
from tests.localazure.batch.software import package, put
from tests.localazure.batch.world import World, in_world


@pytest.mark.slow
@in_world
async def test_tasks_that_start_together_share_one_package(world: World) -> None:
    package(world, "1.0", {f"file{index}": "x" * 1000 for index in range(200)})
    job = world.job(await world.pool(taskSlotsPerNode=4))
    references = [{"applicationId": "Tool-Kit", "version": "1.0"}]
    command = "/bin/sh -c 'ls $AZ_BATCH_APP_PACKAGE_Tool_Kit_1_0 | wc -l'"
    tasks = [world.task(job, f"t{n}", command, applicationPackageReferences=references) for n in range(4)]
    for task in tasks:
        assert (await world.done(task))["result"] == "success"
        assert world.output(task).strip() == "200"
    assert packages._installing == {}


@pytest.mark.slow
@in_world
async def test_packages_whose_names_run_together_lie_apart(world: World) -> None:
    package(world, "1.0", {"data": "a tool-kit"})
    account = (
        "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg/providers/Microsoft.Batch/batchAccounts/tests"
    )
    other = f"{account}/applications/Tool-Kit1"
    put(world, other, {"properties": {"defaultVersion": ".0"}})
    lies = {"container": "app-tool", "name": "other"}
    put(world, f"{other}/versions/.0", {}, service={"properties": {"state": "Active"}}, private={"blob": lies})
    with zipfile.ZipFile(world.container("app-tool") / "other", "w") as file:
        file.writestr("data", "another")
    references = [{"applicationId": "Tool-Kit", "version": "1.0"}, {"applicationId": "Tool-Kit1", "version": ".0"}]
    command = "/bin/sh -c 'cat $AZ_BATCH_APP_PACKAGE_Tool_Kit_1_0/data'"
    task = world.task(world.job(await world.pool()), "task", command, applicationPackageReferences=references)
    await world.done(task)
    assert world.output(task) == "a tool-kit"


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
        *(f"deep/package/{name}" for name in ("escaped", "absolute/escaped", "link", "setuid", ".unpacked")),
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
