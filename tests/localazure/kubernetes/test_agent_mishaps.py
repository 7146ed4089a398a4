"""What may go wrong around the node agent, without a cluster: ranges that are used up, full disks, answers that are none."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from localazure.containers.volumes import Mount
from localazure.folder import read_json
from localazure.kubernetes.agent import process_spec
from localazure.kubernetes.agent.images import PullError, Registry
from localazure.kubernetes.agent.node import Node
from localazure.kubernetes.agent.settings import Settings
from localazure.kubernetes.client import KubeApi, KubeError
from localazure.kubernetes.control_plane_folder import ClusterFolder
from localazure.kubernetes.events import Events
from localazure.kubernetes.node_gpus import StartError
from tests.localazure.coroutines import in_a_loop
from tests.localazure.kubernetes.gpu_world import Taking, eventually
from tests.support.loopback import run
from tests.support.node_agent import record

NOWHERE = Path("/nowhere")
SETTINGS = Settings({"server": "https://127.0.0.1:1", "ca": "/nowhere", "serving": {}, "programs": "/nowhere"})
Body = dict[str, Any]


def node(folder: Path) -> Node:
    return Node(record("aks-tests-0"), ClusterFolder(folder), SETTINGS, set())


def test_pods_that_have_ended_leave_their_addresses_to_others(tmp_path: Path) -> None:
    one = node(tmp_path)
    first = one.address("pod-0")
    taken = {one.address(f"pod-{number}") for number in range(251)}
    assert len(taken) == 251
    assert one.address("pod-0") == first
    one.give_back("pod-0", ())
    assert one.address("late") == first
    assert one.address("later") in taken, "they are for show: more pods than addresses are no reason to run none"


@in_a_loop
async def test_a_node_that_goes_while_it_is_registered_is_deleted_after_that(tmp_path: Path) -> None:
    sent, answered = asyncio.Event(), asyncio.Event()

    class Slow(Taking):
        """It does what it was sent, also where nobody waits for the answer."""

        async def create(self, path: str, body: Body) -> Body:
            async def arrives() -> Body:
                await answered.wait()
                return await super(Slow, self).create(path, body)

            sent.set()
            return await asyncio.shield(asyncio.ensure_future(arrives()))

    one, api = node(tmp_path), Slow()
    one.start(cast(KubeApi, api), 1)
    await sent.wait()
    going = asyncio.ensure_future(one.remove(cast(KubeApi, api)))
    for _ in range(10):
        await asyncio.sleep(0)
    answered.set()
    await going
    assert [one for one in api.told if "/leases" not in one and "patch" not in one] == [
        "create /api/v1/nodes",
        "delete /api/v1/nodes/aks-tests-0",
    ]


def test_pods_that_have_ended_leave_their_ports_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claimed: list[set[int]] = []

    def free_port(taken: set[int]) -> int:
        claimed.append(set(taken))
        return 20_001

    monkeypatch.setattr("localazure.kubernetes.control_plane.free_port", free_port)
    one = node(tmp_path)
    container = {"ports": [{"containerPort": 80}]}
    assert one.ports(container) == {80: 20_001}
    one.ports(container)
    assert 20_001 in claimed[1]
    one.give_back("pod", [20_001])
    one.ports(container)
    assert 20_001 not in claimed[2]
    one.give_back("pod", [20_001])


@in_a_loop
async def test_a_node_outlives_a_full_disk(tmp_path: Path) -> None:
    """A folder in the way stands for it: both are an error of writing."""
    api, one = Taking(), node(tmp_path)
    (one.folder / ".node.json.half").mkdir()
    one.start(cast(KubeApi, api), 10_250)
    await asyncio.sleep(0)
    (one.folder / ".node.json.half").rmdir()
    await eventually(lambda: "patch /api/v1/nodes/aks-tests-0/status" in api.told, "the node is reported all the same")
    await eventually(lambda: any("/leases/" in path for path in api.told), "and says that it lives")
    assert (read_json(one.folder / "node.json") or {})["port"] == 10_250
    await one.stop()


def test_parts_of_volumes_are_told_apart_and_stay_inside(tmp_path: Path) -> None:
    (tmp_path / "data" / "a" / "b").mkdir(parents=True)
    (tmp_path / "data--a-b").mkdir()
    container = {
        "volumeMounts": [
            {"name": "data", "mountPath": "/one", "subPath": "a/b"},
            {"name": "data", "mountPath": "/two", "subPath": "a-b"},
            {"name": "data", "mountPath": "/three/", "subPathExpr": "$(POD)/logs"},
            {"name": "data--a-b", "mountPath": "/four"},
        ]
    }
    mounts = process_spec.mounts_of(container, {"POD": "p"}, tmp_path)
    led = {one.path: (tmp_path / one.volume).resolve().relative_to(tmp_path) for one in mounts}
    assert led == {
        "/one": Path("data/a/b"),
        "/two": Path("data/a-b"),
        "/three": Path("data/p/logs"),
        "/four": Path("data--a-b"),
    }
    assert process_spec.mounts_of({"volumeMounts": [{"name": "v", "mountPath": "/"}]}, {}, tmp_path) == (Mount("v", "/"),)
    with pytest.raises(StartError, match="must not contain"):
        process_spec.mounts_of(container, {"POD": "../../other-pod"}, tmp_path)


def test_a_server_that_fails_is_a_pull_that_fails() -> None:
    async def whole() -> str:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 21\r\n\r\nInternal Server Error")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        registry = Registry(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", NOWHERE, "token")
        async with server:
            with pytest.raises(PullError) as failed:
                await registry.pull("tests.azurecr.local/app:1", [])
            await registry.close()
        return str(failed.value)

    assert run(whole()) == "the embedded Azure answers 500"


def test_an_event_that_has_expired_is_told_anew() -> None:
    """The API server keeps events for an hour; what goes on for longer isn't silent from then on."""

    class Forgetful(Taking):
        async def patch(self, path: str, body: Any, **_: str) -> Body:
            raise KubeError(404, "NotFound", f"{path} not found")

    async def whole() -> None:
        api, events = Forgetful(), Events("kubelet")
        telling = asyncio.create_task(events.run(cast(KubeApi, api)))
        pod = {"name": "p", "namespace": "n", "uid": "u"}
        for number in (1, 2):
            events.of_pod(pod, "Warning", "BackOff", "again")
            await eventually(lambda number=number: len(api.told) == number, "the event is there")
        telling.cancel()

    run(whole())
