"""Tasks that reach for what isn't theirs, or leave traps behind: links, pipes, daemons, packages that are bombs."""

import asyncio
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from localazure.batch.model import TaskKey
from localazure.batch.nodes import containers, node_files, packages
from localazure.batch.nodes.node import Node
from tests.localazure.batch.software import APPLICATION_ID, package
from tests.localazure.batch.world import World, in_world, run
from tests.support.patience import SECONDS

IDENTITY = (
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg/providers/Microsoft.ManagedIdentity"
    "/userAssignedIdentities/nodes"
)


def node_of(world: World, key: TaskKey) -> Node:
    task_node = world.work.tasks.get(key).node
    assert task_node is not None
    (found,) = (one for pool in world.pools._pools.values() for one in pool.nodes if one.id == task_node.node_id)
    return found


def code_of(info: dict[str, object]) -> object:
    failure = info.get("failureInfo")
    return failure.get("code") if isinstance(failure, dict) else None


# Files


@pytest.mark.slow
@in_world
async def test_a_folder_that_a_task_replaced_by_a_link_is_gone_for_clients(world: World, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "stdout.txt").write_text("secret")
    job = world.job(await world.pool())
    own = world.task(job, "own", f"/bin/sh -c 'cd $AZ_BATCH_TASK_DIR/.. && mv own gone && ln -s {tmp_path}/outside own'")
    await world.done(own)
    assert world.pools.task_folder(own, world.work.tasks.get(own).node) is None
    above = world.task(job, "above", f"/bin/sh -c 'cd $AZ_BATCH_NODE_ROOT_DIR && mv workitems w && ln -s {tmp_path}/o workitems'")
    shutil.copytree(tmp_path / "outside", tmp_path / "o" / "job" / "job-1" / "above")
    await world.done(above)
    assert world.pools.task_folder(above, world.work.tasks.get(above).node) is None


@pytest.mark.slow
@in_world
async def test_a_nodes_root_that_a_task_replaced_by_a_link_is_gone_for_clients(world: World) -> None:
    pool = await world.pool()
    key = world.task(world.job(pool), "task", "/bin/sh -c 'cd $AZ_BATCH_NODE_ROOT_DIR/.. && mv root r && ln -s / root'")
    await world.done(key)
    assert world.pools.node_folder(pool, node_of(world, key).id) is None


@pytest.mark.slow
@in_world
async def test_a_resource_file_goes_through_no_link_out_of_the_working_directory(world: World, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (world.container("data") / "x").write_text("new")
    job = world.job(await world.pool())
    first = world.task(job, "task", f"/bin/sh -c 'ln -s {tmp_path}/outside out; exit 1'")
    await world.done(first)
    working = world.folder(first) / "wd"
    with pytest.raises(Exception, match="points outside"):
        await node_files.fetch([{"httpUrl": "folder:data/x", "filePath": "out/x"}], working, node_of(world, first))
    assert not (tmp_path / "outside" / "x").exists()


@pytest.mark.slow
@in_world
async def test_blobs_are_reached_with_the_pools_own_identities_alone(world: World) -> None:
    (world.container("data") / "x").write_text("1")
    reference = {"identityReference": {"resourceId": IDENTITY}}
    resource = [{"httpUrl": "folder:data/x", "filePath": "x", **reference}]
    output = [
        {
            "filePattern": "../stdout.txt",
            "destination": {"container": {"containerUrl": "folder:data", "path": "out", **reference}},
            "uploadOptions": {"uploadCondition": "taskcompletion"},
        }
    ]
    without = world.job(await world.pool("without"), "without")
    reads, writes = (
        world.task(without, "reads", "/bin/true", resourceFiles=resource),
        world.task(without, "writes", "/bin/true", outputFiles=output),
    )
    assert code_of(await world.done(reads)) == "BlobAccessDenied"
    assert code_of(await world.done(writes)) == "FileUploadAccessDenied"
    assert not (world.container("data") / "out").exists()
    body = {**(world.pools._pools[without.pool_key].record["body"])}
    await world.put_pool("with", {**body, "identity": {"type": "UserAssigned", "userAssignedIdentities": {IDENTITY.upper(): {}}}})
    key = without.pool_key._replace(pool="with")
    both = world.task(world.job(key, "with"), "both", "echo 1", resourceFiles=resource, outputFiles=output)
    assert (await world.done(both))["result"] == "success"
    assert (world.container("data") / "out").read_text() == "1\n"


# What a task knows and starts


# Ends


@pytest.mark.slow
@in_world
async def test_a_task_that_is_ended_while_its_files_come_never_runs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, never = asyncio.Event(), asyncio.Event()

    async def prepared(*_: object) -> None:
        begun.set()
        await never.wait()

    monkeypatch.setattr(containers, "prepared", prepared)
    job = world.job(await world.pool())
    task = world.task(job, "task", "", containerSettings={"imageName": "any"})
    await asyncio.wait_for(begun.wait(), SECONDS)
    await asyncio.wait_for(world.pools.end_task(task), SECONDS)
    assert code_of(await world.done(task)) == "TaskEnded"


@pytest.mark.slow
def test_nothing_of_a_pool_is_left_on_disk_whatever_was_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpack, to_its_end = packages._unpack, packages.to_its_end
    may_unpack = threading.Event()
    unpacking: list[asyncio.Task[Any]] = []

    def late(file: Path, folder: Path) -> None:
        may_unpack.wait(SECONDS)
        unpack(file, folder)

    async def noted(*work: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        unpacking.append(task)
        await to_its_end(*work)

    async def test(world: World) -> None:
        package(world, "1.0", {f"file{index}": "x" * 1000 for index in range(300)})
        pool = await world.pool(ready=False, applicationPackages=[{"id": APPLICATION_ID}])
        await world.until(lambda: bool(unpacking), lambda: "the package is unpacked")
        removal = asyncio.ensure_future(world.pools.remove(pool))
        await world.until(lambda: unpacking[0].cancelling() > 0, lambda: "who unpacks it is canceled")
        may_unpack.set()
        await removal
        assert list((world.state / "batch").iterdir()) == []

    monkeypatch.setattr(packages, "_unpack", late)
    monkeypatch.setattr(packages, "to_its_end", noted)
    run(tmp_path, test)


@pytest.mark.slow
@in_world
async def test_a_pool_that_cannot_be_looked_at_keeps_no_other_from_its_samples(world: World) -> None:
    first, second = await world.pool("first"), await world.pool("second")
    world.pools._pools[first].tick = lambda _: 1 / 0
    before = len(world.pools._pools[second].measured.series("$CurrentDedicatedNodes"))
    world.pools.tick()
    assert len(world.pools._pools[second].measured.series("$CurrentDedicatedNodes")) == before + 1
