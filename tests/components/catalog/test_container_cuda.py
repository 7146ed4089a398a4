"""Images on the drivers of services and on GPUs. Expectations are literals of the first document and of NVIDIA's tables."""

from datetime import date

import pytest

from azure_gpu.catalog.container_cuda import check_container, cuda_at
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.sizes import size_tables
from azure_gpu.catalog.sizes.model import Gpu
from azure_gpu.catalog.sources import observed

DOCUMENT = observed("the document of 2019-04-17", 2019, 4, 17)
OWN = observed("a test", 2026, 1, 1)
MODELS = size_tables.packaged().gpus
GPUS = list(MODELS.values())
A100_80 = MODELS["NVIDIA A100 80GB"]
GB200 = MODELS["NVIDIA GB200"]
H100 = MODELS["NVIDIA H100 80GB SXM"]
K80 = MODELS["NVIDIA Tesla K80 (half a card)"]
M60 = MODELS["NVIDIA Tesla M60 (half a card)"]
MI300X = MODELS["AMD Instinct MI300X"]
P100 = MODELS["NVIDIA Tesla P100"]
T4 = MODELS["NVIDIA T4"]
V100 = MODELS["NVIDIA Tesla V100 16GB"]
V710 = MODELS["AMD Radeon Pro V710"]


def only(problems: list[Problem]) -> Problem:
    (problem,) = problems
    return problem


# --- images on a service's driver ---


def test_before_the_first_text_that_text_counts() -> None:
    assert cuda_at(((DOCUMENT, "9.0"),), date(2017, 1, 1)) == (DOCUMENT, "9.0")
    assert cuda_at((), date(2017, 1, 1)) is None


def test_an_unknown_image_or_service_is_let_through() -> None:
    for image, highest in (("example.azurecr.io/train:1", "9.0"), ("nvidia/cuda:12.4.1-base-ubuntu22.04", "")):
        assert check_container(image, service="Batch", highest_cuda=highest, source=OWN, gpu=None, path="image") == []


# --- images on GPUs ---


@pytest.mark.parametrize(
    ("image", "gpu"),
    [
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", K80),
        ("nvidia/cuda:13.0.0-base-ubuntu24.04", V100),
        ("nvidia/cuda:13.0.0-base-ubuntu24.04", P100),
        ("nvidia/cuda:13.0.0-base-ubuntu24.04", M60),
        ("nvidia/cuda:12.4.1-base-ubuntu22.04", MI300X),
        ("nvidia/cuda:9.0-base-ubuntu16.04", V710),
    ],
)
def test_an_image_whose_cuda_version_does_not_build_for_the_gpu_is_refused(image: str, gpu: Gpu) -> None:
    problem = only(check_container(image, service="AKS", highest_cuda="13.0", source=OWN, gpu=gpu, path="image"))
    assert (problem.code, problem.severity) == (Code.WRONG_DRIVER, Severity.ERROR)
    assert gpu.model in problem.message


@pytest.mark.parametrize(
    ("image", "gpu"),
    [
        ("nvidia/cuda:11.8.0-base-ubuntu22.04", K80),
        ("nvidia/cuda:12.9.1-base-ubuntu24.04", V100),
        ("nvidia/cuda:13.0.0-base-ubuntu24.04", T4),
        ("nvidia/cuda:13.0.0-base-ubuntu24.04", H100),
        ("nvidia/cuda:11.8.0-base-ubuntu22.04", H100),
        ("nvidia/cuda:12.9.1-base-ubuntu24.04", GB200),
    ],
)
def test_an_image_whose_cuda_version_builds_for_the_gpu_is_taken(image: str, gpu: Gpu) -> None:
    assert check_container(image, service="AKS", highest_cuda="13.0", source=OWN, gpu=gpu, path="image") == []


@pytest.mark.parametrize(("image", "gpu"), [("nvidia/cuda:9.0-base", A100_80), ("nvidia/cuda:11.4.3-base-ubuntu20.04", H100)])
def test_an_image_that_is_older_than_the_gpu_is_warned_of(image: str, gpu: Gpu) -> None:
    problem = only(check_container(image, service="AKS", highest_cuda="13.0", source=OWN, gpu=gpu, path="image"))
    assert (problem.code, problem.severity) == (Code.WRONG_DRIVER, Severity.WARNING)
    assert "may start slowly or not run" in problem.message


# --- whatever is asked ---


def test_a_gpu_of_amd_never_runs_cuda() -> None:
    for gpu in GPUS:
        found = check_container("nvidia/cuda:12.4.1-base", service="x", highest_cuda="13.1", source=OWN, gpu=gpu, path="image")
        refused = [problem for problem in found if problem.severity is Severity.ERROR]
        assert bool(refused) is (gpu.vendor == "AMD" or gpu.architecture == "Kepler")
