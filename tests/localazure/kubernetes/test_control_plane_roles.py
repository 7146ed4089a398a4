"""What AKS's roles for Kubernetes allow. The expectations are lines of Microsoft's list of built-in roles."""

from localazure.kubernetes.authorization import granting, requested
from tests.support.tables import of_table

ROLES = {
    "reader": "7f6c6a51-bcf8-42ba-9220-52d62157d7db",
    "writer": "a7ffa36f-339b-4b5c-8bdf-e2c188b2c0eb",
    "admin": "3498e952-d568-435e-9b2c-8d77e338d7f7",
    "cluster admin": "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b",
}


@of_table("action", "roles")
def test_a_data_action_is_allowed_by(action: str, roles: list[str]) -> None:
    assert granting(action) == {ROLES[each] for each in roles}


@of_table("asked", "action")
def test_a_request_is_the_data_action(asked: dict[str, str], action: str) -> None:
    assert requested({"user": "somebody", "resourceAttributes": asked}).action == action


def test_a_path_that_is_no_resource_is_a_data_action_too() -> None:
    assert requested({"user": "somebody", "nonResourceAttributes": {"path": "/metrics", "verb": "get"}}).action == "metrics/read"


def test_groups_and_namespace_are_part_of_the_wish() -> None:
    found = requested(
        {"user": "u", "groups": ["g"], "resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "n"}}
    )
    assert (found.user, found.groups, found.namespace) == ("u", ("g",), "n")
