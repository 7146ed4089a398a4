"""The template of an endpoint's traffic, compared with the endpoint and with ARM's types."""

import copy
from typing import Any

import pytest

from azure_gpu.formats import azure_types
from localazure.shapes import default_api_version, to_arm
from tests.components.ml.ml_endpoints import (
    BLUE,
    DEPLOYMENT,
    END,
    ENDPOINT,
    EVERYTHING,
    ON_KUBERNETES,
    TWO,
    declared,
    outputs_of,
    resource_of,
    template_of,
)
from tests.oracle.arm_types import arm_problems


def test_every_deployment_has_a_number_in_the_template_and_promoting_changes_two_of_them_alone() -> None:
    before, after = template_of(declared(**TWO)), template_of(declared(**{**TWO, "traffic": {"green": 100}}))
    assert before["resources"][0]["properties"]["traffic"] == {"blue": 90, "green": 10}
    assert after["resources"][0]["properties"]["traffic"] == {"blue": 0, "green": 100}
    expected = copy.deepcopy(before)
    expected["resources"][0]["properties"]["traffic"] = {"blue": 0, "green": 100}
    assert after == expected


def test_promoting_changes_nothing_else_in_the_whole_program() -> None:
    before, after = declared(**TWO), declared(**{**TWO, "traffic": {"blue": 0, "green": 100}})
    changed = [
        one.name for one, other in zip(before.registrations, after.registrations, strict=True) if one.inputs != other.inputs
    ]
    assert changed == ["digits-traffic"]


@pytest.mark.parametrize(
    "change",
    [{"tags": {"a": "b"}}, {"description": "digits"}, {"expires_after": "2027-01-01"}],
    ids=["tags", "description", "end"],
)  # fmt: skip
def test_a_change_of_the_endpoint_is_in_the_template_with_its_traffic_and_in_the_hash(change: dict[str, Any]) -> None:
    before, after = template_of(declared(**TWO)), template_of(declared(**{**TWO, **change}))
    assert after["metadata"]["endpoint"] != before["metadata"]["endpoint"]
    assert after["resources"][0]["properties"]["traffic"] == {"blue": 90, "green": 10}
    assert after["resources"] != before["resources"]


def test_the_template_holds_the_same_body_as_the_endpoint_itself() -> None:
    for settings in (TWO, EVERYTHING, ON_KUBERNETES):
        recorded = declared(**settings)
        sent = to_arm(azure_types.ML_ONLINE_ENDPOINT, recorded.one(ENDPOINT).inputs)
        again = {key: value for key, value in resource_of(recorded).items() if key not in ("type", "apiVersion", "name")}
        shares = {key: again["properties"].pop(key) for key in ("traffic", "mirrorTraffic") if key in again["properties"]}
        assert shares["traffic"]
        if "description" in sent["properties"]:  # text in brackets is an expression in a template
            sent["properties"]["description"] = f"[{sent['properties']['description']}"
        assert again == sent


@pytest.mark.parametrize("settings", [TWO, EVERYTHING, ON_KUBERNETES], ids=["two", "everything", "kubernetes"])
def test_arm_takes_what_is_declared_and_what_the_template_holds(settings: dict[str, Any]) -> None:
    recorded = declared(**settings)
    inner = {key: value for key, value in resource_of(recorded).items() if key not in ("type", "apiVersion", "name")}
    arm_type = "Microsoft.MachineLearningServices/workspaces/onlineEndpoints"
    assert arm_problems(arm_type, "2025-12-01", inner) == []
    for token, azure_type in (
        (ENDPOINT, azure_types.ML_ONLINE_ENDPOINT),
        (DEPLOYMENT, azure_types.ML_ONLINE_DEPLOYMENT),
    ):
        for each in recorded.of_type(token):
            body = to_arm(azure_type, each.inputs)
            assert arm_problems(azure_type.arm_type, default_api_version(azure_type), body) == []


def test_the_template_names_workspace_and_endpoint_and_the_api_version_of_the_provider() -> None:
    resource = resource_of(declared(**EVERYTHING))
    assert resource["name"] == "ws/digits-everywhere"
    assert resource["apiVersion"] == default_api_version(azure_types.ML_ONLINE_ENDPOINT) == "2025-12-01"
    assert resource["type"] == "Microsoft.MachineLearningServices/workspaces/onlineEndpoints"
    assert resource["properties"]["mirrorTraffic"] == {"green": 10}
    assert resource["identity"] == {"type": "UserAssigned", "userAssignedIdentities": {"/identity/of/the/stack": {}}}


def test_the_only_deployment_gets_all_the_traffic() -> None:
    recorded = declared(deployments={"blue": BLUE}, expires_after=END)
    assert resource_of(recorded)["properties"]["traffic"] == {"blue": 100}


def test_the_address_is_the_endpoints_and_nothing_is_looked_up_for_it() -> None:
    recorded = declared(**EVERYTHING)
    assert outputs_of(recorded)["scoring_uri"] == "https://digits-everywhere.example/score"
    assert [token for token, _ in recorded.lookups] == ["pulumi:pulumi:readStackOutputs"]  # which has no answer here
