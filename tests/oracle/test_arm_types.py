"""The judge itself: bodies that are known to be right and wrong, each problem with its path."""

import copy
from typing import Any

import pytest

from tests.oracle.arm_types import arm_problems

GROUPS = ("Microsoft.ContainerInstance/containerGroups", "2024-05-01-preview")
TASK_RUNS = ("Microsoft.ContainerRegistry/registries/taskRuns", "2019-06-01-preview")
GOOD: dict[str, Any] = {
    "location": "westeurope",
    "tags": {"team": "a"},
    "identity": {"type": "UserAssigned", "userAssignedIdentities": {"/subscriptions/s/x": {}}},
    "properties": {
        "osType": "Linux",
        "restartPolicy": None,
        "containers": [
            {
                "name": "main",
                "properties": {
                    "image": "i",
                    "resources": {"requests": {"cpu": 1, "memoryInGB": 1.5, "gpu": {"count": 1, "sku": "T4"}}},
                    "ports": [{"port": 80}],
                },
            }
        ],
    },
}


def test_a_good_body_has_no_problem() -> None:
    assert arm_problems(*GROUPS, GOOD) == []


@pytest.mark.parametrize(
    ("keys", "value", "problem"),
    [
        (("properties", "bogus"), 1, ".properties.bogus: unknown"),
        (("properties", "containers"), None, ".properties.containers: missing"),
        (("properties", "provisioningState"), "Succeeded", ".properties.provisioningState: read-only"),
        (("properties", "containers", 0, "name"), 1, ".properties.containers[0].name: not a string"),
        (
            ("properties", "containers", 0, "properties", "resources", "requests", "cpu"),
            "1",
            ".properties.containers[0].properties.resources.requests.cpu: not a number",
        ),
        (("properties", "containers", 0, "image"), "i", ".properties.containers[0].image: unknown"),
        (("properties", "containers"), {}, ".properties.containers: not an array"),
        (("identity", "type"), "Sometimes", ".identity.type: not one of the values"),
        (("tags", "team"), 1, ".tags.team: not a string"),
        (("tags",), [], ".tags: not an object"),
    ],
)
def test_a_wrong_body_has_exactly_its_problem(keys: tuple[str | int, ...], value: Any, problem: str) -> None:
    body = copy.deepcopy(GOOD)
    target: Any = body
    for key in keys[:-1]:
        target = target[key]
    target[keys[-1]] = value
    assert arm_problems(*GROUPS, body) == [problem]


def test_a_body_that_says_its_type_is_judged_by_that_type() -> None:
    run = {"type": "DockerBuildRequest", "dockerFilePath": "Dockerfile", "platform": {"os": "Linux"}}
    assert arm_problems(*TASK_RUNS, {"properties": {"runRequest": run}}) == []
    assert arm_problems(*TASK_RUNS, {"properties": {"runRequest": {"type": "DockerBuildRequest"}}}) == [
        ".properties.runRequest.dockerFilePath: missing",
        ".properties.runRequest.platform: missing",
    ]
    assert arm_problems(*TASK_RUNS, {"properties": {"runRequest": {"type": "Other"}}}) == [
        ".properties.runRequest.type: not one of the values"
    ]
