"""Resources of an online endpoint: their order, deployments, roles, rules, logs and cost."""

import json
from typing import Any

import pytest

from azure_gpu.shared import own_state
from azure_gpu.shared.own_state import OwnResource
from azure_gpu.shared.refusal import Refused
from tests.components.ml.ml_endpoints import ENDPOINT, ON_KUBERNETES, TWO, declared, dependencies, workspace


def test_another_identity_and_another_compute_make_a_new_endpoint() -> None:
    def trigger(**changed: Any) -> Any:
        return declared(**{**TWO, **changed}).one(ENDPOINT).replacement_trigger

    usual = trigger()
    assert trigger(tags={"a": "b"}, description="other", network="public", traffic={"green": 100}) == usual
    on_kubernetes = declared(**ON_KUBERNETES).one(ENDPOINT).replacement_trigger
    assert len({json.dumps(each) for each in (usual, trigger(identity="system"), on_kubernetes)}) == 3


def test_a_stack_without_an_identity_gives_the_endpoint_one() -> None:
    surroundings = dependencies()
    del surroundings["identity_id"]
    assert declared(surroundings=surroundings, **TWO).one(ENDPOINT).inputs["identity"] == {"type": "SystemAssigned"}
    with pytest.raises(Refused, match=r"ml_endpoints\.digits\.identity: the stack has no identity"):
        declared(surroundings=surroundings, **{**TWO, "identity": "stack"})


@pytest.mark.parametrize(
    ("uses", "in_state", "assigned"),
    [
        ([], [], ["AcrPull", "Storage Blob Data Reader"]),
        (["acr1"], [], ["Storage Blob Data Reader"]),
        (["acr1", "st1"], [], []),
        (["acr1", "st1"], ["digits-blob-role"], ["Storage Blob Data Reader"]),
    ],
)
def test_azure_assigns_the_roles_on_what_an_existing_workspace_uses_itself(
    uses: list[str], in_state: list[str], assigned: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    role = OwnResource(type="azure-native:authorization:RoleAssignment", outputs={"name": "a"})
    state = {f"urn:pulumi:s::p::a$b::{each}": role for each in in_state}
    monkeypatch.setattr(own_state, "resources", lambda of_stack_file: state)
    registry = {"name": "Acr1", "id": "/registries/acr1", "server": "acr1.azurecr.io", "workload_images": {}}
    surroundings = dependencies(
        ml_workspace=workspace(existing=True, uses=frozenset(uses)),
        registry=registry,
        storage={"name": "st1", "id": "/storageAccounts/st1"},
    )
    recorded = declared(surroundings=surroundings, **{**TWO, "identity": "system"})
    assert [role.role for role in recorded.roles] == assigned
