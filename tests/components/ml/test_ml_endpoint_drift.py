"""Changes of an endpoint outside of Pulumi are found by one request, and repaired by the template."""

import json
from dataclasses import replace
from typing import Any

import pytest

from azure_gpu.formats.tags import STOPPED_SINCE
from azure_gpu.ml.endpoint import drift as endpoint_drift
from azure_gpu.ml.endpoint.args import MlEndpointWiring
from azure_gpu.ml.endpoint.drift import differences
from azure_gpu.ml.endpoint.endpoint import LEFT_TO_TEMPLATE, MlEndpoint
from azure_gpu.ml.endpoint.spec import ActualEndpoint
from azure_gpu.ml.endpoint.stopping import REQUEST_VARIABLE
from azure_gpu.ml.endpoint.traffic import DRIFT_PATH
from azure_gpu.shared.wired import Wired
from tests.components.ml.ml_endpoints import (
    DEPLOYMENT,
    ENDPOINT,
    ON_KUBERNETES,
    TEMPLATE,
    TWO,
    WORKSPACE_ID,
    dependencies,
    template_of,
)
from tests.components.recording import Recorded, declare
from tests.components.settings_of import args_of
from tests.support.tables import of_table

ID = f"{WORKSPACE_ID}/onlineEndpoints/digits"
LOOKUP = "azure-native:machinelearningservices:getOnlineEndpoint"
OUTPUTS, RESOURCES = "pulumi:pulumi:readStackOutputs", "pulumi:pulumi:readStackResourceOutputs"
IDENTITY = "/subscriptions/s/resourceGroups/group/providers/Microsoft.ManagedIdentity/userAssignedIdentities/identity"
SHOWN = ActualEndpoint(
    traffic={"blue": 90, "green": 10},
    mirror={},
    tags={"a": "b", "of-a-policy": "x"},
    properties={"authMode": "AADToken", "publicNetworkAccess": "Enabled"},
    compute="",
    identity_type="UserAssigned",
    identities=("identity",),
    changed_at="2026-11-25T10:00:00Z",
)
BODY: dict[str, Any] = {"tags": {"a": "b"}, "properties": {"authMode": "AADToken", "publicNetworkAccess": "Enabled"}}
SHARES = {"blue": 90, "green": 10, "red": 0}


def up(of_azure: dict[str, Any] | str, component: dict[str, Any] | None = None, **changed: Any) -> Recorded:
    """A program whose stack already has the endpoint, with this state in Azure."""
    state = {
        "urn:pulumi:s::p::azuregpu:index:MlEndpoint::digits": {
            "type": "azuregpu:index:MlEndpoint",
            "outputs": {"endpoint_id": ID, **(component or {})},
        },
        "urn:pulumi:s::p::azuregpu:index:MlEndpoint$x::digits-endpoint": {
            "type": ENDPOINT,
            "outputs": {"properties": {"authMode": "AADToken"}},
        },
    }
    answers = {LOOKUP: of_azure, OUTPUTS: {"outputs": {"a": "b"}}, RESOURCES: {"outputs": state}}
    args = args_of(MlEndpointWiring, dependencies(), {**TWO, **changed})
    return declare(lambda: MlEndpoint("digits", Wired(args)), lookups=answers)


def of_azure(**properties: Any) -> dict[str, Any]:
    """The provider's response."""
    tags = declare_once().one(ENDPOINT).inputs["tags"]
    shares = {"traffic": {"blue": 90, "green": 10}, "mirrorTraffic": {}}
    return {
        "id": ID,
        "name": "digits",
        "location": "eastus",
        "tags": tags,
        "identity": {"type": "UserAssigned", "principalId": "", "tenantId": "", "userAssignedIdentities": {IDENTITY: {}}},
        "properties": {"authMode": "AADToken", "publicNetworkAccess": "Enabled", **shares, **properties},
        "systemData": {"lastModifiedAt": "2026-11-25T10:00:00Z"},
    }


def declare_once() -> Recorded:
    args = args_of(MlEndpointWiring, dependencies(), TWO)
    return declare(lambda: MlEndpoint("digits", Wired(args)))


# what differs


def test_nothing_differs_where_azure_shows_what_is_declared_and_more() -> None:
    assert differences(SHOWN, BODY, SHARES, {}) == ""
    assert differences(None, BODY, SHARES, {}) == ""


@of_table("changed", "difference")
def test_what_somebody_has_changed_is_named_with_its_instant(changed: dict[str, Any], difference: str) -> None:
    assert differences(replace(SHOWN, **changed), BODY, SHARES, {}) == f"{difference} (since 2026-11-25T10:00:00Z)"


# what the program declares then


def test_the_template_is_sent_again_for_a_drift_and_for_nothing_that_was_repaired() -> None:
    drifted = up(of_azure(traffic={"blue": 50, "green": 50}))
    assert template_of(drifted)["metadata"]["drift"] == "traffic is blue 50, green 50 (since 2026-11-25T10:00:00Z)"
    assert not drifted.one(TEMPLATE).ignore_changes
    as_declared = up(of_azure())
    assert template_of(as_declared)["metadata"]["drift"] == ""
    assert as_declared.one(TEMPLATE).ignore_changes == [DRIFT_PATH]
    for each in (drifted, as_declared):
        assert each.one(TEMPLATE).delete_before_replace
        assert each.one(ENDPOINT).ignore_changes == LEFT_TO_TEMPLATE


def test_a_state_of_0_1_0_names_the_endpoint_too() -> None:
    recorded = up(of_azure(), {"endpoint_id": "", "resource_id": ID})
    assert LOOKUP in [token for token, _ in recorded.lookups]


def test_an_endpoint_that_is_not_there_or_can_t_be_read_is_declared_all_the_same() -> None:
    for answer in ("Status=404 Code=ResourceNotFound", "Status=403 Code=AuthorizationFailed"):
        recorded = up(answer)
        assert template_of(recorded)["metadata"]["drift"] == ""
        assert recorded.one(ENDPOINT).ignore_changes == LEFT_TO_TEMPLATE


def test_a_stack_without_the_endpoint_looks_nothing_up() -> None:
    args = args_of(MlEndpointWiring, dependencies(), TWO)
    recorded = declare(lambda: MlEndpoint("digits", Wired(args)), lookups={OUTPUTS: {"outputs": {}}})
    assert [token for token, _ in recorded.lookups] == [OUTPUTS]


def test_the_look_up_asks_for_the_endpoint_of_the_state() -> None:
    recorded = up(of_azure())
    [where] = [arguments for token, arguments in recorded.lookups if token == LOOKUP]
    assert where == {"endpointName": "digits", "workspaceName": "ws", "resourceGroupName": "group"}


# another way to sign on


def test_another_way_to_sign_on_makes_nothing_anew() -> None:
    before = up(of_azure())
    changed = up(of_azure(), auth="key")
    later = up(of_azure(authMode="Key"), {endpoint_drift.AT_CREATION: "AADToken"}, auth="key")
    for token in (ENDPOINT, DEPLOYMENT):
        triggers = [each.of_type(token)[0].replacement_trigger for each in (before, changed, later)]
        assert triggers == [["AADToken", "", "group/identity"]] * 3
    assert template_of(changed)["resources"][0]["properties"]["authMode"] == "Key"
    assert template_of(later)["metadata"]["drift"] == ""


def test_what_is_made_anew_is_created_as_it_is_declared() -> None:
    recorded = up(of_azure(authMode="Key"), {endpoint_drift.AT_CREATION: "Key"}, **{**ON_KUBERNETES, "identity": "stack"})
    endpoint = recorded.one(ENDPOINT)
    assert not endpoint.ignore_changes
    assert endpoint.replacement_trigger == ["AMLToken", "onprem", "group/identity"]


STOPPED = "2026-11-25T20:00:00Z"


def stopped_in_azure(**properties: Any) -> dict[str, Any]:
    found = of_azure(traffic={}, **properties)
    return {**found, "tags": {**found["tags"], STOPPED_SINCE: STOPPED}}


def test_a_stopped_endpoint_declares_no_deployment_and_keeps_its_tag() -> None:
    found = up(stopped_in_azure())
    assert found.of_type(DEPLOYMENT) == []
    [endpoint] = template_of(found)["resources"]
    assert (endpoint["properties"]["traffic"], endpoint["tags"][STOPPED_SINCE]) == ({}, STOPPED)
    assert template_of(found)["metadata"]["drift"] == ""


def test_one_run_can_be_told_to_stop_and_to_start_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REQUEST_VARIABLE, json.dumps({ID: STOPPED}))
    found = up(of_azure())
    assert found.of_type(DEPLOYMENT) == []
    assert template_of(found)["metadata"]["drift"].startswith(
        "traffic is blue 90, green 10; tag stopped-since is not set (since "
    )
    monkeypatch.setenv(REQUEST_VARIABLE, json.dumps({ID: ""}))
    found = up(stopped_in_azure())
    assert len(found.of_type(DEPLOYMENT)) == 2
    [endpoint] = template_of(found)["resources"]
    assert endpoint["properties"]["traffic"] == {"blue": 90, "green": 10}
    assert STOPPED_SINCE not in endpoint["tags"]


@pytest.mark.parametrize("requests", ["", "not JSON", "[]", json.dumps({"/subscriptions/another": STOPPED})])
def test_what_a_run_is_told_of_others_changes_nothing(requests: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(REQUEST_VARIABLE, requests)
    assert len(up(of_azure()).of_type(DEPLOYMENT)) == 2
