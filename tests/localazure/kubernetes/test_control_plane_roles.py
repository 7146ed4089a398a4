"""What AKS's roles for Kubernetes allow. The expectations are lines of Microsoft's list of built-in roles."""

import pytest

from localazure.kubernetes.authorization import granting, requested
from tests.support.tables import of_table

READER = "7f6c6a51-bcf8-42ba-9220-52d62157d7db"
WRITER = "a7ffa36f-339b-4b5c-8bdf-e2c188b2c0eb"
ADMIN = "3498e952-d568-435e-9b2c-8d77e338d7f7"
CLUSTER_ADMIN = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
ALL = {READER, WRITER, ADMIN, CLUSTER_ADMIN}


@pytest.mark.parametrize(
    ("action", "roles"),
    [
        ("pods/read", ALL),
        ("apps/controllerrevisions/read", ALL),
        ("metrics.k8s.io/nodes/read", ALL),
        ("pods/write", ALL - {READER}),
        ("pods/exec/action", ALL - {READER}),
        ("batch/jobs/delete", ALL - {READER}),
        ("secrets/read", ALL - {READER}),
        ("coordination.k8s.io/leases/write", ALL - {READER}),
        ("coordination.k8s.io/leases/read", ALL - {READER}),
        ("apps/controllerrevisions/write", {ADMIN, CLUSTER_ADMIN}),
        ("rbac.authorization.k8s.io/roles/read", {ADMIN, CLUSTER_ADMIN}),
        ("nodes/read", {ADMIN, CLUSTER_ADMIN}),
        ("namespaces/read", ALL),
        ("namespaces/write", {CLUSTER_ADMIN}),
        ("resourcequotas/delete", {CLUSTER_ADMIN}),
        ("resourcequotas/read", ALL),
        ("version/read", {ADMIN, CLUSTER_ADMIN}),
    ],
)
def test_a_data_action_is_allowed_by(action: str, roles: set[str]) -> None:
    assert granting(action) == roles


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
