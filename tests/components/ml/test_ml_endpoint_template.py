"""The template of an endpoint's traffic, compared with the endpoint and with ARM's types."""

import copy
from typing import Any

import pytest

from azure_gpu.formats import azure_types
from localazure.shapes import to_arm
from tests.components.ml.ml_endpoints import ENDPOINT, EVERYTHING, ON_KUBERNETES, TWO, declared, resource_of, template_of


def test_every_deployment_has_a_number_in_the_template_and_promoting_changes_two_of_them_alone() -> None:
    before, after = template_of(declared(**TWO)), template_of(declared(**{**TWO, "traffic": {"green": 100}}))
    assert before["resources"][0]["properties"]["traffic"] == {"blue": 90, "green": 10}
    assert after["resources"][0]["properties"]["traffic"] == {"blue": 0, "green": 100}
    expected = copy.deepcopy(before)
    expected["resources"][0]["properties"]["traffic"] = {"blue": 0, "green": 100}
    assert after == expected


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
