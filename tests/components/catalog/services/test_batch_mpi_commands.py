"""The commands of multi-instance tasks, by MPI and operating system. They are run here where that is possible."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.catalog.services.batch.mpi import RUNS_UNDER, Mpi, commands
from azure_gpu.catalog.size_use import OperatingSystem

LINUX, WINDOWS = "Linux", "Windows"


@pytest.mark.parametrize(("mpi", "system"), [("microsoft_mpi", LINUX), ("hpcx", WINDOWS)])
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
    assert played("hpcx", "python3 ring.py 'two words' \"$AZ_BATCH_HOST_LIST\"", tmp_path, processes_per_node=2) == [
        *("-np", "4", "--host", "10.0.0.4:2,10.0.0.5:2", "--map-by", "ppr:2:node", "-x", "PATH", "-wdir", str(tmp_path)),
        *("python3", "ring.py", "two words", "10.0.0.4,10.0.0.5"),
    ]


@pytest.mark.slow
def test_hpcx_runs_on_one_node_too(tmp_path: Path) -> None:
    assert played("hpcx", "app", tmp_path, hosts="10.0.0.4")[:4] == ["-np", "1", "--host", "10.0.0.4:1"]


def test_hpcx_may_run_as_root() -> None:
    assert dict(commands("hpcx", LINUX, "app").environment) == {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }


@pytest.mark.slow
def test_intel_mpi_on_linux_takes_the_host_list_as_it_is(tmp_path: Path) -> None:
    assert played("intel_mpi", "app -x", tmp_path, processes_per_node=16) == [
        *("-np", "32", "-ppn", "16", "-hosts", "10.0.0.4,10.0.0.5", "-wdir", str(tmp_path), "app", "-x"),
    ]


def test_intel_mpi_is_told_the_network_of_before_sr_iov() -> None:
    assert commands("intel_mpi", LINUX, "app", before_sr_iov=True).environment["I_MPI_FABRICS"] == "shm:dapl"
    assert commands("intel_mpi", LINUX, "app").environment["I_MPI_FABRICS"] == "shm:ofi"
