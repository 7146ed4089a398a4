"""What clusters, attached machines, endpoints and deployments may say. Expectations are literals read in the sources."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.problems import Code, Problem, Severity
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


# pulumi-azure-native 3.29.0: maxNodeCount is the one that is needed
def test_a_cluster_needs_its_largest_number_of_nodes_and_may_shrink_to_none() -> None:
    assert cluster_problems(cluster(minimum_nodes=0), TODAY) == []
    assert cluster_problems(cluster(minimum_nodes=4), TODAY) == []
    assert paths(cluster_problems(cluster(maximum_nodes=None), TODAY)) == ["maximum"]
    assert paths(cluster_problems(cluster(maximum_nodes=0), TODAY)) == ["maximum"]
    assert paths(cluster_problems(cluster(minimum_nodes=-1), TODAY)) == ["minimum"]
    assert paths(cluster_problems(cluster(minimum_nodes=5), TODAY)) == ["minimum"]


@pytest.mark.parametrize("text", ["PT120S", "PT15M", "PT2H", "P1D", "P1DT2H3M4S", "PT0.5S", "P2W"])
def test_the_idle_time_is_a_duration_of_iso_8601(text: str) -> None:
    assert cluster_problems(cluster(idle_time=text), TODAY) == []


@pytest.mark.parametrize("text", ["120", "120s", "P", "PT", "PT2X", "pt120s", "", "1D", "P1DT"])
def test_another_idle_time_is_refused(text: str) -> None:
    (problem,) = cluster_problems(cluster(idle_time=text), TODAY)
    assert (problem.path, problem.value, problem.code) == ("idle", text, Code.IMPOSSIBLE)


def test_nodes_are_dedicated_or_of_low_priority() -> None:
    assert cluster_problems(cluster(priority="Dedicated"), TODAY) == []
    (unknown,) = cluster_problems(cluster(priority="Spot"), TODAY)
    assert (unknown.path, unknown.allowed) == ("priority", "Dedicated, LowPriority")


# MicrosoftDocs/azure-ai-docs pull request 806, 2026-08-19
def test_low_priority_became_spot_and_is_taken_since() -> None:
    for day in (date(2026, 4, 1), TODAY):
        assert cluster_problems(cluster(priority="LowPriority"), day) == []
    for day in (date(2025, 10, 2), date(2026, 3, 31)):
        (near,) = cluster_problems(cluster(priority="LowPriority"), day)
        assert (near.code, near.severity) == (Code.RETIRING, Severity.WARNING)
        assert "Spot" in near.message
    assert cluster_problems(cluster(priority="LowPriority"), date(2025, 10, 1)) == []


def test_a_cluster_takes_an_own_image_for_windows_only() -> None:
    assert cluster_problems(cluster(own_image=True, windows=True), TODAY) == []
    assert paths(cluster_problems(cluster(own_image=True), TODAY)) == ["image"]


def test_an_attached_machine_is_ubuntu_and_reached_by_ssh() -> None:
    day = date(2024, 1, 23)
    assert machine_problems(machine(), day) == []
    assert machine_problems(machine(has_private_key=False, has_password=True), day) == []
    assert paths(machine_problems(machine(has_private_key=False), day)) == ["user"]
    assert paths(machine_problems(machine(user_name=""), day)) == ["user"]
    assert paths(machine_problems(machine(address=""), day)) == ["address"]
    assert paths(machine_problems(machine(windows=True), day)) == ["system"]
    assert paths(machine_problems(machine(ssh_port=0), day)) == ["port"]
    assert paths(machine_problems(machine(ssh_port=65536), day)) == ["port"]


def test_kinds_of_compute() -> None:
    assert kind_problems("Kubernetes", TODAY, path="kind") == []
    (wrong,) = kind_problems("Aks", TODAY, path="kind")
    assert (wrong.path, wrong.code) == ("kind", Code.IMPOSSIBLE)


# pulumi-azure-native 3.29.0: EndpointAuthMode
@pytest.mark.parametrize("mode", ["Key", "AMLToken", "AADToken"])
def test_an_endpoint_signs_on_in_one_of_three_ways(mode: str) -> None:
    assert endpoint_problems(endpoint(auth_mode=mode), TODAY) == []


@pytest.mark.parametrize("mode", ["", "key", "Password"])
def test_another_way_to_sign_on_is_refused(mode: str) -> None:
    (problem,) = endpoint_problems(endpoint(auth_mode=mode), TODAY)
    assert (problem.path, problem.allowed) == ("auth", "Key, AMLToken, AADToken")


# Microsoft Learn, how-to-authenticate-online-endpoint: the table of endpoint types
def test_kubernetes_endpoints_take_no_tokens_of_entra() -> None:
    on_kubernetes = {"kind": "Kubernetes", "compute_kind": "Kubernetes"}
    (problem,) = endpoint_problems(endpoint(auth_mode="AADToken", **on_kubernetes), TODAY)
    assert (problem.path, problem.allowed) == ("auth", "Key, AMLToken")
    for mode in ("Key", "AMLToken"):
        assert endpoint_problems(endpoint(auth_mode=mode, **on_kubernetes), TODAY) == []


# Microsoft Learn, how-to-manage-quotas, 2026-01-27
@pytest.mark.parametrize("name", ["abc", "my-endpoint-name", "a" * 32, "A1-2"])
def test_names_of_endpoints_and_deployments(name: str) -> None:
    assert endpoint_problems(endpoint(name=name), TODAY) == []
    assert deployment_problems(deployment(name=name), TODAY) == []


@pytest.mark.parametrize("name", ["ab", "a" * 33, "1abc", "a--b", "-abc", "abc-", "a_bc", "", "abc\n"])
def test_names_that_do_not_fit(name: str) -> None:
    assert paths(endpoint_problems(endpoint(name=name), TODAY)) == ["name"]
    assert paths(deployment_problems(deployment(name=name), TODAY)) == ["name"]


def test_a_kubernetes_endpoint_and_its_deployment_share_62_characters() -> None:
    on_kubernetes = {"kind": "Kubernetes", "endpoint_name": "e" * 31}
    assert deployment_problems(deployment(name="d" * 31, **on_kubernetes), TODAY) == []
    assert paths(deployment_problems(deployment(name="d" * 32, **on_kubernetes), TODAY)) == ["name"]
    assert deployment_problems(deployment(name="d" * 32, endpoint_name="e" * 32), TODAY) == []


def test_a_kubernetes_endpoint_names_kubernetes_compute_and_not_the_kind_aks() -> None:
    by_key = endpoint(kind="Kubernetes", auth_mode="Key")
    assert endpoint_problems(by_key._replace(compute_kind="Kubernetes"), TODAY) == []
    for kind in ("AKS", "", "AmlCompute"):
        assert paths(endpoint_problems(by_key._replace(compute_kind=kind), TODAY)) == ["compute"]
    assert paths(endpoint_problems(endpoint(compute_kind="Kubernetes"), TODAY)) == ["compute"]
    assert paths(endpoint_problems(endpoint(kind="managed"), TODAY)) == ["kind"]


def test_a_deployment_has_at_least_one_instance() -> None:
    assert deployment_problems(deployment(instances=1), TODAY) == []
    assert paths(deployment_problems(deployment(instances=0), TODAY)) == ["instances"]


def test_a_deployment_has_at_most_50_instances() -> None:
    assert deployment_problems(deployment(instances=50), TODAY) == []
    assert paths(deployment_problems(deployment(instances=51), TODAY)) == ["instances"]


def test_a_request_ends_after_180_s_managed_and_300_s_on_kubernetes() -> None:
    assert deployment_problems(deployment(request_timeout_s=180), TODAY) == []
    assert paths(deployment_problems(deployment(request_timeout_s=181), TODAY)) == ["timeout"]
    assert deployment_problems(deployment(kind="Kubernetes", request_timeout_s=300), TODAY) == []
    assert paths(deployment_problems(deployment(kind="Kubernetes", request_timeout_s=301), TODAY)) == ["timeout"]
    assert paths(deployment_problems(deployment(request_timeout_s=0), TODAY)) == ["timeout"]


def test_before_their_first_source_online_endpoints_are_not_known() -> None:
    for problems in (endpoint_problems(endpoint(), date(2019, 5, 2)), deployment_problems(deployment(), date(2019, 5, 2))):
        assert [(problem.code, problem.severity) for problem in problems] == [(Code.UNKNOWN, Severity.WARNING)]


def test_what_no_rule_decides_by_is_kept_too() -> None:
    images = {fact.value for fact in facts.about("machine_learning.deployments") if fact.name.startswith("base image")}
    assert images == {
        "mcr.microsoft.com/azureml/minimal-py312-inference",
        "openmpi4.1.0-cuda11.8-cudnn8-ubuntu22.04",
        "openmpi5.0-cuda12.4-ubuntu22.04",
        "openmpi5.0-cuda12.6-ubuntu24.04",
    }


def test_all_problems_come_at_once() -> None:
    every = cluster(minimum_nodes=-1, maximum_nodes=None, idle_time="x", priority="x", own_image=True)
    assert sorted(paths(cluster_problems(every, TODAY))) == ["idle", "image", "maximum", "minimum", "priority"]
    wrong = endpoint(name="", auth_mode="", kind="x")
    assert sorted(paths(endpoint_problems(wrong, TODAY))) == ["auth", "kind", "name"]


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
