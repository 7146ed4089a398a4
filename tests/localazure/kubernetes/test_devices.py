"""The devices of a node, as the kubelet keeps them: capacity, allocation, refusals, what containers see, what stays on disk."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from localazure.kubernetes.devices import NodeDevices, PluginError, RefusedError, StartError
from localazure.kubernetes.infrastructure.device_plugin import device_of, spread
from tests.localazure.kubernetes.gpu_world import World, pool
from tests.support.examples import examples

GPU = "nvidia.com/gpu"
A100X4 = pool(name="a100", size="Standard_NC96ads_A100_v4")


class Plugin:
    """Gives the first that are free; refuses more than `most` at once."""

    def __init__(self, most: int = 8) -> None:
        self.most = most

    def preferred(self, resource: str, available: Sequence[str], size: int) -> Sequence[str]:
        return available[:size]

    def allocate(self, resource: str, ids: Sequence[str]) -> dict[str, str]:
        if len(ids) > self.most:
            raise PluginError(f"{resource}: too many")
        return {"NVIDIA_VISIBLE_DEVICES": ",".join(ids)}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, A100X4)


def offered(devices: NodeDevices, plugin: Plugin | None = None) -> Plugin:
    plugin = plugin or Plugin()
    devices.advertise(GPU, [gpu.uuid for gpu in devices.gpus], plugin)
    return plugin


def refused(devices: NodeDevices, number: int, pod: str = "late") -> str:
    with pytest.raises(RefusedError) as caught:
        devices.allocate(pod, "main", {GPU: number})
    assert caught.value.reason == "UnexpectedAdmissionError"
    return caught.value.message


def test_a_node_has_no_gpu_before_a_plugin_offers_them(world: World) -> None:
    assert (world.devices.capacity(), world.devices.allocatable()) == ({}, {})
    world.devices.allocate("pod", "main", {GPU: 1})  # the scheduler wouldn't have bound it; the kubelet doesn't know the resource
    offered(world.devices)
    assert world.devices.capacity() == world.devices.allocatable() == {GPU: 4}


def test_a_gone_plugin_leaves_nothing_allocatable_and_after_five_minutes_no_capacity(tmp_path: Path) -> None:
    now = [0.0]
    world = World(tmp_path, A100X4, lambda: now[0])
    plugin = offered(world.devices)
    world.devices.withdraw(GPU, plugin)
    assert (world.devices.capacity(), world.devices.allocatable()) == ({GPU: 4}, {GPU: 0})
    assert refused(world.devices, 1) == (
        "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected"
    )
    now[0] = 299
    assert world.devices.capacity() == {GPU: 4}
    now[0] = 301
    assert world.devices.capacity() == world.devices.allocatable() == {GPU: 0}
    assert "cannot allocate unregistered device nvidia.com/gpu" in refused(world.devices, 1)
    offered(world.devices)
    assert world.devices.allocatable() == {GPU: 4}


def test_a_plugin_that_ends_late_takes_nothing_from_the_one_after_it(world: World) -> None:
    first = offered(world.devices)
    offered(world.devices)
    world.devices.withdraw(GPU, first)
    assert world.devices.allocatable() == {GPU: 4}


def test_devices_are_given_once_and_come_back_with_the_pod(world: World) -> None:
    offered(world.devices)
    world.devices.allocate("a", "main", {GPU: 2})
    world.devices.allocate("b", "main", {GPU: 2})
    taken = {one for pod in "ab" for one in world.devices.held(pod, "main")[GPU]}
    assert taken == {gpu.uuid for gpu in world.devices.gpus}
    assert refused(world.devices, 1) == (
        "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0, "
        "which is unexpected"
    )
    world.devices.release("a")
    world.devices.allocate("c", "main", {GPU: 2})


def test_a_container_that_starts_again_keeps_its_devices(world: World) -> None:
    offered(world.devices)
    world.devices.allocate("a", "main", {GPU: 1})
    before = world.devices.held("a", "main")
    world.devices.allocate("a", "main", {GPU: 1})
    assert world.devices.held("a", "main") == before


def test_the_devices_of_ended_init_containers_are_taken_over(world: World) -> None:
    offered(world.devices)
    world.devices.allocate("a", "first", {GPU: 3})
    world.devices.allocate("a", "main", {GPU: 4}, reusable=("first",))
    assert set(world.devices.held("a", "first")[GPU]) < set(world.devices.held("a", "main")[GPU])


def test_what_a_plugin_refuses_is_told_as_its_answer(world: World) -> None:
    offered(world.devices, Plugin(most=1))
    assert refused(world.devices, 2) == (
        "Allocate failed due to rpc error: code = Unknown desc = nvidia.com/gpu: too many, which is unexpected"
    )
    world.devices.allocate("b", "main", {GPU: 1})  # the refused one has kept nothing


def test_another_agent_knows_who_has_what_and_waits_for_the_plugin(world: World) -> None:
    offered(world.devices)
    world.devices.allocate("a", "main", {GPU: 1})
    held = world.devices.held("a", "main")
    later = world.reborn()
    assert (later.capacity(), later.allocatable()) == ({GPU: 0}, {GPU: 0})
    offered(later)
    assert later.held("a", "main") == held
    later.allocate("b", "main", {GPU: 3})
    assert "Available: 0" in refused(later, 1)


def test_a_container_sees_what_it_was_given_and_nothing_by_default(world: World) -> None:
    offered(world.devices)
    world.devices.allocate("a", "main", {GPU: 1})
    uuid = world.devices.gpus[0].uuid
    assert world.devices.environment("a", "main", {}) == {"NVIDIA_VISIBLE_DEVICES": uuid}
    nothing = {"NVIDIA_VISIBLE_DEVICES": "void", "CUDA_VISIBLE_DEVICES": ""}
    assert world.devices.environment("other", "main", {}) == nothing
    assert world.devices.programs("other", "main") is None


@pytest.mark.parametrize(
    ("said", "seen"),
    [("0", [0]), ("1,3", [1, 3]), ("all", [0, 1, 2, 3]), ("none", []), ("void", []), ("", [])],
    ids=["one", "two", "all", "none", "void", "empty"],
)
def test_a_pods_own_variable_says_what_it_sees(world: World, said: str, seen: list[int]) -> None:
    """As on a device of Azure Stack Edge, where nothing is asked of the device plugin."""
    visible = world.devices.visible("pod", "main", {"NVIDIA_VISIBLE_DEVICES": said})
    assert [gpu.number for gpu in visible.gpus] == seen
    assert world.devices.environment("pod", "main", {"NVIDIA_VISIBLE_DEVICES": said})["NVIDIA_VISIBLE_DEVICES"] == said


def test_a_gpu_that_isnt_there_keeps_the_container_from_starting(world: World) -> None:
    with pytest.raises(StartError, match="nvidia-container-cli: device error: 4: unknown device"):
        world.devices.environment("pod", "main", {"NVIDIA_VISIBLE_DEVICES": "4"})


def test_a_node_without_a_driver_shows_no_gpu_to_anybody(tmp_path: Path) -> None:
    world = World(tmp_path, pool(gpu_driver=False))
    assert world.devices.gpus == []
    said = {"NVIDIA_VISIBLE_DEVICES": "all"}  # stands as it was said, with nothing there that reads it
    assert world.devices.environment("pod", "main", said) == {**said, "CUDA_VISIBLE_DEVICES": ""}
    assert world.devices.environment("pod", "main", {})["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert world.devices.programs("pod", "main") is None


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


def test_what_is_kept_is_readable_as_json(world: World) -> None:
    offered(world.devices)
    world.devices.allocate("a", "main", {GPU: 1})
    kept = json.loads((world.folder / "node" / "devices.json").read_text(encoding="utf-8"))
    assert kept["registered"] == [GPU]
    assert list(kept["pods"]) == ["a"]


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
        held = [one for ids in (devices.held(pod, "main") for pod in asked) for one in ids.get(GPU, [])]
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
