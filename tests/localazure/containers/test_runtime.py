"""Containers as processes: their states, their logs, how they end, and who takes them up again."""

import asyncio
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from localazure.containers import shim, shim_log, supervision
from localazure.containers.container_spec import ContainerSpec, Probe
from localazure.containers.images import Image, Images
from localazure.containers.runtime import Runtime, stand_over
from localazure.containers.volumes import Mount, Volume, Volumes
from localazure.process import ProcessId, start_time
from tests.localazure.containers.conftest import until, write_workload
from tests.localazure.coroutines import in_a_loop
from tests.support.patience import SECONDS

GROUP = "/subscriptions/s/resourcegroups/g/providers/microsoft.containerinstance/containergroups/one"


def spec(image: Image, *command: str, name: str = "main", policy: str = "Never", run_id: str = "1", **more: Any) -> ContainerSpec:
    """A container that does `command`, restarts quickly and is killed quickly."""
    settings: dict[str, Any] = {"env": {}, "stop_seconds": 0.5, "backoff_seconds": 0.05, "backoff_most_seconds": 0.2, **more}
    argv = ("python", "main.py", *command) if command else ()
    return ContainerSpec(name=name, image=image, command=argv, restart_policy=policy, run=run_id, **settings)


async def ended(runtime: Runtime, name: str = "main") -> dict[str, Any]:
    return await until(lambda: (state := runtime.states(GROUP)[name])["ended"] and state, f"{name} ends")


async def logged(runtime: Runtime, text: str, name: str = "main") -> str:
    return await until(lambda: text in (log := runtime.logs(GROUP, name)) and log, f"{text!r} is in the log of {name}")


async def process_in_log(runtime: Runtime, word: str) -> ProcessId:
    """Once its line is whole: a program whose shim is killed meanwhile ends when it writes the rest."""
    line = re.compile(rf"^{word} (\d+)\n", re.MULTILINE)
    pid = int((await until(lambda: line.search(runtime.logs(GROUP, "main")), f"{word!r} is in the log"))[1])
    return ProcessId(pid, start_time(pid))


def shim_of(runtime: Runtime) -> ProcessId:
    pid = int(next(Path(runtime.folder).glob("*/main/lock")).read_text())
    return ProcessId(pid, start_time(pid))


def folder_of(runtime: Runtime) -> Path:
    return next(Path(runtime.folder).glob("*/main"))


ROWS = yaml.safe_load(Path(__file__).with_name("runs.yaml").read_text(encoding="utf-8"))
IN_PROC = Path("/proc/self/status").exists()  # by which memory is measured


def of_row(image: Image, row: dict[str, Any]) -> tuple[ContainerSpec, Volumes]:
    bare = replace(image, entrypoint=(), cmd=()) if "argv" in row else image
    argv = ["/bin/sh", "-c", row["line"]] if "line" in row else row.get("argv")
    mounts = (Mount("data", row["volume"]),) if "volume" in row else ()
    more: dict[str, Any] = {"mounts": mounts, "memory_bytes": int(row.get("memory", 0)), "env": row.get("env", {})}
    if "probe" in row:
        more["probes"] = {"liveness": Probe(**row["probe"])}
    made = spec(bare, *row.get("do", ()), policy=row.get("policy", "Never"), **more)
    volumes = Volumes(run="1", volumes=tuple(Volume(name=one.volume, files={"key": b"secret"}) for one in mounts))
    return (made if argv is None else replace(made, command=tuple(argv))), volumes


async def wrong(runtime: Runtime, image: Image, row: dict[str, Any]) -> dict[str, Any]:
    """What is otherwise than the row says."""
    group = f"/{row['name'].replace(' ', '-')}"
    container, volumes = of_row(image, row)
    await runtime.start(group, [container], volumes)
    assert runtime.states(group)["main"]["current"]["state"] in ("Running", "Terminated")
    state = await until(lambda: (found := runtime.states(group)["main"])["ended"] and found, f"{row['name']} ends")
    log, messages = runtime.logs(group, "main"), [event["message"] for event in state["events"]]
    found = {
        "code": state["current"]["exitCode"] == row.get("code", 0),
        "detail": state["current"]["detailStatus"] == row.get("detail", state["current"]["detailStatus"]),
        "log": log == row.get("log", log),
        "says": row.get("says", "") in log and "Traceback" not in log,
        "told": row.get("told", messages[0]) in messages,
        "events": [event["name"] for event in state["events"]] == row.get("events", [one["name"] for one in state["events"]]),
    }
    return {row["name"]: (state, log)} if not all(found.values()) else {}


@in_a_loop
async def test_how_a_container_ends(runtime: Runtime, hello: Image) -> None:
    rows = [row for row in ROWS if IN_PROC or row.get("detail") != "OOMKilled"]
    found = await asyncio.gather(*(wrong(runtime, hello, row) for row in rows))
    assert [each for each in found if each] == []
    assert not (hello.root / "app" / "result").exists()


@in_a_loop
async def test_the_log_has_standard_output_and_error_and_its_last_lines(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "lines", "5", "exit", "3")])
    assert (await ended(runtime))["current"]["exitCode"] == 3
    assert runtime.logs(GROUP, "main", 2) == "line 3\nline 4\n"
    assert runtime.logs(GROUP, "main", 0) == ""
    stamped = runtime.logs(GROUP, "main", 1, timestamps=True)
    assert stamped.endswith("Z line 4\n")
    assert len(stamped) == shim_log.STAMP + len("line 4\n")


@in_a_loop
async def test_a_log_keeps_its_newest_half_beyond_the_limit(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "lines", "250000")])
    await ended(runtime)
    log = runtime.logs(GROUP, "main")
    assert log.endswith("line 249999\n")
    assert "line 0\n" not in log
    assert all(line.startswith("line ") for line in log.splitlines())
    assert (folder_of(runtime) / "log").stat().st_size <= shim_log.LOG_BYTES


@pytest.mark.parametrize(("policy", "code"), [("OnFailure", 1), ("Always", 0), ("Always", 2)])
@in_a_loop
async def test_a_policy_that_wants_more_restarts_the_container_with_fresh_files(
    runtime: Runtime, hello: Image, policy: str, code: int
) -> None:
    await runtime.start(GROUP, [spec(hello, "write", "/app/result", "exit", str(code), policy=policy)])
    await until(lambda: runtime.states(GROUP)["main"]["restart_count"] >= 3, "three restarts")
    state = runtime.states(GROUP)["main"]
    assert state["previous"]["exitCode"] == code
    assert not state["ended"]


@in_a_loop
async def test_stop_ends_the_container_and_what_it_started(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "child", "wait", policy="Always")])
    child = await process_in_log(runtime, "child")
    over = shim_of(runtime)
    await runtime.stop(GROUP)
    state = runtime.states(GROUP)["main"]
    assert state["ended"]
    assert state["current"]["state"] == "Terminated"
    assert "Killing" in [event["name"] for event in state["events"]]
    await until(lambda: not child.alive and not over.alive, "no process is left")


@in_a_loop
async def test_a_container_that_is_deaf_to_the_signal_is_killed_after_its_grace(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "deaf", "say", "ready", "wait")])
    await logged(runtime, "ready")
    await runtime.stop(GROUP)
    assert runtime.states(GROUP)["main"]["current"]["exitCode"] == 128 + signal.SIGKILL


@in_a_loop
async def test_starting_the_same_run_again_changes_nothing(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "pid", "wait")])
    before = await process_in_log(runtime, "pid")
    await asyncio.gather(*(runtime.start(GROUP, [spec(hello, "pid", "wait")]) for _ in range(5)))
    assert before.alive
    assert runtime.logs(GROUP, "main").count("pid ") == 1


@in_a_loop
async def test_an_ended_run_is_not_run_again_but_a_new_run_is(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "say", "done")])
    first = await ended(runtime)
    await runtime.start(GROUP, [spec(hello, "say", "done")])
    assert runtime.states(GROUP)["main"] == first
    await runtime.start(GROUP, [spec(hello, "say", "done", run_id="2")])
    assert (await ended(runtime))["current"]["startTime"] > first["current"]["startTime"]


@in_a_loop
async def test_a_changed_container_is_started_anew_and_the_other_goes_on(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "pid", "wait"), spec(hello, "wait", name="other")])
    kept = await process_in_log(runtime, "pid")
    await runtime.start(GROUP, [spec(hello, "pid", "wait"), spec(hello, "say", "changed", name="other")])
    await logged(runtime, "changed", "other")
    assert kept.alive
    await runtime.start(GROUP, [spec(hello, "pid", "wait")])
    assert list(runtime.states(GROUP)) == ["main"]


@in_a_loop
async def test_a_second_shim_over_the_same_container_gives_way(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "pid", "wait")])
    before = await process_in_log(runtime, "pid")
    second = subprocess.run(
        [sys.executable, "-I", "-S", shim.__file__, str(folder_of(runtime))], timeout=SECONDS, capture_output=True, check=False
    )
    assert second.returncode == shim.LOCKED
    assert before.alive


@in_a_loop
async def test_a_container_begins_although_its_lock_was_looked_at_for_long(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello)])
    await ended(runtime)
    folder = folder_of(runtime)
    (folder / "state.json").unlink()
    lock = await until(lambda: supervision.holder(folder) is None and (folder / "lock").open("r+"), "its shim is gone")
    fcntl.flock(lock, fcntl.LOCK_EX)
    asyncio.get_running_loop().call_later(1.0, lock.close)  # of a shim that is gone, whose id it has
    await stand_over(folder)
    assert (await ended(runtime))["current"]["exitCode"] == 0


@pytest.mark.parametrize(("policy", "again"), [("OnFailure", True), ("Never", False)])
@in_a_loop
async def test_a_container_whose_shim_was_killed_is_ended_and_follows_its_policy(
    runtime: Runtime, hello: Image, policy: str, again: bool
) -> None:
    await runtime.start(GROUP, [spec(hello, "pid", "wait", policy=policy)])
    lost, over = await process_in_log(runtime, "pid"), shim_of(runtime)
    os.kill(over.pid, signal.SIGKILL)
    await until(lambda: not over.alive, "the shim is gone")
    assert lost.alive
    await runtime.adopt([GROUP])
    await until(lambda: not lost.alive, "the lost container is ended")
    state = runtime.states(GROUP)["main"]
    assert state["restart_count"] == (1 if again else 0)
    assert state["current"]["state"] == ("Running" if again else "Terminated")
    assert state["ended"] is not again


@in_a_loop
async def test_a_shim_that_can_write_nothing_goes_on_and_tells_later(runtime: Runtime, hello: Image) -> None:
    """As on a full disk: the folder in the way is an error of writing."""
    await runtime.start(GROUP, [spec(hello, "pid", "wait", policy="Always")])
    before = await process_in_log(runtime, "pid")
    (folder_of(runtime) / "state.new").mkdir()
    os.kill(before.pid, signal.SIGKILL)
    await until(lambda: f"pid {before.pid}\n" not in runtime.logs(GROUP, "main"), "it is started again")
    after = await process_in_log(runtime, "pid")
    (folder_of(runtime) / "state.new").rmdir()
    await until(lambda: (state := runtime.states(GROUP)["main"])["current"] and state["pid"] == after.pid, "it is told")


@in_a_loop
async def test_groups_that_nobody_knows_any_more_are_ended_when_adopting(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "pid", "wait")])
    unknown = await process_in_log(runtime, "pid")
    await runtime.adopt([])
    assert not unknown.alive
    assert runtime.states(GROUP) == {}


@pytest.mark.parametrize(("policy", "again"), [("Always", True), ("Never", False)])
@in_a_loop
async def test_what_was_ended_with_the_embedded_azure_runs_again_if_its_policy_says_so(
    runtime: Runtime, hello: Image, policy: str, again: bool
) -> None:
    await runtime.start(GROUP, [spec(hello, "pid", "wait", policy=policy)])
    before = await process_in_log(runtime, "pid")
    await runtime.reap()
    assert not before.alive
    await runtime.adopt([GROUP])
    assert runtime.states(GROUP)["main"]["current"]["state"] == ("Running" if again else "Terminated")


@in_a_loop
async def test_a_shim_ends_by_itself_when_its_folder_is_gone(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, "pid", "wait", policy="Always")])
    container, over = await process_in_log(runtime, "pid"), shim_of(runtime)
    folder = folder_of(runtime)
    folder.rename(folder.with_name("moved"))
    (folder.with_name("moved") / "spec.json").unlink()
    await until(lambda: not container.alive and not over.alive, "both are gone")


@in_a_loop
async def test_what_a_container_is_started_with_is_for_its_owner_alone(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [spec(hello, env={"TOKEN": "secret"})])
    file = folder_of(runtime) / "spec.json"
    assert json.loads(file.read_text())["env"]["TOKEN"] == "secret"
    assert file.stat().st_mode & 0o077 == 0


@in_a_loop
async def test_a_container_whose_image_was_removed_fails_and_says_so(runtime: Runtime, images: Images, tmp_path: Path) -> None:
    image = await images.build(write_workload(tmp_path / "w"), "Dockerfile", {}, [], tmp_path / "build.log")
    shutil.rmtree(image.root)
    await runtime.start(GROUP, [spec(image, policy="Always")])
    state = await ended(runtime)
    assert state["current"]["exitCode"] == 128
    assert "build the image again" in state["events"][-1]["message"]
