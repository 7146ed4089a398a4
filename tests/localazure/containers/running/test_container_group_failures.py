"""Failures that are planted, and what the service shows of each: in a refusal, in a state, in an event."""

import uuid
from typing import Any

import pytest

from tests.localazure.containers.sdk import (
    GROUP,
    Registry,
    container,
    container_view,
    create,
    group_body,
    group_path,
    group_state,
    show,
    wait_for,
)
from tests.localazure.test_activity_log import of_group
from tests.support.embedded import EmbeddedAzure

ROLE = "11111111-1111-1111-1111-111111111111"


@pytest.fixture
def own(azure: EmbeddedAzure, group: str) -> Registry:
    """A registry that a test may take away."""
    registry = Registry(azure, group, f"reg{uuid.uuid4().hex[:10]}")
    registry.build("hello", "hello:1")
    registry.allow_pull()
    return registry


def start_fails(azure: EmbeddedAzure, group: str) -> dict[str, Any]:
    """Starts a group that has ended; returns the error of the operation."""
    started = azure.post(f"{group_path(group, 'one')}/start", GROUP)
    assert started.status_code == 202
    ended = azure.finished(started)
    assert ended["status"] == "Failed"
    return ended["error"]


def test_no_right_to_pull_any_more(azure: EmbeddedAzure, group: str, own: Registry) -> None:
    create(azure, group, "one", group_body(own, container(f"{own.server}/hello:1")))
    wait_for(azure, group, "one", "Succeeded")
    azure.delete(f"{own.id}/providers/Microsoft.Authorization/roleAssignments/{ROLE}", "2022-04-01").raise_for_status()
    assert start_fails(azure, group)["code"] == "InaccessibleImage"
    view = container_view(show(azure, group, "one"))
    assert view["currentState"]["state"] == "Waiting"
    assert view["currentState"]["detailStatus"].startswith("ErrImagePull: No role, such as AcrPull, lets")
    assert view["events"][-1]["name"] == "Failed"
    assert view["events"][-1]["type"] == "Warning"
    assert "No role, such as AcrPull, lets the identity puller pull" in view["events"][-1]["message"]
    assert group_state(show(azure, group, "one")) == "Pending"


def test_an_image_that_went_with_its_registry_after_the_groups_creation(azure: EmbeddedAzure, group: str, own: Registry) -> None:
    create(azure, group, "one", group_body(own, container(f"{own.server}/hello:1")))
    wait_for(azure, group, "one", "Succeeded")
    azure.delete(own.id, "2023-01-01-preview").raise_for_status()
    assert start_fails(azure, group)["code"] == "InaccessibleImage"
    (event,) = [one for one in container_view(show(azure, group, "one"))["events"] if one["name"] == "Failed"]
    assert event["message"].startswith(f'Failed to pull image "{own.server}/hello:1": ')
    told = [one for one in of_group(azure, group) if one["operationName"]["value"].endswith("/containerGroups/start/action")]
    assert "InaccessibleImage" in told[0]["properties"]["statusMessage"]
    Registry(azure, group, own.id.rsplit("/", 1)[1]).allow_pull()
    start_fails(azure, group)
    (event,) = [one for one in container_view(show(azure, group, "one"))["events"] if one["name"] == "Failed"]
    assert "has no image hello:1" in event["message"], "it is gone with its registry"
