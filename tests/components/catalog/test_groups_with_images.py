"""Container groups with their images: CUDA 9.0 of the first document, and what replaces a retired GPU with its price."""

from datetime import date

import pytest

from azure_gpu.catalog import container_groups
from azure_gpu.catalog.container_groups import Image
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services.container_instances import ContainerRequest, GroupRequest

DOCUMENT = date(2019, 4, 17)
TODAY = date(2026, 11, 21)
CONTAINER = ContainerRequest(
    name="gpucontainer",
    cpu=1,
    memory_gb=1.5,
    gpu_count=1,
    gpu_sku="K80",
    cpu_path="cpu",
    memory_path="memory",
    gpu_count_path="gpu.count",
    gpu_sku_path="gpu.sku",
)
GROUP = GroupRequest(
    location="eastus",
    os_type="Linux",
    in_virtual_network=False,
    containers=(CONTAINER,),
    location_path="location",
    os_type_path="os_type",
    network_path="subnet_id",
)
V100 = GROUP._replace(containers=(CONTAINER._replace(gpu_sku="V100"),))


def said(group: GroupRequest, image: str, as_of: date) -> list[Problem]:
    return container_groups.check(group, [Image(image, "image")], as_of, packaged())


@pytest.mark.parametrize(
    "image",
    [
        "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1",
        "microsoft/samples-tf-mnist-demo:gpu",
        "nvidia/cuda:9.0-base-ubuntu16.04",
        "tensorflow/tensorflow:1.12.0-gpu-py3",
        "example.azurecr.io/own:1",  # nothing is known of it
    ],
)
def test_the_documents_images_are_taken_at_its_date(image: str) -> None:
    assert said(GROUP, image, DOCUMENT) == []


@pytest.mark.parametrize("image", ["nvidia/cuda:10.1-base-ubuntu18.04", "nvidia/cuda:11.4.2-base-ubuntu20.04"])
def test_a_newer_cuda_than_9_0_is_refused_at_the_documents_date(image: str) -> None:
    [problem] = said(V100, image, DOCUMENT)
    assert (problem.code, problem.severity, problem.path) == (Code.WRONG_DRIVER, Severity.ERROR, "image")
    assert "up to 9.0" in problem.message


def test_cuda_11_is_taken_by_the_page_of_2022_and_a_warning_between_the_pages() -> None:
    image = "nvidia/cuda:11.4.2-base-ubuntu20.04"
    assert said(V100, image, date(2022, 6, 17)) == []
    [problem] = said(V100, image, date(2020, 6, 1))
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "2022-06-17" in problem.message


def test_cuda_12_was_never_taken() -> None:
    for day in (DOCUMENT, date(2020, 6, 1), date(2022, 6, 17), date(2024, 6, 1)):
        assert Code.WRONG_DRIVER in {problem.code for problem in said(V100, "nvidia/cuda:12.1.0-base-ubuntu22.04", day)}


def test_of_a_container_without_a_gpu_the_image_does_not_matter() -> None:
    plain = GROUP._replace(containers=(CONTAINER._replace(gpu_count=None, gpu_sku=""),))
    assert said(plain, "nvidia/cuda:12.1.0-base-ubuntu22.04", TODAY) == []


def test_a_retired_gpu_is_refused_with_what_runs_it_today_and_its_price() -> None:
    [problem] = said(GROUP, "k8s-gcrio.azureedge.net/cuda-vector-add:v0.1", TODAY)
    assert problem.code is Code.RETIRED
    assert problem.instead[:3] == ("Consumption-GPU-NC8as-T4", "Consumption-GPU-NC24-A100", "Standard_NC4as_T4_v3")
    assert "0.526 USD/hour (list price of 2026-06-18)" in problem.fix  # NC4as_T4_v3 in East US
    assert "Consumption-GPU-NC8as-T4: 1.5588 USD/hour" in problem.fix  # 0.000073 + 8 x 0.000024 + 56 x 0.000003 USD a second


def test_a_gpu_that_never_was_has_no_size_to_replace_it() -> None:
    assert container_groups.pool_sizes("A100", 1, "eastus", TODAY, packaged()) == ()


@pytest.mark.parametrize(
    ("location", "profiles", "elsewhere"),
    [
        ("eastus", ("Consumption-GPU-NC8as-T4", "Consumption-GPU-NC24-A100"), False),
        ("westeurope", ("Consumption-GPU-NC8as-T4",), False),  # T4 only
        ("northeurope", ("Consumption-GPU-NC8as-T4", "Consumption-GPU-NC24-A100"), True),  # neither is sold there
    ],
)
def test_the_serverless_profiles_named_are_those_of_the_region(location: str, profiles: tuple[str, ...], elsewhere: bool) -> None:
    [problem] = said(GROUP._replace(location=location), "own/image:1", TODAY)
    assert tuple(name for name in problem.instead if name.startswith("Consumption")) == profiles
    assert ("in another region" in problem.fix) == elsewhere
