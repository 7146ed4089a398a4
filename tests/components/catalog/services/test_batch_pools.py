"""Whole Batch pools: each rule both ways. Expectations are literals from the service's documentation."""

from datetime import date
from typing import Any

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.batch.pools import check
from azure_gpu.catalog.services.batch.request import AllocationMode, PoolRequest
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.sizes import SIZES

TODAY = date(2026, 11, 20)
HPC_2404 = ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404")


def pool(**changed: Any) -> PoolRequest:
    values: dict[str, Any] = {
        "path": "batch_pools.train",
        "account_name": "trainbatch",
        "name": "gpu",
        "size": SIZES.find("NC4as_T4_v3"),
        "image": HPC_2404,
        "node_agent": "batch.node.ubuntu 24.04",
        "dedicated_nodes": 1,
        **changed,
    }
    return PoolRequest(**values)


def only(problems: list[Problem], key: str, code: Code = Code.IMPOSSIBLE) -> Problem:
    (problem,) = problems
    assert (problem.path, problem.code) == (f"batch_pools.train.{key}", code)
    return problem


def test_a_formula_has_at_most_8_kib_and_100_statements() -> None:
    def scaled(formula: str) -> list[Problem]:
        return check(pool(dedicated_nodes=None, autoscale_formula=formula), TODAY)

    assert scaled("a=1;" * 100 + "// one; two; three") == []
    only(scaled("a=1;" * 101), "autoscale_formula")
    only(scaled("a=" + "1" * 8191), "autoscale_formula")


def test_low_priority_nodes_end_and_come_back_as_spot_nodes() -> None:
    image = ImageReference("Canonical", "UbuntuServer", "18.04-LTS")
    extension = ExtensionRequest(type="NvidiaGpuDriverLinux", settings={}, path="pool.extensions.0")
    values = {"image": image, "node_agent": "batch.node.ubuntu 18.04", "extensions": (extension,), "spot_nodes": 2}

    def of_spot(day: date, mode: AllocationMode = AllocationMode.BATCH_SERVICE) -> list[Problem]:
        found = check(pool(**values, allocation_mode=mode), day)
        return [problem for problem in found if problem.path.endswith("spot_nodes")]

    assert of_spot(date(2025, 4, 2)) == []
    only(of_spot(date(2025, 4, 3)), "spot_nodes", Code.RETIRING)
    retired = only(of_spot(date(2025, 10, 1)), "spot_nodes", Code.RETIRED)
    assert retired.severity is Severity.WARNING
    assert of_spot(date(2026, 3, 1)) == []
    assert of_spot(date(2025, 10, 1), AllocationMode.USER_SUBSCRIPTION) == []


def test_all_problems_come_at_once() -> None:
    request = pool(
        account_name="X", task_slots=0, dedicated_nodes=None, communication="Classic", packages=11, windows_configuration=True
    )
    paths = sorted(problem.path.removeprefix("batch_pools.train.") for problem in errors(check(request, TODAY)))
    assert paths == [
        "account_name",
        "communication",
        "dedicated_nodes",
        "packages",
        "packages",
        "task_slots",
        "windows_configuration",
    ]
