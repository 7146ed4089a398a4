"""The engine of a review runs once more where a provider's process died, and only there."""

import subprocess

import pytest

from azure_gpu_operations.review import base


@pytest.mark.parametrize(
    ("codes", "said", "ran"),
    [
        ([1, 0], "pulumi-resource-kubernetes exited prematurely", 2),
        ([1], "error: 409 Conflict", 1),
        ([0], "exited prematurely", 1),
    ],
)
def test_a_provider_that_died_gets_a_second_try(codes: list[int], said: str, ran: int) -> None:
    done = [subprocess.CompletedProcess(["pulumi"], code, stdout=said, stderr="") for code in codes]
    tried = iter(done)
    found = base._twice(lambda: next(tried))
    assert found is done[ran - 1]
