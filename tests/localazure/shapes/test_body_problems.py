"""What ARM's shapes say of a body, and what they take away from one."""

from typing import Any

import pytest

from azure_gpu.formats.azure_types import (
    CONTAINER_GROUP,
    JOB,
    MANAGED_ENVIRONMENT,
    REGISTRY,
    ROLE_ASSIGNMENT,
    STORAGE_ACCOUNT,
    TASK_RUN,
    AzureType,
)
from localazure.shapes import api_versions, arm_shape, body_problems, from_arm, to_arm, without_read_only, without_secrets
from tests.support.tables import of_table

REGISTRY_BODY: dict[str, Any] = {"location": "westeurope", "sku": {"name": "Basic"}, "properties": {"adminUserEnabled": False}}


def problems(azure_type: AzureType, body: Any, *, creating: bool = True) -> list[tuple[str, str]]:
    return [(problem.path, problem.kind) for problem in body_problems(arm_shape(azure_type), body, creating=creating)]


@of_table("change", "expected")
def test_each_problem_has_its_path_and_its_kind(change: dict[str, Any], expected: list[list[str]]) -> None:
    assert [list(each) for each in problems(REGISTRY, {**REGISTRY_BODY, **change})] == expected


def test_all_problems_are_found_at_once_and_deeply() -> None:
    containers = [{"name": "a", "properties": {"imagine": "i"}}, {"properties": {"ports": [{"port": 1.5}]}}]
    assert problems(CONTAINER_GROUP, {"properties": {"containers": containers}}) == [
        ("properties.containers[0].properties.imagine", "unknown"),
        ("properties.containers[1].name", "missing"),
        ("properties.containers[1].properties.ports[0].port", "type"),
    ]


def test_a_patch_may_leave_out_what_is_required() -> None:
    assert problems(REGISTRY, {"tags": {"a": "b"}}, creating=False) == []


@pytest.mark.parametrize("body", [None, [], "text", 1])
def test_a_body_that_is_no_object_is_one_problem(body: Any) -> None:
    assert problems(REGISTRY, body) == [("", "type")]


def test_a_union_is_judged_by_what_it_says_it_is() -> None:
    def request(**run: Any) -> list[tuple[str, str]]:
        return problems(TASK_RUN, {"properties": {"runRequest": run}})

    platform = {"os": "Linux"}
    assert request(type="DockerBuildRequest", dockerFilePath="Dockerfile", platform=platform, timeout=60) == []
    assert request(type="DockerBuildRequest", platform=platform) == [("properties.runRequest.dockerFilePath", "missing")]
    assert request(type="Other") == [("properties.runRequest.type", "enum")]
    assert request() == [("properties.runRequest.type", "missing")]


def test_a_message_never_repeats_a_value_of_a_wrong_type() -> None:
    variables = [{"name": "A", "secureValue": ["do-not-print-me"]}]
    containers = [{"name": "a", "properties": {"environmentVariables": variables}}]
    (problem,) = body_problems(arm_shape(CONTAINER_GROUP), {"properties": {"containers": containers}}, creating=True)
    assert problem.message.endswith("takes a string, given was an array")


def test_secrets_and_what_the_service_sets_can_be_taken_out() -> None:
    shape = arm_shape(CONTAINER_GROUP)
    container = {"environmentVariables": [{"name": "A", "secureValue": "s"}], "instanceView": {"restartCount": 1}}
    body = {
        "properties": {
            "provisioningState": "Succeeded",
            "containers": [{"name": "a", "properties": container}],
            "imageRegistryCredentials": [{"server": "r", "username": "u", "password": "p"}],
        }
    }
    assert without_secrets(shape, body)["properties"]["imageRegistryCredentials"] == [{"server": "r", "username": "u"}]
    assert without_secrets(shape, body)["properties"]["containers"][0]["properties"]["environmentVariables"] == [{"name": "A"}]
    kept = without_read_only(shape, body)["properties"]
    assert "provisioningState" not in kept
    assert "instanceView" not in kept["containers"][0]["properties"]


def test_every_api_version_is_written_as_arm_writes_it() -> None:
    assert {"2018-10-01", "2023-05-01", "2021-10-01", "2024-05-01-preview"} <= api_versions(CONTAINER_GROUP)


def test_names_that_the_sdk_spells_otherwise_are_arms_in_the_body() -> None:
    inputs = {"enableHttpsTrafficOnly": True, "networkRuleSet": {"ipRules": [{"iPAddressOrRange": "10.0.0.0/8"}]}}
    body = to_arm(STORAGE_ACCOUNT, inputs)
    assert body == {"properties": {"supportsHttpsTrafficOnly": True, "networkAcls": {"ipRules": [{"value": "10.0.0.0/8"}]}}}
    assert from_arm(STORAGE_ACCOUNT, body) == inputs


def test_names_of_the_path_are_no_part_of_the_body() -> None:
    inputs = {"scope": "/subscriptions/s", "roleAssignmentName": "n", "principalId": "p", "roleDefinitionId": "r"}
    assert to_arm(ROLE_ASSIGNMENT, inputs) == {"properties": {"principalId": "p", "roleDefinitionId": "r"}}


def test_an_unknown_property_is_passed_on_to_be_refused() -> None:
    body = to_arm(CONTAINER_GROUP, {"containers": [{"name": "a", "bogus": 2.0}]})
    assert body == {"properties": {"containers": [{"name": "a", "properties": {"bogus": 2}}]}}


def test_what_a_job_and_an_environment_are_told_in_secret_is_never_answered() -> None:
    job = {"properties": {"configuration": {"secrets": [{"name": "token", "value": "s3cret"}]}}}
    assert without_secrets(arm_shape(JOB), job) == {"properties": {"configuration": {"secrets": [{"name": "token"}]}}}
    logs = {"destination": "log-analytics", "logAnalyticsConfiguration": {"customerId": "c", "sharedKey": "s3cret"}}
    shown = without_secrets(arm_shape(MANAGED_ENVIRONMENT), {"properties": {"appLogsConfiguration": logs}})
    assert shown["properties"]["appLogsConfiguration"]["logAnalyticsConfiguration"] == {"customerId": "c"}


@pytest.mark.parametrize("given", [[], {}, 1, True])
def test_a_type_that_is_no_text_is_a_problem_of_its_own(given: Any) -> None:
    found = problems(TASK_RUN, {"properties": {"runRequest": {"type": given}}})
    assert ("properties.runRequest.type", "type") in found
