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
        await self.world.pools.forget_task(self.tasks[name], self.world.work.tasks.get(self.tasks[name]).node)

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
        return {word: ASKED[word](self, each, step) for word, each in asked.items()}

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

    def key(self, step: Step) -> TaskKey:
        return self.tasks[step.get("task") or step["done"]]

    def nodes_of(self, step: Step) -> list[dict[str, Any]]:
        return self.world.pools.nodes(self.pools[step.get("pool", "pool")])

    def root(self, step: Step) -> Path:
        """The folder of the pool's first node."""
        found = self.world.pools.node_folder(self.pools[step.get("pool", "pool")], self.nodes_of(step)[0]["id"])
        assert found is not None
        return found

    def files(self, asked: Any, step: Step) -> dict[str, str | None]:
        folder = self.world.pools.task_folder(self.key(step), self.world.work.tasks.get(self.key(step)).node)
        return {name: _text(folder / name) if folder else None for name in asked}

    def shared(self) -> Path:
        return storage_accounts.share_folder(self.world.services.settings, "store", "share")

    def are(self, dead: bool, names: list[str]) -> list[str]:
        return [name for name in names if is_dead(int(_text(self.folder / name) or 0)) is dead]


# What is found where a step says what is expected, by its words
ASKED: dict[str, Callable[[Life, Any, Step], Any]] = {
    "info": lambda life, _, step: life.world.work.tasks.get(life.key(step)).record["execution"],
    "output": lambda life, _, step: life.world.output(life.key(step)),
    "files": lambda life, asked, step: life.files(asked, step),
    "modes": lambda life, asked, step: {
        name: f"{(life.world.folder(life.key(step)) / name).stat().st_mode & 0o777:o}" for name in asked
    },
    "told": lambda life, asked, _: {name: _text(life.folder / name) for name in asked},
    "sent": lambda life, asked, _: {name: _names(life.world.blobs.root / name) for name in asked},
    "blob": lambda life, asked, _: {name: _text(life.world.blobs.root / name) for name in asked},
    "state": lambda life, asked, _: {name: life.world.state_of(life.tasks[name]) for name in asked},
    "states": lambda life, asked, _: {name: life.world.states(life.pools[name]) for name in asked},
    "nodes": lambda life, _, step: life.nodes_of(step),
    "on node": lambda life, asked, step: {name: _text(life.root(step) / name) for name in asked},
    "status": lambda life, _, step: life.world.pools.status(life.pools[step.get("pool", "pool")]),
    "folders": lambda life, *_: len(list((life.world.state / "batch").iterdir())),
    "containers": lambda life, *_: _names(life.world.state / "batch", "*/root/volatile/containers/*"),
    "shared": lambda life, asked, _: {name: _text(life.shared() / name) for name in asked},
    "subtasks": lambda life, _, step: life.world.pools.subtasks(life.key(step)),
    "living": lambda life, asked, _: life.are(False, asked),
    "dead": lambda life, asked, _: life.are(True, asked),
    "preparations": lambda life, _, step: life.world.pools.preparations(ACCOUNT, step["of"]),
}


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
