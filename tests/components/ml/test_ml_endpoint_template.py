"""The template of an endpoint's traffic, compared with the endpoint and with ARM's types."""

import copy
from typing import Any

import pytest

from azure_gpu.formats import azure_types
from localazure.shapes import to_arm
from tests.components import recorded_bodies
from tests.components.ml.ml_endpoints import TWO, declared, template_of
from tests.components.recording import plain


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
    """Of every endpoint that is recorded."""
    seen = 0
    for body in recorded_bodies.recorded().values():
        sent_by = {urn.split("::")[-1]: each["wire"] for urn, each in body.get("resources", {}).items()}
        for name, sent in sent_by.items():
            traffic = sent_by.get(name.replace("-endpoint", "-traffic"))
            if traffic is None or "endpointName" not in sent or traffic is sent:
                continue
            seen += 1
            [resource] = traffic["properties"]["template"]["resources"]
            again = {key: value for key, value in resource.items() if key not in ("type", "apiVersion", "name")}
            declared = to_arm(azure_types.ML_ONLINE_ENDPOINT, plain(sent))
            shares = {key: again["properties"].pop(key) for key in ("traffic", "mirrorTraffic") if key in again["properties"]}
            assert "traffic" in shares
            if "description" in declared["properties"]:  # text in brackets is an expression in a template
                declared["properties"]["description"] = f"[{declared['properties']['description']}"
            assert again == declared
    assert seen > 5
