"""The infrastructure images that are simulated: which they are, and what the device plugin offers by its configuration."""

from pathlib import Path
from typing import Any

import pytest

from localazure.kubernetes.devices import RefusedError
from localazure.kubernetes.infrastructure import actor, known
from tests.localazure.coroutines import in_a_loop
from tests.localazure.kubernetes.gpu_world import PLUGIN, World, pool
from tests.support.tables import of_table

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


@of_table("image", "there", more=[(PLUGIN, True)])
def test_which_images_are_simulated(image: str, there: bool) -> None:
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
        ("version: v2\n", "unknown version: v2"),
        ("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 1}]}}", "number of replicas must be >= 2"),
        ("sharing: {timeSlicing: {}}", "no resources specified"),
        ("sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu}]}}", "no replicas specified"),
        ("flags: {plugin: {deviceIDStrategy: name}}", "invalid --device-id-strategy option: name"),
        ("[1, 2]", "it isn't an object"),
        ("a: b: c", "error converting YAML to JSON"),
    ],
    ids=["version", "one-replica", "nothing", "no-number", "ids", "list", "yaml"],
)
@in_a_loop
async def test_a_wrong_configuration_ends_the_plugin_with_its_reason(tmp_path: Path, config: str, said: str) -> None:
    world = World(tmp_path)
    container = plugin(world, config)
    assert await container.ended() == 1
    assert "error starting plugins: unable to load config: " in container.lines[-1]
    assert said in container.lines[-1]
    assert world.devices.capacity() == {}


@in_a_loop
async def test_a_file_that_isnt_mounted_ends_it_and_so_does_a_program_that_the_image_lacks(tmp_path: Path) -> None:
    world = World(tmp_path)
    container = world.container(args=["--config-file=/nowhere.yaml"])
    assert await container.ended() == 1
    assert "error opening config file: open /nowhere.yaml: no such file or directory" in container.text
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
    refused = plugin(world, MPS, MIG_STRATEGY="single")
    assert await refused.ended() == 1
    assert "sharing using MPS is not supported for MIG devices" in refused.text


@in_a_loop
async def test_mps_offers_replicas_of_which_a_container_gets_one(tmp_path: Path) -> None:
    world = World(tmp_path)
    async with plugin(world, MPS).running() as container:
        await container.says("Registered device plugin for 'nvidia.com/gpu' with Kubelet")
        assert world.devices.allocatable() == {GPU: 4}
        with pytest.raises(RefusedError, match="maximum request size for shared resources is 1; found 2"):
            world.devices.allocate("b", "main", {GPU: 2})
    mounting = world.container(command=["mps-control-daemon", "mount-shm"])
    assert await mounting.ended() == 0
