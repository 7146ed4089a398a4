"""What containers of a group do with each other: init containers, volumes, probes and memory, with timings of tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from localazure.containers import shim_memory
from localazure.containers.container_spec import ContainerSpec, Http, Probe
from localazure.containers.images import Image
from localazure.containers.runtime import Runtime
from localazure.containers.volumes import GitRepository, Mount, MountFailedError, Volume, Volumes
from tests.localazure.containers.conftest import run, until
from tests.localazure.containers.test_runtime import GROUP, ended, folder_of, logged, spec
from tests.localazure.coroutines import in_a_loop

QUICK = {"period_seconds": 0.1, "timeout_seconds": 2, "failure_threshold": 2}
NEEDS_PROC = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc, which this system lacks"
)


def shell(image: Image, line: str, name: str = "main", policy: str = "Never", run_id: str = "1", **more: Any) -> ContainerSpec:
    settings: dict[str, Any] = {"env": {}, "stop_seconds": 0.5, "backoff_seconds": 0.05, "backoff_most_seconds": 0.2, **more}
    return ContainerSpec(name=name, image=image, command=("/bin/sh", "-c", line), restart_policy=policy, run=run_id, **settings)


def volumes(*listed: Volume, run_id: str = "1") -> Volumes:
    return Volumes(run=run_id, volumes=listed)


def event_names(runtime: Runtime, name: str = "main") -> list[str]:
    return [event["name"] for event in runtime.states(GROUP)[name]["events"]]


async def restarted(runtime: Runtime, times: int = 1) -> dict[str, Any]:
    found: Callable[[], Any] = lambda: (one := runtime.states(GROUP)["main"])["restart_count"] >= times and one  # noqa: E731
    return await until(found, "it was restarted")


# Init containers


@in_a_loop
async def test_an_init_container_that_fails_is_tried_again_by_its_policy(runtime: Runtime, hello: Image) -> None:
    line = "test -e /mnt/data/flag || { touch /mnt/data/flag; exit 1; }"
    first = shell(hello, line, "first", policy="OnFailure", mounts=(Mount("data", "/mnt/data"),))
    await runtime.start(GROUP, [first, spec(hello, "say", "ran", after=("first",))], volumes(Volume(name="data")))
    await logged(runtime, "ran")
    assert runtime.states(GROUP)["first"]["restart_count"] == 1


@in_a_loop
async def test_a_container_that_waits_is_stopped_at_once(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [shell(hello, "sleep 60", "first"), spec(hello, "wait", after=("first",))])
    await runtime.stop(GROUP)
    assert all(state["ended"] for state in runtime.states(GROUP).values())


@in_a_loop
async def test_waiting_goes_on_after_the_embedded_azure_was_started_again(runtime: Runtime, hello: Image) -> None:
    first = shell(hello, "sleep 0.3", "first", policy="OnFailure")
    await runtime.start(GROUP, [first, spec(hello, "say", "ran", policy="OnFailure", after=("first",))])
    await runtime.reap()
    assert not runtime.states(GROUP)["main"]["ended"]
    await Runtime(runtime.folder).adopt([GROUP])
    await logged(runtime, "ran")


# Volumes


def test_an_empty_volume_is_shared_and_lives_as_long_as_the_run(runtime: Runtime, hello: Image) -> None:
    mount = (Mount("data", "/mnt/data"),)

    def specs(run_id: str) -> list[ContainerSpec]:
        writer = shell(hello, "ls /mnt/data | wc -l; echo hi > /mnt/data/x", "writer", run_id=run_id, mounts=mount)
        return [writer, shell(hello, "cat /mnt/data/x", run_id=run_id, mounts=mount, after=("writer",))]

    async def scene() -> None:
        for run_id in ("1", "2"):
            await runtime.start(GROUP, specs(run_id), volumes(Volume(name="data"), run_id=run_id))
            await ended(runtime)
            assert runtime.logs(GROUP, "main") == "hi\n"
            assert runtime.logs(GROUP, "writer").strip() == "0"
        await runtime.remove(GROUP)
        assert list(runtime.folder.iterdir()) == []

    run(scene())


@in_a_loop
async def test_a_volume_hides_what_the_image_has_at_its_path(runtime: Runtime, hello: Image) -> None:
    mount = (Mount("data", "/app/data"),)
    files = volumes(Volume(name="data", files={"key": b"secret"}))
    await runtime.start(GROUP, [shell(hello, "ls /app/data && cat data/key && ls main.py", mounts=mount)], files)
    await ended(runtime)
    assert runtime.logs(GROUP, "main") == "key\nsecretmain.py\n"
    file = folder_of(runtime).parent / ".volumes" / "data" / "key"
    assert file.stat().st_mode & 0o777 == 0o400


@pytest.mark.parametrize("path", ["/tmp", "/tmp/data", "/app", "/app/deep/er"])
@in_a_loop
async def test_a_volume_can_be_mounted_anywhere(runtime: Runtime, hello: Image, path: str) -> None:
    files = volumes(Volume(name="data", files={"key": b"secret"}))
    line = f"cat {path}/key; echo x > /tmp/beside && cat /tmp/beside"
    await runtime.start(GROUP, [shell(hello, line, mounts=(Mount("data", path),))], files)
    await ended(runtime)
    assert runtime.logs(GROUP, "main") == "secretx\n"


@in_a_loop
async def test_what_has_no_commit_fails_the_start_and_runs_nothing(runtime: Runtime, hello: Image, tmp_path: Path) -> None:
    code = volumes(Volume(name="code", repository=GitRepository(tmp_path, "", ".")))
    with pytest.raises(MountFailedError, match="the volume code"):
        await runtime.start(GROUP, [spec(hello, "say", "ran")], code)
    assert runtime.states(GROUP) == {}


@in_a_loop
async def test_an_address_is_no_path(runtime: Runtime, hello: Image) -> None:
    url = "https://localhost:8443/checkout.git"
    await runtime.start(GROUP, [shell(hello, f"echo {url} $URL", env={"URL": url})])
    await ended(runtime)
    assert runtime.logs(GROUP, "main") == f"{url} {url}\n"


@in_a_loop
async def test_each_container_has_a_tmp_of_its_own(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [shell(hello, "echo 1 > /tmp/x", "first"), shell(hello, "ls /tmp", after=("first",))])
    await ended(runtime)
    assert runtime.logs(GROUP, "main") == ""


# Probes


@in_a_loop
async def test_a_liveness_probe_that_fails_too_often_restarts_the_container(runtime: Runtime, hello: Image) -> None:
    probe = Probe(command=("cat", "/tmp/healthy"), **QUICK)
    line = "touch /tmp/healthy; sleep 0.5; rm /tmp/healthy; sleep 600"
    await runtime.start(GROUP, [shell(hello, line, policy="Always", probes={"liveness": probe})])
    state = await restarted(runtime)
    assert state["previous"]["exitCode"] == 143
    messages = {event["name"]: event["message"] for event in state["events"]}
    assert messages["Unhealthy"].startswith("Liveness probe failed: cat: ")
    assert messages["Killing"] == "Container main failed liveness probe, will be restarted"
    assert next(event for event in state["events"] if event["name"] == "Unhealthy")["count"] >= 2


@in_a_loop
async def test_a_failed_liveness_probe_ends_a_container_that_is_never_restarted(runtime: Runtime, hello: Image) -> None:
    probe = Probe(command=("false",), **QUICK)
    await runtime.start(GROUP, [spec(hello, "wait", probes={"liveness": probe})])
    assert (await ended(runtime))["current"]["exitCode"] == 143
    assert "Liveness probe failed: exit code 1" in [one["message"] for one in runtime.states(GROUP)["main"]["events"]]


@in_a_loop
async def test_a_probe_that_takes_too_long_has_failed(runtime: Runtime, hello: Image) -> None:
    probe = Probe(command=("sleep", "60"), period_seconds=0.1, timeout_seconds=0.2, failure_threshold=1)
    await runtime.start(GROUP, [spec(hello, "wait", probes={"liveness": probe})])
    state = await ended(runtime)
    assert "Liveness probe failed: command timed out after 0.2 s" in [event["message"] for event in state["events"]]


@in_a_loop
async def test_a_readiness_probe_that_fails_is_told_and_nothing_is_restarted(runtime: Runtime, hello: Image) -> None:
    probe = Probe(http=Http(port=1), **QUICK)
    await runtime.start(GROUP, [spec(hello, "wait", policy="Always", probes={"readiness": probe})])
    await until(lambda: "Unhealthy" in event_names(runtime), "the probe failed")
    (event,) = [one for one in runtime.states(GROUP)["main"]["events"] if one["name"] == "Unhealthy"]
    assert event["message"].startswith('Readiness probe failed: Get "http://127.0.0.1:1/": ')
    await until(lambda: runtime.states(GROUP)["main"]["events"][-1]["count"] >= 3, "it fails again and again")
    assert runtime.states(GROUP)["main"]["restart_count"] == 0


SERVER = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(self.path[1:])); self.end_headers()
server = http.server.HTTPServer(('127.0.0.1', 0), Answer)
print('port', server.server_port, flush=True)
server.serve_forever()
"""


@pytest.mark.parametrize(("status", "healthy"), [(204, True), (302, True), (500, False)])
@in_a_loop
async def test_an_http_probe_takes_answers_of_200_to_399(runtime: Runtime, hello: Image, status: int, healthy: bool) -> None:
    server = ContainerSpec(name="server", image=hello, command=("python", "-c", SERVER), env={}, restart_policy="Never", run="1")
    await runtime.start(GROUP, [server])
    log = await logged(runtime, "\n", "server")
    probe = Probe(http=Http(port=int(log.split()[1]), path=f"/{status}"), **QUICK)
    line = "sleep 1; exit 9" if healthy else "sleep 600"
    await runtime.start(GROUP, [server, shell(hello, line, probes={"liveness": probe})])
    state = await ended(runtime)
    assert state["current"]["exitCode"] == (9 if healthy else 143)
    failed = [event["message"] for event in state["events"] if event["name"] == "Unhealthy"]
    assert failed == ([] if healthy else ["Liveness probe failed: HTTP probe failed with statuscode: 500"])


@in_a_loop
async def test_a_probe_waits_for_its_initial_delay(runtime: Runtime, hello: Image) -> None:
    probe = Probe(command=("false",), initial_delay_seconds=600, **QUICK)
    await runtime.start(GROUP, [shell(hello, "sleep 0.5", probes={"liveness": probe})])
    assert (await ended(runtime))["current"]["exitCode"] == 0
    assert "Unhealthy" not in event_names(runtime)


# Memory

TAKE = "import time; held = bytearray(200_000_000); held[::4096] = b'x' * len(held[::4096]); time.sleep(600)"


@NEEDS_PROC
@in_a_loop
async def test_a_container_over_its_memory_is_killed_as_out_of_memory(runtime: Runtime, hello: Image) -> None:
    command = ("/bin/sh", "-c", f'python -c "{TAKE}"')  # what it starts counts too
    await runtime.start(
        GROUP,
        [
            ContainerSpec(
                name="main", image=hello, command=command, env={}, restart_policy="Never", run="1", memory_bytes=100_000_000
            )
        ],
    )
    current = (await ended(runtime))["current"]
    assert (current["exitCode"], current["detailStatus"]) == (137, "OOMKilled")


@NEEDS_PROC
@in_a_loop
async def test_a_container_within_its_memory_goes_on(runtime: Runtime, hello: Image) -> None:
    await runtime.start(GROUP, [shell(hello, f"sleep {3 * shim_memory.LOOK_SECONDS}", memory_bytes=100_000_000)])
    assert (await ended(runtime))["current"]["exitCode"] == 0
