"""The infrastructure images that are simulated: which they are, what the device plugin offers by its configuration, and the
labels of GPU feature discovery. Literals are NVIDIA's and from users' pages."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from localazure.kubernetes.devices import RefusedError
from localazure.kubernetes.infrastructure import known
from tests.localazure.coroutines import in_a_loop
from tests.localazure.kubernetes.gpu_world import PLUGIN, World, eventually, pool
from tests.support.tables import of_table

GPU = "nvidia.com/gpu"
POOLS = {
    "t4": pool(),
    "two": pool(name="two", size="Standard_NC48ads_A100_v4"),
    "mig": pool(name="mig", size="Standard_NC24ads_A100_v4", mig_profile="MIG1g"),
    "bare": pool(gpu_driver=False),
}


@contextlib.contextmanager
def node_of(name: str) -> Iterator[World]:
    with tempfile.TemporaryDirectory() as folder:
        yield World(Path(folder), POOLS[name])


def sharing(kind: str = "timeSlicing", extra: str = "", name: str = GPU) -> str:
    return f"version: v1\nsharing: {{{kind}: {{{extra}resources: [{{name: {name}, replicas: 4}}]}}}}\n"


@of_table("image", "there", more=[(PLUGIN, True)])
def test_which_images_are_simulated(image: str, there: bool) -> None:
    assert known(image) is there


@of_table("node", "config", "env", "offered", "told")
@in_a_loop
async def test_what_the_plugin_offers(
    node: str, config: list[str], env: dict[str, str], offered: dict[str, int], told: list[str]
) -> None:
    """And what pods that get one each are told that they have, ids of GPUs and instances as their numbers."""
    with node_of(node) as world:
        devices = world.devices
        names = {gpu.uuid: f"GPU {gpu.number}" for gpu in devices.gpus}
        names |= {one.uuid: f"MIG {one.number}" for gpu in devices.gpus for one in gpu.instances}
        async with world.container(config=sharing(*config) if config else None, env=env).running("Registered device plugin"):
            assert devices.allocatable() == offered
            seen: list[str] = []
            for number in range(len(told)):
                devices.allocate(f"p{number}", "main", dict.fromkeys(offered, 1))
                seen.append(devices.environment(f"p{number}", "main", {})["NVIDIA_VISIBLE_DEVICES"])
            assert [names.get(one, one) for one in seen] == told
        assert devices.allocatable() == dict.fromkeys(offered, 0)


@pytest.mark.parametrize(
    ("config", "refuses"),
    [(sharing(), False), (sharing(extra="failRequestsGreaterThanOne: true, "), True), (sharing("mps"), True)],
    ids=["plain", "said", "mps"],
)
@in_a_loop
async def test_whether_a_container_may_have_two_replicas(tmp_path: Path, config: str, refuses: bool) -> None:
    world = World(tmp_path)
    async with world.container(config=config).running("Registered device plugin"):
        if not refuses:
            world.devices.allocate("a", "main", {GPU: 2})
            return
        with pytest.raises(RefusedError) as caught:
            world.devices.allocate("a", "main", {GPU: 2})
        assert caught.value.message == (
            'Allocate failed due to rpc error: code = Unknown desc = invalid allocation request for "nvidia.com/gpu": '
            "invalid request: maximum request size for shared resources is 1; found 2, which is unexpected"
        )


@of_table("node", "config", "env", "said")
@in_a_loop
async def test_why_the_plugin_ends(node: str, config: str | None, env: dict[str, str], said: str) -> None:
    with node_of(node) as world:
        container = world.container(config=config, env=env)
        assert await container.ended() == 1
        assert f"error starting plugins: {said}" in container.lines[-1]
        assert world.devices.capacity() == {}


@in_a_loop
async def test_what_is_no_plugin_ends_at_once_or_waits(tmp_path: Path) -> None:
    world = World(tmp_path, POOLS["bare"])
    assert await world.container("sh", "-c", "sleep 1").ended() == 127
    assert await world.container("mps-control-daemon", "mount-shm").ended() == 0
    async with world.container(env={"FAIL_ON_INIT_ERROR": "false"}).running("No devices found. Waiting indefinitely."):
        assert world.devices.capacity() == {}


@in_a_loop
async def test_no_path_leads_out_of_what_is_mounted(tmp_path: Path) -> None:
    world = World(tmp_path)
    (tmp_path / "volume").mkdir()
    (tmp_path / "outside.yaml").write_text(sharing(), encoding="utf-8")
    container = world.container(args=["--config-file=/config/../outside.yaml"], mounts={"/config": tmp_path / "volume"})
    assert await container.ended() == 1
    assert "error opening config file: open /config/../outside.yaml: no such file or directory" in container.text
    assert container.context.path("/config/./a//b") == tmp_path / "volume/a/b"


class Nodes:
    """An API that keeps the labels of nodes."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, str]] = {}

    async def patch(self, path: str, body: Any) -> None:
        self.kept[path] = body["metadata"]["labels"]


@of_table("node", "config", "env", "labels")
@in_a_loop
async def test_labels_say_which_gpus_a_node_has_and_how_they_are_shared(
    node: str, config: list[str], env: dict[str, str], labels: Mapping[str, str]
) -> None:
    api = Nodes()
    with node_of(node) as world:
        config_file = sharing(*config) if config else ""
        async with world.container("gpu-feature-discovery", config=config_file, env=env, api=api).running():
            await eventually(lambda: api.kept, "the node is labelled")
        found = api.kept[f"/api/v1/nodes/{world.node['name']}"]
    assert {name: found.get(f"nvidia.com/{name}") for name in labels} == labels
    assert int(found["nvidia.com/gfd.timestamp"]) > 0
