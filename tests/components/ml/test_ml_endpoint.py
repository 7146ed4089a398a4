"""Resources of an online endpoint: their order, deployments, roles, rules, logs and cost."""

import json
from typing import Any

import pytest

from azure_gpu.shared.refusal import Refused
from tests.components.ml.ml_endpoints import ENDPOINT, ON_KUBERNETES, TWO, declared, dependencies


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
