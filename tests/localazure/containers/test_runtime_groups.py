"""What containers of a group do with each other: init containers, volumes, probes and memory, with timings of tests."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from localazure.containers.container_spec import ContainerSpec, Http, Probe
from localazure.containers.images import Image
from localazure.containers.runtime import Runtime
from localazure.containers.volumes import GitRepository, Mount, MountFailedError, Volume, Volumes
from tests.localazure.containers.conftest import run, until
from tests.localazure.containers.test_runtime import GROUP, ended, logged, spec
from tests.localazure.coroutines import in_a_loop

QUICK = {"period_seconds": 0.1, "timeout_seconds": 2, "failure_threshold": 2}


def shell(image: Image, line: str, name: str = "main", **more: Any) -> ContainerSpec:
    return replace(spec(image, name=name, **more), command=("/bin/sh", "-c", line))


def volumes(*listed: Volume, run_id: str = "1") -> Volumes:
    return Volumes(run=run_id, volumes=listed)


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
async def test_what_has_no_commit_fails_the_start_and_runs_nothing(runtime: Runtime, hello: Image, tmp_path: Path) -> None:
    code = volumes(Volume(name="code", repository=GitRepository(tmp_path, "", ".")))
    with pytest.raises(MountFailedError, match="the volume code"):
        await runtime.start(GROUP, [spec(hello, "say", "ran")], code)
    assert runtime.states(GROUP) == {}


# Probes


@in_a_loop
async def test_a_liveness_probe_that_fails_too_often_restarts_the_container(runtime: Runtime, hello: Image) -> None:
    probe = Probe(command=("cat", "/tmp/healthy"), **QUICK)
    line = "touch /tmp/healthy; sleep 0.5; rm /tmp/healthy; sleep 600"
    await runtime.start(GROUP, [shell(hello, line, policy="Always", probes={"liveness": probe})])
    state = await until(lambda: (one := runtime.states(GROUP)["main"])["restart_count"] and one, "it was restarted")
    assert state["previous"]["exitCode"] == 143
    messages = {event["name"]: event["message"] for event in state["events"]}
    assert messages["Unhealthy"].startswith("Liveness probe failed: cat: ")
    assert messages["Killing"] == "Container main failed liveness probe, will be restarted"
    assert next(event for event in state["events"] if event["name"] == "Unhealthy")["count"] >= 2


@in_a_loop
async def test_a_readiness_probe_that_fails_is_told_and_nothing_is_restarted(runtime: Runtime, hello: Image) -> None:
    probe = Probe(http=Http(port=1), **QUICK)
    await runtime.start(GROUP, [spec(hello, "wait", policy="Always", probes={"readiness": probe})])
    failed = lambda: [one for one in runtime.states(GROUP)["main"]["events"] if one["name"] == "Unhealthy"]  # noqa: E731
    (event,) = await until(failed, "the probe failed")
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
    server = replace(spec(hello, name="server"), command=("python", "-c", SERVER))
    await runtime.start(GROUP, [server])
    log = await logged(runtime, "\n", "server")
    probe = Probe(http=Http(port=int(log.split()[1]), path=f"/{status}"), **QUICK)
    line = "sleep 1; exit 9" if healthy else "sleep 600"
    await runtime.start(GROUP, [server, shell(hello, line, probes={"liveness": probe})])
    state = await ended(runtime)
    assert state["current"]["exitCode"] == (9 if healthy else 143)
    failed = [event["message"] for event in state["events"] if event["name"] == "Unhealthy"]
    assert failed == ([] if healthy else ["Liveness probe failed: HTTP probe failed with statuscode: 500"])
