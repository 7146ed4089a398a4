"""What clusters, attached machines, endpoints and deployments may say. Expectations are literals read in the sources."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machine_learning.compute import (
    ClusterRequest,
    MachineRequest,
    cluster_problems,
    is_duration,
    kind_problems,
    machine_problems,
)
from azure_gpu.catalog.services.machine_learning.deployments import (
    DeploymentRequest,
    EndpointRequest,
    deployment_problems,
    endpoint_problems,
)

TODAY = date(2026, 11, 20)


def cluster(**changed: Any) -> ClusterRequest:
    values: dict[str, Any] = {"maximum_nodes": 4, **changed}
    return ClusterRequest(
        minimum_path="minimum",
        maximum_path="maximum",
        idle_path="idle",
        priority_path="priority",
        image_path="image",
        **values,
    )


def machine(**changed: Any) -> MachineRequest:
    values: dict[str, Any] = {
        "address": "10.0.0.4",
        "user_name": "me",
        "has_password": False,
        "has_private_key": True,
        **changed,
    }
    return MachineRequest(
        path="machine", address_path="address", user_path="user", system_path="system", port_path="port", **values
    )


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


def test_what_no_rule_decides_by_is_kept_too() -> None:
    images = {fact.value for fact in facts.about("machine_learning.deployments") if fact.name.startswith("base image")}
    assert images == {
        "mcr.microsoft.com/azureml/minimal-py312-inference",
        "openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04",
        "openmpi5.0-cuda12.4-ubuntu22.04",
        "openmpi5.0-cuda12.6-ubuntu24.04",
    }


@given(st.text(max_size=20), st.integers(), st.none() | st.floats(), st.dates())
def test_odd_values_never_raise(text: str, number: int, seconds: float | None, day: date) -> None:
    problems = cluster_problems(cluster(minimum_nodes=number, maximum_nodes=number, idle_time=text, priority=text), day)
    problems += machine_problems(machine(address=text, user_name=text, ssh_port=number), day)
    problems += kind_problems(text, day, path="kind")
    problems += endpoint_problems(endpoint(name=text, auth_mode=text, kind=text, compute_kind=text), day)
    problems += deployment_problems(
        deployment(kind=text, name=text, endpoint_name=text, instances=number, request_timeout_s=seconds), day
    )
    assert all(problem.path and problem.message for problem in problems)


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_every_duration_in_days_hours_and_seconds_is_one(days: int, hours: int, seconds: int) -> None:
    assert is_duration(f"P{days}DT{hours}H{seconds}S")
    assert not is_duration(f"{days}DT{hours}H{seconds}S")
