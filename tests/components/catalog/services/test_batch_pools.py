"""Whole Batch pools: each rule both ways. Expectations are literals from the service's documentation."""

from datetime import date
from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.batch.pools import check
from azure_gpu.catalog.services.batch.request import AllocationMode, ContainerTasks, ImageKind, PoolRequest, StartTask
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.services.vm_images import ImageReference, find
from azure_gpu.catalog.size_use import OperatingSystem
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


@given(
    size=st.one_of(st.none(), st.sampled_from(list(SIZES))),
    image=st.one_of(st.none(), st.sampled_from([image.reference for image in IMAGES])),
    operating_system=st.sampled_from(list(OperatingSystem)),
    allocation_mode=st.sampled_from(list(AllocationMode)),
    image_kind=st.sampled_from(list(ImageKind)),
    dedicated_nodes=st.one_of(st.none(), st.integers()),
    spot_nodes=st.one_of(st.none(), st.integers()),
    task_slots=st.integers(),
    packages=st.integers(),
    node_agent=st.text(max_size=20),
    account_name=st.text(max_size=30),
    autoscale_formula=st.text(max_size=50),
    communication=st.text(max_size=10),
    evaluation_interval=st.one_of(st.none(), st.timedeltas()),
    resize_timeout=st.one_of(st.none(), st.timedeltas()),
    inter_node=st.booleans(),
    multi_instance=st.booleans(),
    rdma=st.booleans(),
    cloud_services=st.booleans(),
    start_task=st.one_of(st.none(), st.builds(StartTask, command_line=st.text(), driver_version=st.text(max_size=8))),
    containers=st.one_of(st.none(), st.builds(ContainerTasks, type=st.text(), run_options=st.text())),
    day=st.dates(date(2000, 1, 1), date(2050, 1, 1)),
)
def test_nothing_raises_and_every_problem_has_path_message_and_a_known_proposal(day: date, **values: Any) -> None:
    for problem in check(PoolRequest(path="pool", **values), day):
        assert problem.path.startswith("pool.")
        assert problem.message
        for name in problem.instead:
            if "/" in name:
                assert find(ImageReference(*name.split("/")), IMAGES) is not None
