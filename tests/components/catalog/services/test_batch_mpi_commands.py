"""The commands of multi-instance tasks, by MPI and operating system. They are run here where that is possible."""

import shlex
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.batch.mpi_commands import RUNS_UNDER, Mpi, commands
from azure_gpu.catalog.services.batch.pools import check
from azure_gpu.catalog.services.batch.request import PoolRequest, StartTask
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES

TODAY = date(2026, 11, 20)
DOCUMENT = date(2018, 12, 17)
LINUX, WINDOWS = OperatingSystem.LINUX, OperatingSystem.WINDOWS


def test_microsoft_mpi_is_started_as_the_documentation_does() -> None:
    made = commands(Mpi.MICROSOFT_MPI, WINDOWS, "MyMPIApplication.exe")
    assert made.coordination == 'cmd /c start cmd /c ""%MSMPI_BIN%\\smpd.exe"" -d'
    assert made.application == ('cmd /c ""%MSMPI_BIN%\\mpiexec.exe"" -c 1 -wdir %AZ_BATCH_TASK_SHARED_DIR% MyMPIApplication.exe')
    assert dict(made.environment) == {}
    assert " -c 4 " in commands(Mpi.MICROSOFT_MPI, WINDOWS, "x.exe", processes_per_node=4).application


def test_intel_mpi_on_windows_is_given_the_nodes_in_the_form_of_ccp_nodes() -> None:
    made = commands(Mpi.INTEL_MPI, WINDOWS, "app.exe")
    assert "-hosts %CCP_NODES%" in made.application
    assert made.coordination.startswith("cmd /c start cmd /c")


@pytest.mark.parametrize(("mpi", "system"), [(Mpi.MICROSOFT_MPI, LINUX), (Mpi.HPCX, WINDOWS)])
def test_an_mpi_that_doesnt_run_there_has_no_commands(mpi: Mpi, system: OperatingSystem) -> None:
    assert system not in RUNS_UNDER[mpi]
    with pytest.raises(ValueError, match="doesn't run under"):
        commands(mpi, system, "app")


def played(mpi: Mpi, program: str, tmp_path: Path, hosts: str = "10.0.0.4,10.0.0.5", **changed: Any) -> list[str]:
    """What `mpirun` is given when the application command runs; the one here writes its arguments down."""
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "mpirun").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (fake / "find").write_text(f"#!/bin/sh\necho {tmp_path}/mpivars.sh\n")
    (tmp_path / "mpivars.sh").write_text("")
    for name in ("mpirun", "find"):
        (fake / name).chmod(0o755)
    made = commands(mpi, LINUX, program, **changed)
    environment = {"PATH": f"{fake}:/usr/bin:/bin", "AZ_BATCH_HOST_LIST": hosts, "AZ_BATCH_TASK_SHARED_DIR": str(tmp_path)}
    coordination = subprocess.run(shlex.split(made.coordination), env=environment, check=False)
    assert coordination.returncode == 0
    done = subprocess.run(
        shlex.split(made.application), env={**environment, **made.environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.slow
def test_hpcx_gives_each_node_its_processes(tmp_path: Path) -> None:
    assert played(Mpi.HPCX, "python3 ring.py 'two words' \"$AZ_BATCH_HOST_LIST\"", tmp_path, processes_per_node=2) == [
        *("-np", "4", "--host", "10.0.0.4:2,10.0.0.5:2", "--map-by", "ppr:2:node", "-x", "PATH", "-wdir", str(tmp_path)),
        *("python3", "ring.py", "two words", "10.0.0.4,10.0.0.5"),
    ]


@pytest.mark.slow
def test_hpcx_runs_on_one_node_too(tmp_path: Path) -> None:
    assert played(Mpi.HPCX, "app", tmp_path, hosts="10.0.0.4")[:4] == ["-np", "1", "--host", "10.0.0.4:1"]


def test_hpcx_may_run_as_root() -> None:
    assert dict(commands(Mpi.HPCX, LINUX, "app").environment) == {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


@pytest.mark.slow
def test_intel_mpi_on_linux_takes_the_host_list_as_it_is(tmp_path: Path) -> None:
    assert played(Mpi.INTEL_MPI, "app -x", tmp_path, processes_per_node=16) == [
        *("-np", "32", "-ppn", "16", "-hosts", "10.0.0.4,10.0.0.5", "-wdir", str(tmp_path), "app", "-x"),
    ]


def test_intel_mpi_is_told_the_network_of_before_sr_iov() -> None:
    assert commands(Mpi.INTEL_MPI, LINUX, "app", before_sr_iov=True).environment["I_MPI_FABRICS"] == "shm:dapl"
    assert commands(Mpi.INTEL_MPI, LINUX, "app").environment["I_MPI_FABRICS"] == "shm:ofi"


def of_mpi(size: str, flavour: Mpi, day: date = TODAY, **changed: Any) -> list[Problem]:
    values: dict[str, Any] = {
        "path": "pool",
        "size": SIZES.find(size),
        "image": ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404"),
        "dedicated_nodes": 2,
        "inter_node": True,
        "rdma": True,
        **changed,
    }
    return check(PoolRequest(mpi=flavour, **values), day)


def test_mpi_needs_communication_and_one_slot_by_its_name_alone() -> None:
    assert of_mpi("HB120rs_v3", Mpi.HPCX) == []
    paths = [problem.path for problem in of_mpi("HB120rs_v3", Mpi.HPCX, rdma=False, inter_node=False, task_slots=2)]
    assert paths == ["pool.inter_node", "pool.task_slots"]


def test_an_mpi_of_the_other_system_is_refused() -> None:
    (problem,) = of_mpi("HB120rs_v3", Mpi.MICROSOFT_MPI)
    assert (problem.path, problem.code, problem.allowed) == ("pool.mpi", Code.IMPOSSIBLE, "intel_mpi, hpcx")


def test_on_the_network_before_sr_iov_linux_needs_intel_mpi() -> None:
    centos = ImageReference("OpenLogic", "CentOS-HPC", "7.4")
    (problem,) = of_mpi("H16r", Mpi.HPCX, DOCUMENT, image=centos)
    assert (problem.path, problem.allowed) == ("pool.mpi", "intel_mpi")
    assert of_mpi("H16r", Mpi.INTEL_MPI, DOCUMENT, image=centos) == []


def test_an_image_without_the_mpi_is_a_warning_unless_a_start_task_installs_it() -> None:
    plain = ImageReference("canonical", "ubuntu-24_04-lts", "server")
    (problem,) = of_mpi("HB120rs_v3", Mpi.HPCX, image=plain, rdma=False)
    assert (problem.path, problem.severity) == ("pool.image", Severity.WARNING)
    assert problem.instead[0] == "microsoft-dsvm/ubuntu-hpc/2404"
    task = StartTask(command_line="/bin/sh -c ./install-mpi.sh")
    assert of_mpi("HB120rs_v3", Mpi.HPCX, image=plain, rdma=False, start_task=task) == []


def test_a_formulas_most_nodes_are_held_against_the_limit_of_such_pools() -> None:
    scaled = {"dedicated_nodes": None, "autoscale_formula": "$TargetDedicatedNodes = 1;"}
    assert of_mpi("HB120rs_v3", Mpi.HPCX, most_nodes=100, **scaled) == []
    (problem,) = of_mpi("HB120rs_v3", Mpi.HPCX, most_nodes=101, **scaled)
    assert (problem.path, problem.allowed) == ("pool.autoscale_formula", "at most 100")
