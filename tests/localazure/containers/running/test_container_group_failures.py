"""Failures that are planted, and what the service shows of each: in a refusal, in a state, in an event."""

import uuid
from typing import Any

import pytest

from tests.localazure.containers.sdk import GROUP, Groups, Registry, container_view, group_state
from tests.localazure.test_activity_log import of_group
from tests.support.embedded import EmbeddedAzure

ROLE = "11111111-1111-1111-1111-111111111111"


@pytest.fixture
def own(azure: EmbeddedAzure, group: str) -> Groups:
    """Of a registry that a test may take away, with a group that has ended."""
    registry = Registry(azure, group, f"reg{uuid.uuid4().hex[:10]}")
    registry.build("hello", "hello:1")
    registry.allow_pull()
    groups = Groups(azure, registry, group)
    groups.create("one", groups.body(groups.container()))
    groups.wait_for("one", "Succeeded")
    return groups


def start_fails(groups: Groups) -> dict[str, Any]:
    """Starts the group; what it shows of its container."""
    started = groups.azure.post(f"{groups.path('one')}/start", GROUP)
    assert started.status_code == 202
    ended = groups.azure.finished(started)
    assert (ended["status"], ended["error"]["code"]) == ("Failed", "InaccessibleImage")
    return container_view(groups.show("one"))


def test_no_right_to_pull_any_more(own: Groups) -> None:
    role = f"{own.registry.id}/providers/Microsoft.Authorization/roleAssignments/{ROLE}"
    own.azure.delete(role, "2022-04-01").raise_for_status()
    view = start_fails(own)
    assert view["currentState"]["state"] == "Waiting"
    assert view["currentState"]["detailStatus"].startswith("ErrImagePull: No role, such as AcrPull, lets")
    assert (view["events"][-1]["name"], view["events"][-1]["type"]) == ("Failed", "Warning")
    assert "No role, such as AcrPull, lets the identity puller pull" in view["events"][-1]["message"]
    assert group_state(own.show("one")) == "Pending"


def test_an_image_that_went_with_its_registry_after_the_groups_creation(own: Groups) -> None:
    azure, registry = own.azure, own.registry
    azure.delete(registry.id, "2023-01-01-preview").raise_for_status()
    (event,) = [one for one in start_fails(own)["events"] if one["name"] == "Failed"]
    assert event["message"].startswith(f'Failed to pull image "{own.image}": ')
    told = [one for one in of_group(azure, own.group) if one["operationName"]["value"].endswith("/containerGroups/start/action")]
    assert "InaccessibleImage" in told[0]["properties"]["statusMessage"]
    Registry(azure, own.group, registry.id.rsplit("/", 1)[1]).allow_pull()
    (event,) = [one for one in start_fails(own)["events"] if one["name"] == "Failed"]
    assert "has no image hello:1" in event["message"], "it is gone with its registry"
