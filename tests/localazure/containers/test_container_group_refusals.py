"""What a container group is refused for by its surroundings: keys, capacity and quotas; and what is taken."""

import base64
import uuid
from typing import Any

import pytest

from tests.localazure.containers.sdk import Groups, file_volume, mounted
from tests.localazure.test_activity_log import of_group

pytestmark = pytest.mark.usefixtures("no_fault_is_left")


def test_logs_go_to_a_workspace_that_is_there_with_a_key_that_is_right(groups: Groups) -> None:
    workspace = f"{groups.group}/providers/Microsoft.OperationalInsights/workspaces/logs"
    made = groups.azure.put(workspace, {"location": "westeurope"}, "2023-09-01").raise_for_status().json()
    key = groups.azure.post(f"{workspace}/sharedKeys", "2023-09-01").raise_for_status().json()["primarySharedKey"]
    customer = made["properties"]["customerId"]

    def body(workspace_id: str, workspace_key: str) -> dict[str, Any]:
        analytics = {"workspaceId": workspace_id, "workspaceKey": workspace_key}
        return groups.body(groups.container(), diagnostics={"logAnalytics": analytics})

    assert "no Log Analytics workspace" in groups.refusal(body(str(uuid.uuid4()), key))[1]["message"]
    assert "isn't a key" in groups.refusal(body(customer, "bm90IHRoZSBrZXk="))[1]["message"]
    created = groups.create("one", body(customer, key))
    assert created["properties"]["diagnostics"]["logAnalytics"] == {"workspaceId": customer}


def test_attached_identities_show_their_ids_and_the_groups_own_stays(groups: Groups) -> None:
    body = groups.body(groups.container("wait"))
    body["identity"]["type"] = "SystemAssigned, UserAssigned"
    first = groups.create("one", body)["identity"]
    assert first["userAssignedIdentities"][groups.registry.identity]["principalId"] == groups.registry.principal
    assert uuid.UUID(first["principalId"])
    assert groups.create("one", body)["identity"] == first


def test_a_limit_above_the_request_zones_and_spot_are_taken(groups: Groups) -> None:
    body = groups.body(groups.container())
    body["properties"]["containers"][0]["properties"]["resources"]["limits"] = {"memoryInGB": 2}
    groups.create("two", body)
    body = {**groups.body(groups.container()), "zones": ["2"]}
    assert groups.create("one", body)["zones"] == ["2"]
    spot = groups.create("three", groups.body(groups.container(), priority="Spot"))
    assert spot["properties"]["priority"] == "Spot"


def test_a_share_takes_an_account_that_is_there_and_its_key(groups: Groups, account: tuple[str, str]) -> None:
    for volume, code in (
        (file_volume("nobody123", account[1]), "CannotAccessStorageAccount"),
        (file_volume(account[0], base64.b64encode(b"wrong").decode()), "InvalidStorageAccountKey"),
        (file_volume(*account, share="A/../b"), "InvalidRequestContent"),
    ):
        body = groups.body(groups.container(volumeMounts=mounted("share", "/x")), volumes=[volume])
        status, error = groups.refusal(body)
        assert (status, error["code"]) == (400, code)
        assert account[1] not in str(error)


def test_no_capacity(groups: Groups) -> None:
    body = groups.body(groups.container())
    groups.create("there", body)
    groups.azure.fault("capacity", location="westeurope")
    status, error = groups.refusal(body)
    assert (status, error["code"]) == (409, "ServiceUnavailable")
    assert error["message"] == (
        "The requested resource is not available in the location 'westeurope' at this moment. Please retry with a "
        "different resource request or in another location. Resource requested: '1' CPU '1.5' GB memory 'Linux' OS"
    )
    groups.create("there", body)
    groups.create("one", {**body, "location": "northeurope"})
    assert "ServiceUnavailable" in of_group(groups.azure, groups.group)[0]["properties"]["statusMessage"]


def test_a_quota_that_is_reached(groups: Groups) -> None:
    body = {**groups.body(groups.container()), "location": "norwayeast"}
    groups.azure.fault("quota", service="aci", location="norwayeast", name="StandardCores", limit=10, used=9)
    groups.create("one", body)
    status, error = groups.refusal(body, "two")
    assert (status, error["code"]) == (409, "ContainerGroupQuotaReached")
    assert error["message"] == (
        "Resource type 'Microsoft.ContainerInstance/containerGroups' container group quota 'StandardCores' exceeded in region "
        "'norwayeast'. Limit: '10', Usage: '10' Requested: '1'."
    )
