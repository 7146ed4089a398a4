"""Images on the serverless GPUs of Container Apps."""

import pytest

from azure_gpu.catalog.container_jobs import check_image
from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.catalog.services.container_apps import PROFILES


@pytest.mark.parametrize(
    ("profile", "image", "codes"),
    [
        ("Consumption-GPU-NC8as-T4", "nvidia/cuda:9.2-base-ubuntu18.04", [Code.WRONG_DRIVER]),  # Turing is known from 10.0 on
        ("Consumption-GPU-NC8as-T4", "nvidia/cuda:10.0-base-ubuntu18.04", []),
        ("Consumption-GPU-NC24-A100", "nvidia/cuda:10.2-base-ubuntu18.04", [Code.WRONG_DRIVER]),  # Ampere from 11.0 on
        ("Consumption-GPU-NC24-A100", "nvidia/cuda:12.2.0-base-ubuntu22.04", []),  # the service runs the latest version
        ("Consumption-GPU-NC24-A100", "python:3.11", []),
        ("Consumption-GPU-NEWER", "nvidia/cuda:9.2-base-ubuntu18.04", []),
    ],
)
def test_an_image_is_warned_of_where_it_is_older_than_the_gpu(profile: str, image: str, codes: list[Code]) -> None:
    problems = check_image(profile, image, "jobs.one.image")
    assert [problem.code for problem in problems] == codes
    assert {problem.severity for problem in problems} <= {Severity.WARNING}


@pytest.mark.parametrize("profile", PROFILES)
def test_the_gpu_of_every_profile_is_known(profile: str) -> None:
    assert check_image(profile, "nvidia/cuda:8.0-base", "") != []
