"""The infrastructure images that are acted out: device plugin, config manager, control daemon of MPS, and which images they are.

Literals are the real programs' own words, from users' logs and NVIDIA's sources.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from localazure.kubernetes.client import Event
from localazure.kubernetes.devices import RefusedError
from localazure.kubernetes.infrastructure import actor, known
from tests.localazure.coroutines import in_a_loop
from tests.localazure.kubernetes.gpu_world import PLUGIN, World, eventually, pool

GPU = "nvidia.com/gpu"
CONFIG = "/config/config.yaml"
SLICED = "version: v1\nsharing:\n  timeSlicing:\n{extra}    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n"
MPS = "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 4\n"
MIG = pool(name="mig", size="Standard_NC24ads_A100_v4", mig_profile="MIG1g")


def sliced(extra: str = "") -> str:
    return SLICED.format(extra=f"    {extra}\n" if extra else "")


def plugin(world: World, config: str | None = None, **env: str) -> Any:
    if config is None:
        return world.container(env=env)
    return world.container(env={"CONFIG_FILE": CONFIG, **env}, files={CONFIG: config})


@pytest.mark.parametrize(
    ("image", "there"),
    [
        (PLUGIN, True),
        ("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", True),
        ("nvcr.io/nvidia/k8s-device-plugin:v0.17.1-ubi9", True),
        ("nvcr.io/nvidia/k8s-device-plugin:v0.99.0", False),
        ("nvcr.io/nvidia/k8s-device-plugin", False),
        ("nvcr.io/nvidia/k8s/dcgm-exporter:4.5.3-4.8.2-distroless", True),
        ("registry.k8s.io/nfd/node-feature-discovery:v0.17.3", True),
        ("registry.k8s.io/pause:3.10", True),
        ("docker.io/library/nginx:1", False),
        ("example.azurecr.io/nvidia/k8s-device-plugin:v0.18.0", False),
    ],
)
def test_which_images_are_acted_out(image: str, there: bool) -> None:
    assert known(image) is there
    assert (actor(image, [], []) is not None) is there


@in_a_loop
async def test_the_plugin_offers_the_gpus_while_it_runs(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with plugin(world).running() as container:
        await container.says("Registered device plugin for 'nvidia.com/gpu' with Kubelet")
        assert world.devices.allocatable() == {GPU: 1}
    assert (world.devices.capacity(), world.devices.allocatable()) == ({GPU: 1}, {GPU: 0})
    assert container.code == 0


@pytest.mark.parametrize(
    ("config", "resource"), [(sliced(), GPU), (sliced("renameByDefault: true"), "nvidia.com/gpu.shared")], ids=["same", "renamed"]
)
@in_a_loop
async def test_time_slicing_multiplies_the_gpus_under_their_name(tmp_path: Path, config: str, resource: str) -> None:
    world = World(tmp_path)
    async with plugin(world, config).running() as container:
        await container.says("Registered device plugin")
        assert world.devices.allocatable() == {resource: 4}
        for name in "abcd":
            world.devices.allocate(name, "main", {resource: 1})
        uuid = world.devices.gpus[0].uuid
        assert {world.devices.environment(name, "main", {})["NVIDIA_VISIBLE_DEVICES"] for name in "abcd"} == {uuid}
        assert sorted(world.devices.held(name, "main")[resource][0] for name in "abcd") == [f"{uuid}::{n}" for n in range(4)]
        with pytest.raises(RefusedError, match="Requested: 1, Available: 0"):
            world.devices.allocate("e", "main", {resource: 1})


@in_a_loop
async def test_requests_for_two_replicas_are_refused_at_admission_if_the_configuration_says_so(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with plugin(world, sliced("failRequestsGreaterThanOne: true")).running() as container:
        await container.says("Registered device plugin")
        with pytest.raises(RefusedError) as caught:
            world.devices.allocate("a", "main", {GPU: 2})
        assert caught.value.message == (
            'Allocate failed due to rpc error: code = Unknown desc = invalid allocation request for "nvidia.com/gpu": '
            "invalid request: maximum request size for shared resources is 1; found 2, which is unexpected"
        )
    async with plugin(world, sliced()).running() as container:
        await container.says("Registered device plugin")
        world.devices.allocate("b", "main", {GPU: 2})


@in_a_loop
async def test_replicas_are_spread_over_the_gpus(tmp_path: Path) -> None:
    world = World(tmp_path, pool(name="two", size="Standard_NC48ads_A100_v4"))
    async with plugin(world, sliced()).running() as container:
        await container.says("Registered device plugin")
        for name in "ab":
            world.devices.allocate(name, "main", {GPU: 1})
        seen = {world.devices.environment(name, "main", {})["NVIDIA_VISIBLE_DEVICES"] for name in "ab"}
        assert seen == {gpu.uuid for gpu in world.devices.gpus}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("version: v2\n", "unable to parse config file: error parsing config file: unknown version: v2"),
        ("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}", "number of replicas must be >= 2"),
        ("sharing: {timeSlicing: {}}", "no resources specified"),
        ("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu}]}}", "no replicas specified"),
        ("flags: {plugin: {deviceIDStrategy: name}}", "unable to validate flags: invalid --device-id-strategy option: name"),
        ("[1, 2]", "cannot unmarshal array into Go value of type v1.Config"),
        ("a: b: c", "error converting YAML to JSON"),
        (MPS, "unable to load config: unable to validate flags: using MPS requires --mps-root to be specified"),
    ],
    ids=["version", "one-replica", "nothing", "no-number", "ids", "list", "yaml", "mps-root"],
)
@in_a_loop
async def test_a_wrong_configuration_ends_the_plugin_with_its_reason(tmp_path: Path, config: str, said: str) -> None:
    world = World(tmp_path)
    container = plugin(world, config)
    assert await container.ended() == 1
    last = container.lines[-1]
    assert re.match(r"E\d{4} \d\d:\d\d:\d\d\.\d{6} +1 main\.go:\d+\] error starting plugins: unable to load config: ", last)
    assert said in last
    assert world.devices.capacity() == {}


@in_a_loop
async def test_a_file_that_isnt_mounted_and_a_flag_that_isnt_there_end_it_too(tmp_path: Path) -> None:
    world = World(tmp_path)
    container = world.container(args=["--config-file=/nowhere.yaml"])
    assert await container.ended() == 1
    assert "error opening config file: open /nowhere.yaml: no such file or directory" in container.text
    container = world.container(args=["--replicas=4"])
    assert await container.ended() == 1
    assert "flag provided but not defined: -replicas" in container.text
    container = world.container(command=["sh", "-c", "sleep 1"])
    assert await container.ended() == 127


@in_a_loop
async def test_no_path_leads_out_of_what_is_mounted(tmp_path: Path) -> None:
    world = World(tmp_path)
    (tmp_path / "volume").mkdir()
    (tmp_path / "outside.yaml").write_text(sliced(), encoding="utf-8")
    container = world.container(env={"CONFIG_FILE": "/config/../outside.yaml"}, mounts={"/config": tmp_path / "volume"})
    assert await container.ended() == 1
    assert "open /config/../outside.yaml: no such file or directory" in container.text
    assert world.devices.allocatable() == {}
    assert container.context.path("/config/./a//b") == tmp_path / "volume/a/b"


@in_a_loop
async def test_without_a_driver_it_fails_or_waits_as_it_is_told(tmp_path: Path) -> None:
    world = World(tmp_path, pool(gpu_driver=False))
    container = plugin(world)
    assert await container.ended() == 1
    assert "If this is a GPU node, did you configure the NVIDIA Container Toolkit?" in container.text
    async with plugin(world, FAIL_ON_INIT_ERROR="false").running() as waiting:
        await waiting.says("No devices found. Waiting indefinitely.")
        assert world.devices.capacity() == {}


@pytest.mark.parametrize(
    ("strategy", "offered"),
    [("none", {GPU: 1}), ("single", {GPU: 7}), ("mixed", {"nvidia.com/mig-1g.10gb": 7})],
)
@in_a_loop
async def test_mig_instances_have_the_names_of_their_strategy(tmp_path: Path, strategy: str, offered: dict[str, int]) -> None:
    world = World(tmp_path, MIG)
    async with plugin(world, MIG_STRATEGY=strategy).running() as container:
        await container.says("Registered device plugin")
        assert world.devices.allocatable() == offered


@in_a_loop
async def test_mixed_instances_can_be_shared_and_mps_doesnt_take_instances(tmp_path: Path) -> None:
    world = World(tmp_path, MIG)
    shared = sliced().replace("nvidia.com/gpu", "nvidia.com/mig-1g.10gb")
    async with plugin(world, shared, MIG_STRATEGY="mixed").running() as container:
        await container.says("Registered device plugin")
        assert world.devices.allocatable() == {"nvidia.com/mig-1g.10gb": 28}
    refused = plugin(world, MPS, MIG_STRATEGY="single", MPS_ROOT="/run/nvidia/mps")
    assert await refused.ended() == 1
    assert "sharing using MPS is not supported for MIG devices" in refused.text


@in_a_loop
async def test_mps_waits_for_its_control_daemon(tmp_path: Path) -> None:
    world = World(tmp_path)
    root = tmp_path / "mps"
    async with plugin(world, MPS, MPS_ROOT="/run/nvidia/mps").running() as container:
        await container.says(
            "Failed to start plugin: error waiting for MPS daemon: error checking MPS daemon health: "
            "failed to send command to MPS daemon: exit status 1"
        )
        await container.says("Failed to start one or more plugins. Retrying in 30s...")
        assert world.devices.capacity() == {}
        daemon = world.container(
            command=["mps-control-daemon"],
            env={"CONFIG_FILE": CONFIG},
            files={CONFIG: MPS},
            mounts={"/mps": root},
            uid="daemon",
        )
        async with daemon.running():
            await container.says("Registered device plugin for 'nvidia.com/gpu' with Kubelet")
            assert (root / ".ready").exists()
            world.devices.allocate("a", "main", {GPU: 1})
            env = world.devices.environment("a", "main", {})
            assert env["CUDA_MPS_PIPE_DIRECTORY"] == "/mps/nvidia.com/gpu/pipe"
            with pytest.raises(RefusedError, match="maximum request size for shared resources is 1; found 2"):
                world.devices.allocate("b", "main", {GPU: 2})
        assert not (root / ".ready").exists()


@in_a_loop
async def test_mps_divides_memory_and_threads_equally_and_has_a_most(tmp_path: Path) -> None:
    world = World(tmp_path)
    daemon = world.container(command=["mps-control-daemon"], args=[f"--config-file={CONFIG}"], files={CONFIG: MPS})
    async with daemon.running() as container:
        await container.says("set_default_device_pinned_mem_limit 0 3840M")
        await container.says("set_default_active_thread_percentage 25")
    many = world.container(
        command=["mps-control-daemon"], env={"CONFIG_FILE": CONFIG}, files={CONFIG: MPS.replace("4", "49")}, uid="many"
    )
    assert await many.ended() == 1
    assert "maximum allowed replicas exceeded: 49 > 48" in many.text


class Node:
    """An API with one node, whose label changes."""

    def __init__(self, *values: str) -> None:
        self.values = values
        self.further = asyncio.Event()

    async def follow(self, path: str, *, labels: str = "", fields: str = "") -> AsyncIterator[Event]:
        assert (path, fields) == ("/api/v1/nodes", "metadata.name=node")
        for value in self.values:
            labels_of = {"nvidia.com/device-plugin.config": value} if value else {}
            yield Event("MODIFIED", {"metadata": {"name": "node", "labels": labels_of}})
            await self.further.wait()
            self.further.clear()
        await asyncio.Event().wait()


@in_a_loop
async def test_the_config_manager_gives_each_node_the_configuration_that_its_label_names(tmp_path: Path) -> None:
    world = World(tmp_path)
    available, chosen = tmp_path / "available", tmp_path / "chosen"
    available.mkdir()
    chosen.mkdir()
    (available / "shared").write_text(sliced(), encoding="utf-8")
    (available / "whole").write_text("version: v1\n", encoding="utf-8")
    mounts = {"/available-configs": available, "/config": chosen}
    api = Node("whole", "shared")
    settings = {
        "NODE_NAME": "node",
        "CONFIG_FILE_SRCDIR": "/available-configs",
        "CONFIG_FILE_DST": CONFIG,
        "SEND_SIGNAL": "false",
    }
    first = world.container(command=["config-manager"], env={**settings, "ONESHOT": "true"}, mounts=mounts, api=Node("whole"))
    assert await first.ended() == 0
    server = world.container(env={"CONFIG_FILE": CONFIG}, mounts=mounts)
    sidecar = world.container(command=["config-manager"], env={**settings, "SEND_SIGNAL": "true"}, mounts=mounts, api=api)
    async with server.running(), sidecar.running():
        await eventually(lambda: world.devices.allocatable() == {GPU: 1}, server.text)
        api.further.set()
        await eventually(lambda: world.devices.allocatable() == {GPU: 4}, server.text + sidecar.text)
        await sidecar.says("Successfully updated to config: shared")
    unknown = world.container(command=["config-manager"], env=settings, mounts=mounts, api=Node("third"))
    assert await unknown.ended() == 1
    assert "specified config third does not exist" in unknown.text


@in_a_loop
async def test_the_shown_configuration_is_json(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with plugin(world, sliced()).running() as container:
        await container.says("Registered device plugin")
    shown = container.text.partition("Running with config:\n")[2]
    config, _ = json.JSONDecoder().raw_decode(shown)
    assert config["sharing"]["timeSlicing"]["resources"] == [{"name": GPU, "devices": "all", "replicas": 4}]
