"""Everything against a Batch pool at once: its size, its packages, its start task."""

from datetime import date, timedelta
from typing import Any

import pytest

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.batch.pools import problems
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
