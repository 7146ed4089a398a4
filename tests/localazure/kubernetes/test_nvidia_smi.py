"""`nvidia-smi` in containers of GPUs that are acted out: its formats, what a container sees, and the processes on a GPU."""

import csv
import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from localazure.kubernetes import nvidia_smi
from localazure.kubernetes.nvidia_smi import Process
from tests.localazure.kubernetes.gpu_world import World, pool
from tests.support.embedded import until
from tests.support.patience import SECONDS
from tests.support.tables import of_table


@pytest.fixture
def world(tmp_path: Path) -> World:
    return of_two(tmp_path)


def of_two(folder: Path) -> World:
    found = World(folder, pool(name="two", size="Standard_NC48ads_A100_v4"))
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


@of_table("arguments", "container", "told")
def test_what_it_answers(arguments: str, container: str, told: str) -> None:
    """In braces: the ids of the node's GPUs, and those of the instances of `mig`'s."""
    with tempfile.TemporaryDirectory() as folder:
        world = of_two(Path(folder) / "two")
        mig = World(Path(folder) / "mig", pool(name="mig", size="Standard_NC24ads_A100_v4", mig_profile="MIG3g"))
        (gpu,) = mig.devices.gpus
        mig.devices.environment("mig", "main", {"NVIDIA_VISIBLE_DEVICES": gpu.instances[1].uuid})
        ids = {"gpus": [one.uuid for one in world.devices.gpus], "mig": [gpu.uuid, *(one.uuid for one in gpu.instances)]}
        assert asked(mig if container == "mig" else world, container, *arguments.split()) == told.format(**ids)


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
