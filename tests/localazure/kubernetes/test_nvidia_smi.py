"""`nvidia-smi` in containers of GPUs that are acted out: its formats, what a container sees, and the processes on a GPU."""

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from localazure.kubernetes import nvidia_smi
from localazure.kubernetes.nvidia_smi import Process
from tests.localazure.kubernetes.gpu_world import World, pool
from tests.support.embedded import until
from tests.support.patience import SECONDS

MEMORY = "--query-gpu=index,uuid,name,utilization.gpu,memory.used,memory.total"


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path, pool(name="two", size="Standard_NC48ads_A100_v4"))
    found.devices.environment("a", "main", {"NVIDIA_VISIBLE_DEVICES": "0"})
    found.devices.environment("b", "main", {"NVIDIA_VISIBLE_DEVICES": "0,1"})
    found.devices.environment("c", "main", {"NVIDIA_VISIBLE_DEVICES": "1"}, host_pid=True)
    return found


def asked(world: World, container: str, *arguments: str, processes: list[Process] | None = None) -> str:
    return nvidia_smi.answer(
        world.devices.programs_of.state(), f"{container}/main", list(arguments), look=lambda _: processes or []
    )


def process(pid: int, container: str, memory: int, share: float) -> Process:
    one = Process(pid, f"program-{pid}", f"{container}/main", memory, 0)
    one.share = share
    return one


def test_a_container_lists_the_gpus_that_it_sees_counting_from_0(world: World) -> None:
    first, second = world.devices.gpus
    assert asked(world, "b", "-L").splitlines() == [
        f"GPU 0: NVIDIA A100 80GB PCIe (UUID: {first.uuid})",
        f"GPU 1: NVIDIA A100 80GB PCIe (UUID: {second.uuid})",
    ]
    assert asked(world, "c", "-L") == f"GPU 0: NVIDIA A100 80GB PCIe (UUID: {second.uuid})"


def test_instances_are_listed_below_their_gpu(tmp_path: Path) -> None:
    world = World(tmp_path, pool(name="mig", size="Standard_NC24ads_A100_v4", mig_profile="MIG3g"))
    (gpu,) = world.devices.gpus
    world.devices.environment("a", "main", {"NVIDIA_VISIBLE_DEVICES": gpu.instances[1].uuid})
    assert asked(world, "a", "-L").splitlines()[1:] == [f"  MIG 3g.40gb     Device  0: (UUID: {gpu.instances[1].uuid})"]


def test_queries_are_csv_with_or_without_head_and_units(world: World) -> None:
    rows = asked(world, "a", MEMORY, "--format=csv").splitlines()
    assert rows[0] == "index, uuid, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]"
    assert rows[1] == f"0, {world.devices.gpus[0].uuid}, NVIDIA A100 80GB PCIe, 0 %, 0 MiB, 81920 MiB"
    assert asked(world, "a", "--query-gpu=memory.total", "--format=csv,noheader,nounits") == "81920"
    assert asked(world, "a", "-i", "0", "--query-gpu", "name", "--format", "csv,noheader") == "NVIDIA A100 80GB PCIe"


def test_what_processes_use_is_what_their_gpus_show(world: World) -> None:
    running = [process(10, "a", 300, 0.25), process(11, "a", 100, 0.5), process(12, "b", 50, 1.0), process(13, "c", 7, 0.0)]
    rows = asked(world, "b", "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits", processes=running)
    assert list(csv.reader(io.StringIO(rows), skipinitialspace=True)) == [["100", "425"], ["50", "32"]]


def test_a_container_is_shown_its_own_processes_and_with_host_pid_all(world: World) -> None:
    running = [process(10, "a", 300, 0.25), process(12, "b", 50, 1.0), process(13, "c", 7, 0.0)]

    def shown(container: str) -> list[list[str]]:
        lines = asked(world, container, processes=running).splitlines()
        return [line.split()[4:-1] for line in lines if "program-" in line]

    assert shown("a") == [["10", "C", "program-10", "300MiB"]]
    assert shown("c") == [["12", "C", "program-12", "25MiB"], ["13", "C", "program-13", "7MiB"]]
    assert "No running processes found" in asked(world, "a")


def test_the_table_has_lines_of_one_width(world: World) -> None:
    table = asked(world, "b", processes=[process(12, "b", 50, 1.0)])
    assert {len(line) for line in table.splitlines()[1:] if line} == {91}
    assert "NVIDIA-SMI 580.159.04" in table
    assert "50%" in table
    assert "program-12" in table


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-q"], "Invalid combination of input arguments"),
        (["--query-gpu=size", "--format=csv"], 'Field "size" is not a valid field to query.'),
        (["--query-gpu=name"], '"--format=" switch is missing'),
        (["-i", "7", "-L"], "No devices were found"),
    ],
    ids=["other", "field", "format", "index"],
)
def test_what_it_doesnt_answer_it_refuses(world: World, arguments: list[str], said: str) -> None:
    with pytest.raises(nvidia_smi.WrongUseError, match=said):
        asked(world, "a", *arguments)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes of containers are found in /proc")
def test_the_program_on_a_containers_path_finds_the_containers_processes(world: World) -> None:
    folder = world.devices.programs("a", "main")
    assert folder is not None
    env = {"PATH": f"{folder}:{os.environ['PATH']}"}
    busy = subprocess.Popen([sys.executable, "-c", "print('up', flush=True)\nwhile True: pass"], env=env, stdout=subprocess.PIPE)
    try:
        assert busy.stdout is not None
        busy.stdout.readline()
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
        )
        assert 0 < int(done.stdout) < 2000
        # Where many others run, it may get no time within one sample.
        (found,) = until(
            lambda: [each for each in nvidia_smi.sampled(str(folder.parents[1])) if each.share > 0], "it has had time"
        )
        assert (found.pid, found.container) == (busy.pid, "a/main")
    finally:
        busy.kill()
        busy.communicate()


def test_a_pod_that_is_gone_leaves_nothing(world: World) -> None:
    folder = world.devices.programs("a", "main")
    assert folder is not None
    world.devices.release("a")
    assert not folder.exists()
    assert world.devices.programs("a", "main") is None
