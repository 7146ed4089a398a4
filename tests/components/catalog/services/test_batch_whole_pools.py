"""Everything against a Batch pool at once: its size, its packages, its start task."""

from datetime import date, timedelta
from typing import Any

import pytest

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.batch.pools import check, problems, use_of
from azure_gpu.catalog.services.batch.request import Mpi, PackageReference, PoolRequest, StartTask
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES

TODAY = date(2026, 11, 20)
PACKAGE = PackageReference("GPUDriver", "411.82")


def pool(**changed: Any) -> PoolRequest:
    values: dict[str, Any] = {
        "path": "pools.train",
        "size": SIZES.find("NC4as_T4_v3"),
        "region": "eastus",
        "image": ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404"),
        "dedicated_nodes": 1,
        "auto_storage": True,
        **changed,
    }
    return PoolRequest(**values)


def test_a_pool_of_today_has_nothing_against_it() -> None:
    assert problems(pool(), TODAY) == []


def test_the_size_is_refused_with_what_works_instead() -> None:
    (problem,) = errors(problems(pool(size=SIZES.find("NC6"), image=None), TODAY))
    assert (problem.path, problem.code, problem.instead[0]) == ("pools.train.size", Code.RETIRED, "Standard_NC4as_T4_v3")
    (problem,) = errors(problems(pool(rdma=True, inter_node=True), TODAY))
    assert (problem.path, problem.code) == ("pools.train.size", Code.IMPOSSIBLE)
    assert "has no InfiniBand" in problem.message
    assert check(pool(size=SIZES.find("NC6"), image=None), TODAY) == []


def test_the_region_is_reported_where_it_is_written() -> None:
    (problem,) = problems(pool(region="westindia", written={"region": "batch_account.location"}), TODAY)[:1]
    assert problem.path == "batch_account.location"
    use = use_of(pool(spot_nodes=2, dedicated_nodes=None))
    assert use is not None
    assert (use.region_path, use.spot, use.nodes) == ("pools.train.location", True, 2)
    assert problems(pool(size=None), TODAY) == []


@pytest.mark.parametrize("written", ["Standard_NC4as_T4", "Standard_D2s_v3", ""])
def test_a_size_that_isnt_known_is_said_where_it_is_written(written: str) -> None:
    (problem,) = problems(pool(size=None, size_name=written), TODAY)
    assert (problem.path, problem.value, problem.code) == ("pools.train.size", written, Code.UNKNOWN)
    assert problems(pool(size_name=written), TODAY) == []


def test_all_problems_come_at_once() -> None:
    asked = pool(
        size=SIZES.find("NV12s_v3"),
        name="with space",
        dedicated_nodes=-1,
        spot_nodes=-2,
        autoscale_formula="$TargetDedicatedNodes = 1;",
        evaluation_interval=timedelta(minutes=4),
        mpi=Mpi.MICROSOFT_MPI,
        task_slots=3,
        cloud_services=True,
        communication="Classic",
        auto_storage=False,
        package_references=(PACKAGE,),
        start_task=StartTask(command_line="/bin/sh -c ./x", installs_driver=True),
    )
    paths = {problem.path.removeprefix("pools.train.") for problem in errors(problems(asked, TODAY))}
    assert paths == {
        *("size", "name", "dedicated_nodes", "spot_nodes", "autoscale_formula", "evaluation_interval", "mpi", "inter_node"),
        *("task_slots", "cloud_services", "communication", "packages", "start_task.elevated"),
    }


def only(found: list[Problem], key: str, code: Code) -> Problem:
    (problem,) = found
    assert (problem.path, problem.code) == (f"pools.train.{key}", code)
    return problem


def test_packages_have_names_and_one_version_each() -> None:
    assert problems(pool(package_references=(PACKAGE, PackageReference("App"))), TODAY) == []
    named = pool(package_references=(PackageReference("GPU.Driver", "1"),))
    only(problems(named, TODAY), "packages.GPU.Driver", Code.INVALID)
    only(problems(pool(package_references=(PackageReference("App", ".1"),)), TODAY), "packages.App", Code.INVALID)
    twice = pool(package_references=(PACKAGE, PackageReference("gpudriver", "470.42")))
    only(problems(twice, TODAY), "packages.gpudriver", Code.IMPOSSIBLE)
    eleven = pool(package_references=tuple(PackageReference(f"App{number}") for number in range(11)))
    only(problems(eleven, TODAY), "packages", Code.IMPOSSIBLE)
    only(problems(pool(package_references=(PACKAGE,), auto_storage=False), TODAY), "packages", Code.IMPOSSIBLE)


@pytest.mark.parametrize(
    ("system", "command", "missing"),
    [
        (OperatingSystem.LINUX, "/bin/sh -c '$AZ_BATCH_APP_PACKAGE_GPUDriver_411_82/x'", ""),
        (OperatingSystem.LINUX, "/bin/sh -c '$AZ_BATCH_APP_PACKAGE_GPUDriver/x'", ""),
        (OperatingSystem.LINUX, "/bin/sh -c '$AZ_BATCH_APP_PACKAGE_gpudriver_411_82/x'", "AZ_BATCH_APP_PACKAGE_gpudriver_411_82"),
        (OperatingSystem.LINUX, "/bin/sh -c '$AZ_BATCH_APP_PACKAGE_GPUDriver_412/x'", "AZ_BATCH_APP_PACKAGE_GPUDriver_412"),
        (OperatingSystem.WINDOWS, 'cmd /c "%AZ_BATCH_APP_PACKAGE_GPUDriver#411.82%\\x.exe"', ""),
        (OperatingSystem.WINDOWS, 'cmd /c "%az_batch_app_package_gpudriver#411.82%\\x.exe"', ""),
        (OperatingSystem.WINDOWS, 'cmd /c "%AZ_BATCH_APP_PACKAGE_GPUDriver#412%\\x.exe"', "AZ_BATCH_APP_PACKAGE_GPUDriver#412"),
    ],
)
def test_a_start_task_uses_packages_that_the_pool_has(system: OperatingSystem, command: str, missing: str) -> None:
    task = StartTask(command_line=command)
    asked = pool(package_references=(PACKAGE,), start_task=task, operating_system=system, image=None, size=None)
    found = problems(asked, TODAY)
    assert [problem.value for problem in found] == ([missing] if missing else [])
    assert all(problem.severity is Severity.WARNING for problem in found)


@pytest.mark.parametrize(
    "command",
    [
        "docker pull nvcr.io/nvidia/pytorch:25.09-py3",
        "apt-get update && apt-get -y dist-upgrade",
        "pip install torch",
        "pip3 install -r requirements.txt",
        "conda env create -f environment.yml",
        "git clone https://example.org/x && make -j 8",
        "sh cuda_12.4.0_550.54.14_linux.run --silent",
    ],
)
def test_a_long_start_task_is_warned_about(command: str) -> None:
    asked = pool(start_task=StartTask(command_line=f"/bin/bash -c '{command}'"))
    problem = only(problems(asked, TODAY), "start_task.command_line", Code.UNKNOWN)
    assert problem.severity is Severity.WARNING
    assert "gallery image" in problem.fix
    assert problems(asked._replace(start_task=StartTask(f"/bin/bash -c '{command}'", wait_for_success=False)), TODAY) == []


@pytest.mark.parametrize("command", ["./setup.sh", "mkdir -p /mnt/cache", "echo makefile > x", "apt-get install -y jq"])
def test_a_short_start_task_is_not(command: str) -> None:
    assert problems(pool(start_task=StartTask(command_line=f"/bin/bash -c '{command}'")), TODAY) == []
