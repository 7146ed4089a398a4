"""What clusters, attached machines, endpoints and deployments may say. Expectations are literals read in the sources."""

from datetime import date
from typing import Any

import pytest

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machine_learning.deployments import (
    DeploymentRequest,
    EndpointRequest,
    deployment_problems,
    endpoint_problems,
)

TODAY = date(2026, 11, 20)


def endpoint(**changed: Any) -> EndpointRequest:
    values: dict[str, Any] = {"name": "resnet", "auth_mode": "AADToken", "kind": "Managed", **changed}
    return EndpointRequest(
        name_path="name",
        auth_path="auth",
        kind_path="kind",
        compute_path="compute",
        **values,
    )


def deployment(**changed: Any) -> DeploymentRequest:
    values: dict[str, Any] = {"kind": "Managed", "name": "blue", "endpoint_name": "resnet", **changed}
    return DeploymentRequest(name_path="name", instances_path="instances", timeout_path="timeout", **values)


def paths(problems: list[Problem]) -> list[str]:
    return [problem.path for problem in problems]


@pytest.mark.parametrize("name", ["ab", "a" * 33, "1abc", "a--b", "-abc", "abc-", "a_bc", "", "abc\n"])
def test_names_that_do_not_fit(name: str) -> None:
    assert paths(endpoint_problems(endpoint(name=name), TODAY)) == ["name"]
    assert paths(deployment_problems(deployment(name=name), TODAY)) == ["name"]
