"""A cluster's plan doesn't depend on who runs the program; another user, or another login, gets a message."""

from collections.abc import Mapping
from typing import Any, NoReturn

import pytest

from azure_gpu.aks import current_user
from azure_gpu.aks.cluster import GpuCluster
from azure_gpu.aks.existing import ClusterFacts
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.shared import assigned_already, own_state
from azure_gpu.shared.own_state import OwnResource
from azure_gpu.shared.wired import Wired
from tests.components.aks.test_gpu_cluster import ARGS, resolved
from tests.components.recording import DEPLOYER, KEYS, SUBSCRIPTION, declare

ME, SOMEBODY = "11111111-0000-0000-0000-000000000000", "22222222-0000-0000-0000-000000000000"


def checked(
    settings: Mapping[str, Any], *, admin: str = "", environment: Mapping[str, str] | None = None, entra: bool = True
) -> list[Problem]:
    return current_user.check(resolved(**settings).cluster, ClusterFacts(entra=entra), admin, environment or {}, lambda: ME)


def test_somebody_else_than_the_administrator_is_told_so_and_goes_on() -> None:
    [warned] = checked({}, admin=SOMEBODY)
    assert (warned.path, warned.severity) == ("clusters.gpus.access.admins", Severity.WARNING)
    assert ME in warned.message
    assert SOMEBODY in warned.message
    assert checked({}, admin=ME.upper()) == []


def test_nobody_is_told_where_it_makes_no_difference() -> None:
    assert checked({"access": {"admins": {"users": [SOMEBODY]}}}, admin=SOMEBODY) == []
    assert checked({"on_cluster": False}, admin=SOMEBODY, environment={"ARM_CLIENT_ID": "x"}) == []
    assert checked({}, admin=SOMEBODY, environment={"ARM_CLIENT_ID": "x"}, entra=False) == []


def test_who_runs_it_is_asked_only_where_there_is_another_to_compare_with() -> None:
    def unasked() -> NoReturn:
        raise AssertionError

    assert current_user.check(resolved().cluster, ClusterFacts(), "", {}, unasked) == []


@pytest.mark.parametrize(
    ("environment", "method", "login"),
    [
        ({"ARM_CLIENT_ID": "x"}, "spn", "spn"),
        ({"ARM_CLIENT_ID": "x", "ARM_USE_OIDC": "true"}, "workloadidentity", "oidc"),
        ({"ARM_CLIENT_ID": "x", "ARM_USE_OIDC": "false"}, "spn", "spn"),
    ],
)
def test_a_login_of_the_environment_has_to_be_said_to_kubelogin(environment: dict[str, str], method: str, login: str) -> None:
    [refused] = checked({}, environment=environment)
    assert (refused.path, refused.severity) == ("clusters.gpus.access.login", Severity.ERROR)
    assert f"AAD_LOGIN_METHOD={method} " in refused.fix
    assert refused.fix.endswith(f"access.login: {login} if everyone logs in that way")
    assert checked({}, environment={**environment, "AAD_LOGIN_METHOD": "azurecli"}) == []
    assert checked({"access": {"login": "azurecli"}}, environment=environment) == []


def test_the_administrator_of_the_state_is_the_default_one(monkeypatch: pytest.MonkeyPatch) -> None:
    role = OwnResource(type="azure-native:authorization:RoleAssignment", outputs={"principalId": ME})
    monkeypatch.setattr(own_state, "resources", lambda of_stack_file: {"urn:pulumi:s::p::a$b::gpus-admin": role})
    assert current_user.look_up("gpus", resolved(on_cluster=False).cluster, ClusterFacts()) == (ClusterFacts(admin=ME), [])
    assert current_user.look_up("others", resolved(on_cluster=False).cluster, ClusterFacts()) == (ClusterFacts(), [])
    monkeypatch.setattr(own_state, "resources", lambda of_stack_file: None)
    assert current_user.look_up("gpus", resolved(on_cluster=False).cluster, ClusterFacts()) == (ClusterFacts(), [])


THEIRS = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/platform/providers/Microsoft.ContainerService/managedClusters/shared"


@pytest.mark.parametrize(
    ("admins", "already", "state", "assigned"),
    [
        ([ME, SOMEBODY], ME, "", [SOMEBODY]),
        ([], DEPLOYER, "", []),
        ([], SOMEBODY, "", ["deployer"]),
        ([], DEPLOYER, DEPLOYER, ["deployer"]),  # the stack's own assignment stays
    ],
)
def test_who_is_administrator_of_an_existing_cluster_by_somebody_else_is_not_assigned_again(
    admins: list[str], already: str, state: str, assigned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    role = OwnResource(type="azure-native:authorization:RoleAssignment", outputs={"principalId": state})
    monkeypatch.setattr(own_state, "resources", lambda of_stack_file: {"urn:pulumi:s::p::a$b::gpus-admin": role})
    monkeypatch.setattr(assigned_already, "outside_of_stack", lambda _role, _scope, who, *_, **__: who == already)
    found = {"location": "eastus", "kubernetesVersion": "1.34.2", "aadProfile": {"managed": True, "enableAzureRBAC": True}}
    args: Any = {**ARGS, "existing": THEIRS, "on_cluster": False, **({"access": {"admins": {"users": admins}}} if admins else {})}
    lookups = {**KEYS, "azure-native:containerservice:getManagedCluster": found}
    recorded = declare(lambda: GpuCluster("gpus", Wired(args)), lookups=lookups)
    assert [each[0] for each in recorded.roles] == assigned


@pytest.mark.parametrize(("already", "who"), [(True, []), (False, ["kubelet of shared"])])
def test_nodes_of_an_existing_cluster_that_pull_from_an_existing_registry_get_no_second_role(
    already: bool, who: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/platform/providers/Microsoft.ContainerRegistry/registries/theirs"
    monkeypatch.setattr(assigned_already, "outside_of_stack", lambda _role, of, *_, **__: already and of.text == scope)
    nodes = {"identityProfile": {"kubeletidentity": {"objectId": "kubelet-of-shared"}}}
    found = {"location": "eastus", "kubernetesVersion": "1.34.2", **nodes}
    registry = {"name": "theirs", "id": scope, "server": "theirs.azurecr.io", "workload_images": {}, "existing_id": scope}
    args: Any = {**ARGS, "existing": THEIRS, "on_cluster": False, "registry": registry}
    lookups = {**KEYS, "azure-native:containerservice:getManagedCluster": found}
    assert [each[0] for each in declare(lambda: GpuCluster("gpus", Wired(args)), lookups=lookups).roles] == who
