"""Pools and tasks on real nodes, as the files of `lives` tell them: real processes, without HTTP."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from azure_gpu.catalog import roles
from localazure.batch.model import PoolKey, TaskKey
from localazure.fault import Fault
from localazure.kinds import storage_accounts
from tests.localazure.batch import software
from tests.localazure.batch.world import ACCOUNT, World, fixed, is_dead, pool_body, run, written

pytestmark = pytest.mark.slow
FILES = sorted(Path(__file__).with_name("lives").glob("*.yaml"))
LIVES: dict[str, list[dict[str, Any]]] = {
    name: steps for file in FILES for name, steps in yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader).items()
}
MACHINES = {name: LIVES.pop(name) for name in [*LIVES] if name.startswith("machine")}  # anchors for several rows
Step = dict[str, Any]


class Life:
    """One row: what it has made, by the names that it gave."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.pools: dict[str, PoolKey] = {}
        self.jobs: dict[str, Any] = {}
        self.tasks: dict[str, TaskKey] = {}

    # What a step does

    async def pool(self, name: str, step: Step) -> None:
        given = {"nodes": 1, "becomes": "idle", **(step.get("with") or {})}
        count, becomes, own = given.pop("nodes"), given.pop("becomes"), given.pop("identity", None)
        body = pool_body(**{"scaleSettings": fixed(*count) if isinstance(count, list) else fixed(count), **given})
        self.pools[name] = PoolKey(ACCOUNT, name.lower())
        await self.world.put_pool(name, {**body, "identity": software.IDENTITY} if own else body)
        if becomes:
            await self.world.all_in(self.pools[name], becomes)

    async def job(self, name: str, step: Step) -> None:
        if not self.pools:
            await self.pool("pool", {})
        told = [{"name": "T", "value": str(self.folder)}]
        self.jobs[name] = self.world.job(
            self.pools[step.get("in", "pool")], name, commonEnvironmentSettings=told, **(step.get("with") or {})
        )

    async def task(self, name: str, step: Step) -> None:
        job = step.get("in", "job")
        if job not in self.jobs:
            await self.job(job, {})
        given = dict(step.get("with") or {})
        if "affinityInfo" in given:
            given["affinityInfo"] = {"affinityId": self.world.pools.nodes(self.jobs[job].pool_key)[-1]["affinityId"]}
        self.tasks[name] = self.world.task(self.jobs[job], name, step.get("run", ""), **given)
        if "info" in step or "output" in step:
            await self.done(name, step)

    async def done(self, name: str, step: Step) -> None:
        await self.world.done(self.tasks[name])

    async def begins(self, name: str, step: Step) -> None:
        """A task has written a line into the file of this name."""
        await self.world.until(lambda: written(self.folder / name), lambda: f"{name} is written")

    async def until(self, asked: dict[str, Any], step: Step) -> None:
        await self.world.until(lambda: self.fits(asked, step), lambda: f"{asked}, and not {self.found(asked, step)}")

    async def touch(self, name: str, step: Step) -> None:
        (self.folder / name).touch()

    async def end(self, name: str, step: Step) -> None:
        await self.world.pools.end_task(self.tasks[name])

    async def finish(self, name: str, step: Step) -> None:
        await self.world.pools.end_job(ACCOUNT, name)

    async def drop(self, name: str, step: Step) -> None:
        self.world.work.jobs.delete(self.jobs[name])
        await self.world.pools.forget_job(ACCOUNT, name)

    async def forget(self, name: str, step: Step) -> None:
        await self.world.pools.forget_task(self.tasks[name], self.world.work.node_of(self.tasks[name]))

    async def resize(self, to: list[Any], step: Step) -> None:
        dedicated, spot, option, timeout = (*to, *[0, 0, "requeue", "PT15M"][len(to) :])
        self.world.pools.get(self.pools["pool"]).resize(dedicated, spot, option, timeout)

    async def apply(self, given: dict[str, Any], step: Step) -> None:
        scale = {"scaleSettings": fixed(given.pop("nodes"))} if "nodes" in given else {}
        await self.world.put_pool("pool", pool_body(**scale, **given))

    async def stop(self, name: str, step: Step) -> None:
        await self.world.pools.get(self.pools[name]).stop_resize()

    async def remove(self, name: str, step: Step) -> None:
        await self.world.pools.remove(self.pools[name])

    async def reboot(self, number: int, step: Step) -> None:
        await self.world.pools.reboot(self.pools["pool"], self.world.pools.nodes(self.pools["pool"])[number]["id"], "requeue")

    async def evict(self, name: str, step: Step) -> None:
        assert len(await self.world.pools.evict(name)) == step["count"]

    async def formula(self, text: str, step: Step) -> None:
        self.world.pools.get(self.pools["pool"]).set_autoscale(text, "PT15M" if text else "")

    async def minutes(self, count: int, step: Step) -> None:
        self.world.moved += timedelta(minutes=count)
        self.world.pools.tick()

    async def fault(self, given: dict[str, Any] | None, step: Step) -> None:
        self.world.deviations.faults = [Fault(**given)] if given else []

    # What there is before

    async def blobs(self, files: dict[str, str], step: Step) -> None:
        for name, text in files.items():
            self.world.container(name.partition("/")[0])
            file = self.world.blobs.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    async def container(self, name: str, step: Step) -> None:
        self.world.container(name)

    async def secret(self, name: str, step: Step) -> None:
        self.world.blobs.refused.add(name)

    async def package(self, version: str, step: Step) -> None:
        software.package(self.world, version, step["content"], active=step.get("active", True))
        file = self.world.container("app-tool") / version
        if step.get("broken") == "no zip":
            file.write_text("this is none")
        if step.get("broken") == "no blob":
            file.unlink()
        if step.get("broken") == "a password":
            content = bytearray(file.read_bytes())
            for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
                content[content.index(signature) + flags] |= 1
            file.write_bytes(bytes(content))

    async def registry(self, role: str, step: Step) -> None:
        await software.registry(self.world, self.folder, role=role and roles.ACR_PULL)

    async def share(self, name: str, step: Step) -> None:
        software.put(self.world, software.STORAGE_ID, {"properties": {}}, private={"keys": {"key1": {"value": "a2V5"}}})

    # What is asked

    def found(self, asked: dict[str, Any], step: Step) -> dict[str, Any]:
        return {word: self.shown(word, each, step) for word, each in asked.items()}

    def fits(self, asked: dict[str, Any], step: Step) -> bool:
        return fits(self.found(asked, step), self.expected(asked, step))

    def expected(self, value: Any, step: Step) -> Any:
        """`{wd}` is the working folder of the step's task."""
        if isinstance(value, dict):
            return {name: self.expected(each, step) for name, each in value.items()}
        if isinstance(value, list):
            return [self.expected(each, step) for each in value]
        if isinstance(value, str) and "{wd}" in value:
            return value.replace("{wd}", str(self.world.folder(self.tasks[step["task"]]) / "wd"))
        return value

    def shown(self, word: str, asked: Any, step: Step) -> Any:
        world = self.world
        task, pool = self.tasks.get(step.get("task") or step.get("done") or ""), self.pools.get(step.get("pool", "pool"))
        match word:
            case "info":
                return world.work.tasks.get(task).record["execution"] if task else None
            case "output":
                return world.output(task) if task else None
            case "files":
                folder = world.pools.task_folder(task, world.work.node_of(task)) if task else None
                return {name: _text(folder / name) if folder else None for name in asked}
            case "modes":
                return {name: f"{(world.folder(task) / name).stat().st_mode & 0o777:o}" for name in asked} if task else None
            case "told":
                return {name: _text(self.folder / name) for name in asked}
            case "sent":
                return {name: _names(world.blobs.root / name) for name in asked}
            case "blob":
                return {name: _text(world.blobs.root / name) for name in asked}
            case "state":
                return {name: world.state_of(self.tasks[name]) for name in asked}
            case "states":
                return {name: world.states(self.pools[name]) for name in asked}
            case "nodes":
                return world.pools.nodes(pool) if pool else None
            case "on node":
                root = world.pools.node_folder(pool, world.pools.nodes(pool)[0]["id"]) if pool else None
                return {name: _text(root / name) if root else None for name in asked}
            case "status":
                return world.pools.status(pool) if pool else None
            case "folders":
                return len(list((world.state / "batch").iterdir()))
            case "containers":
                return _names(world.state / "batch", "*/root/volatile/containers/*")
            case "shared":
                share = storage_accounts.share_folder(world.services.settings, "store", "share")
                return {name: _text(share / name) for name in asked}
            case "subtasks":
                return world.pools.subtasks(task) if task else None
            case "living" | "dead":
                return [name for name in asked if is_dead(int(_text(self.folder / name) or 0)) is (word == "dead")]
            case "preparations":
                return world.pools.preparations(ACCOUNT, step["of"])
            case _:
                raise AssertionError(f"no word {word}")


ASKED = (
    *("info", "output", "files", "modes", "told", "sent", "blob", "state", "states", "nodes", "on node", "status", "folders"),
    *("preparations", "containers", "shared", "living", "dead", "subtasks"),
)


def fits(found: Any, asked: Any) -> bool:
    """Whether something has the parts that are asked for; `~text` stands for what has this text in it, null for nothing."""
    if isinstance(asked, dict):
        return isinstance(found, dict) and all(fits(found.get(name), each) for name, each in asked.items())
    if isinstance(asked, list):
        alike = isinstance(found, list | tuple) and len(found) == len(asked)
        return alike and all(fits(*pair) for pair in zip(found, asked, strict=True))
    return asked[1:] in str(found) if isinstance(asked, str) and asked.startswith("~") else found == asked


def _text(file: Path) -> str | None:
    return file.read_text() if file.is_file() else None


def _names(folder: Path, pattern: str = "**/*") -> list[str]:
    return sorted(one.relative_to(folder).as_posix() for one in folder.glob(pattern) if one.is_file() or pattern != "**/*")


@pytest.mark.parametrize("steps", LIVES.values(), ids=[name.replace(" ", "-") for name in LIVES])
def test_nodes_and_tasks_live_as_the_service_keeps_them(
    steps: list[Step], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localazure.batch.pool.RESTORE_SECONDS", 0.05)
    folder = tmp_path / "told"
    folder.mkdir()

    async def lived(world: World) -> None:
        life = Life(world, folder)
        for number, step in enumerate(steps, 1):
            act = next(iter(step))
            if act not in ASKED:
                does: Callable[[Any, Step], Awaitable[None]] = getattr(life, act)
                await does(step[act], step)
            asked = {word: step[word] for word in ASKED if word in step}
            assert life.fits(asked, step), f"step {number}: {step}\nfound: {life.found(asked, step)}"

    run(tmp_path / "state", lived)
