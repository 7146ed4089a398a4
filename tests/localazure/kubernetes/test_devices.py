"""The devices of a node, as the kubelet keeps them: capacity, allocation, refusals, what containers see, what stays on disk."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from localazure.kubernetes.devices import NodeDevices, Offer, RefusedError, device_of, spread
from localazure.kubernetes.node_gpus import StartError
from tests.localazure.kubernetes.gpu_world import World, pool
from tests.support.examples import examples

GPU = "nvidia.com/gpu"
A100X4 = pool(name="a100", size="Standard_NC96ads_A100_v4")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, A100X4)


def offered(devices: NodeDevices) -> dict[str, Offer]:
    offers = {GPU: Offer([gpu.uuid for gpu in devices.gpus])}
    devices.advertise(offers)
    return offers


def refused(devices: NodeDevices, number: int, pod: str = "late") -> str:
    with pytest.raises(RefusedError) as caught:
        devices.allocate(pod, "main", {GPU: number})
    return caught.value.message


def seen(devices: NodeDevices, pod: str, container: str = "main", **said: str) -> list[int]:
    return [gpu.number for gpu in devices.visible(pod, container, said).gpus]


def test_a_node_has_gpus_while_a_plugin_offers_them(world: World) -> None:
    assert (world.devices.capacity(), world.devices.allocatable()) == ({}, {})
    world.devices.allocate("pod", "main", {GPU: 1})  # the scheduler wouldn't have bound it; the kubelet doesn't know the resource
    first, second = (offered(world.devices) for _ in range(2))
    world.devices.withdraw(first)  # it ends late, and takes nothing from the one after it
    assert world.devices.capacity() == world.devices.allocatable() == {GPU: 4}
    world.devices.withdraw(second)
    assert (world.devices.capacity(), world.devices.allocatable()) == ({GPU: 4}, {GPU: 0})
    assert refused(world.devices, 1) == (
        "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected"
    )
    offered(world.devices)
    assert world.devices.allocatable() == {GPU: 4}


def test_devices_are_given_once_and_come_back_with_the_pod(world: World) -> None:
    offered(world.devices)
    for name in "ab":
        world.devices.allocate(name, "main", {GPU: 2})
    assert sorted(seen(world.devices, "a") + seen(world.devices, "b")) == [0, 1, 2, 3]
    assert refused(world.devices, 1) == (
        "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, "
        "which is unexpected"
    )
    world.devices.release("a")
    world.devices.allocate("c", "first", {GPU: 2})
    world.devices.allocate("c", "main", {GPU: 2}, reusable=("first",))
    assert seen(world.devices, "c") == seen(world.devices, "c", "first")


def test_another_agent_knows_who_has_what_and_waits_for_the_plugin(world: World) -> None:
    offered(world.devices)
    world.devices.allocate("a", "main", {GPU: 1})
    later = world.reborn()
    assert (later.capacity(), later.allocatable()) == ({GPU: 0}, {GPU: 0})
    offered(later)
    later.allocate("a", "main", {GPU: 1})
    assert seen(later, "a") == [0]
    later.allocate("b", "main", {GPU: 3})
    assert "Available: 0" in refused(later, 1)


@pytest.mark.parametrize(
    ("said", "numbers"),
    [("0", [0]), ("1,3", [1, 3]), ("all", [0, 1, 2, 3]), ("none", []), ("void", []), ("", [])],
    ids=["one", "two", "all", "none", "void", "empty"],
)
def test_a_pods_own_variable_says_what_it_sees(world: World, said: str, numbers: list[int]) -> None:
    """As on a device of Azure Stack Edge, where nothing is asked of the device plugin."""
    assert seen(world.devices, "pod", NVIDIA_VISIBLE_DEVICES=said) == numbers
    assert world.devices.environment("pod", "main", {"NVIDIA_VISIBLE_DEVICES": said})["NVIDIA_VISIBLE_DEVICES"] == said


def test_a_gpu_that_isnt_there_keeps_the_container_from_starting(world: World) -> None:
    with pytest.raises(StartError, match="nvidia-container-cli: device error: 4: unknown device"):
        world.devices.environment("pod", "main", {"NVIDIA_VISIBLE_DEVICES": "4"})


def test_who_was_given_nothing_sees_nothing_and_without_a_driver_nobody_does(tmp_path: Path, world: World) -> None:
    nothing = {"NVIDIA_VISIBLE_DEVICES": "void", "CUDA_VISIBLE_DEVICES": ""}
    bare = World(tmp_path / "bare", pool(gpu_driver=False))
    for devices in (world.devices, bare.devices):
        assert devices.environment("pod", "main", {}) == nothing
        assert devices.programs("pod", "main") is None
    said = {"NVIDIA_VISIBLE_DEVICES": "all"}  # stands as it was said, with nothing there that reads it
    assert bare.devices.environment("pod", "main", said) == {**nothing, **said}


def test_the_same_node_has_the_same_gpus_and_another_has_others(tmp_path: Path, world: World) -> None:
    again = World(tmp_path / "again", A100X4)
    other = World(tmp_path / "other", pool(name="more", size="Standard_NC96ads_A100_v4"))
    assert [gpu.uuid for gpu in again.devices.gpus] == [gpu.uuid for gpu in world.devices.gpus]
    assert not {gpu.uuid for gpu in other.devices.gpus} & {gpu.uuid for gpu in world.devices.gpus}


def test_mig_cuts_each_gpu_into_the_instances_of_its_profile(tmp_path: Path) -> None:
    world = World(tmp_path, pool(name="mig", size="Standard_NC24ads_A100_v4", mig_profile="MIG1g"))
    (gpu,) = world.devices.gpus
    assert [one.profile for one in gpu.instances] == ["1g.10gb"] * 7
    assert {one.memory_mib for one in gpu.instances} == {9728}
    visible = world.devices.visible("pod", "main", {"NVIDIA_VISIBLE_DEVICES": "0:2"})
    assert visible.ids == [gpu.instances[2].uuid]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_no_device_is_ever_held_twice(steps: list[tuple[int, int]]) -> None:
    """Whatever pods ask for and in whatever order they go; 0 means that the pod goes."""
    with tempfile.TemporaryDirectory() as folder:
        devices = World(Path(folder), A100X4).devices
        offered(devices)
        asked: dict[str, int] = {}
        for number, amount in steps:
            name = f"pod-{number}"
            if not amount:
                devices.release(name)
                asked.pop(name, None)
            elif name not in asked:
                if amount <= 4 - sum(asked.values()):
                    devices.allocate(name, "main", {GPU: amount})
                    asked[name] = amount
                else:
                    refused(devices, amount, name)
        held = [number for name in asked for number in seen(devices, name)]
        assert len(held) == len(set(held)) == sum(asked.values())


@given(st.integers(1, 4), st.integers(2, 5), st.data())
def test_replicas_are_taken_from_where_the_fewest_are_taken(gpus: int, replicas: int, data: st.DataObject) -> None:
    every = [f"GPU-{gpu}::{number}" for gpu in range(gpus) for number in range(replicas)]
    free = data.draw(st.lists(st.sampled_from(every), unique=True, min_size=1))
    size = data.draw(st.integers(1, len(free)))
    chosen = spread(free, every, size)
    assert len(set(chosen)) == size
    assert set(chosen) <= set(free)
    left = set(free) - set(chosen)
    taken = {
        gpu: sum(1 for one in every if device_of(one) == gpu and one not in left) for gpu in {device_of(one) for one in every}
    }
    for one in chosen:  # its GPU has at most one more taken than any other that had one to give
        others = [taken[gpu] for gpu in {device_of(each) for each in left}]
        assert not others or taken[device_of(one)] <= min(others) + 1
