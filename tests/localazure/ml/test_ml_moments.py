"""Workspaces and endpoints of Azure ML at moments that no request shows; their lives are in `tests/localazure/answers`."""

from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localazure.arm.errors import ArmError
from localazure.arm.kind import Change
from localazure.arm.store import Resource, Store
from localazure.kinds import ml_online_endpoints, ml_workspaces
from localazure.kinds.ml_kind import DELETED
from localazure.kinds.ml_workspace_rules import RECOVER
from tests.localazure.parts import arm_id


def test_what_is_kept_of_a_workspace_goes_as_the_one_that_comes_back_is_written(tmp_path: Path) -> None:
    services: Any = SimpleNamespace(
        store=Store(tmp_path / "azure.sqlite"), clock=SimpleNamespace(as_of=date(2026, 11, 22), stamp=lambda: "now")
    )
    parsed = arm_id("/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w")
    kept = Resource(id=parsed, body={}, service={"properties": {"workspaceId": "first"}}, private={"blob_container": "c"})
    DELETED.keep(parsed.key, kept, 14, services)
    ml_workspaces._recover(Resource(id=parsed, body={"properties": {RECOVER: True}}), services)
    written = services.store.get(parsed.key)  # what a server finds that comes after a kill
    assert (written.service, written.private, written.state) == (kept.service, kept.private, "Creating")
    assert DELETED.find(parsed.key, services) is None


def test_a_deployment_that_is_being_deleted_gets_no_traffic_any_more() -> None:
    workspace = "/subscriptions/s/resourceGroups/g/providers/Microsoft.MachineLearningServices/workspaces/w"
    endpoint, leaving = arm_id(f"{workspace}/onlineEndpoints/e"), arm_id(f"{workspace}/onlineEndpoints/e/deployments/blue")
    store = SimpleNamespace(of_type=lambda *_: [Resource(id=leaving, body={}, state="Deleting")])
    services: Any = SimpleNamespace(store=store)
    endpoints: Any = SimpleNamespace(serves=lambda _: True)
    given = {"properties": {"traffic": {"blue": 100}}}
    change = Change(id=endpoint, body=given, previous=None, as_of=date(2026, 11, 22), services=services)
    with pytest.raises(ArmError, match="The deployment 'blue' is being deleted"):
        ml_online_endpoints._check_traffic(change, endpoints)
