"""The activity log: what was refused or failed, told as Azure Monitor tells it, and nothing that is secret."""

import json
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure, ServedAzure

VERSION = "2015-04-01"
LIST = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Insights/eventtypes/management/values"
STORAGE = "2024-01-01"


def events(azure: EmbeddedAzure, condition: str = "", **query: str) -> list[dict[str, Any]]:
    hour_ago = (azure.now() - timedelta(hours=1)).isoformat()
    conditions = f"eventTimestamp ge '{hour_ago}'" + (f" and {condition}" if condition else "")
    return azure.get(LIST, VERSION, **{"$filter": conditions, **query}).raise_for_status().json()["value"]


def of_group(azure: EmbeddedAzure, group: str) -> list[dict[str, Any]]:
    return events(azure, f"resourceGroupName eq '{group.rsplit('/', 1)[-1]}'")


def test_a_refused_write_is_told_with_arms_error(azure: EmbeddedAzure, group: str) -> None:
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/NotAName"
    refused = azure.put(path, {"location": "westeurope", "sku": {"name": "Standard_LRS"}, "kind": "StorageV2"}, STORAGE)
    assert refused.status_code == 400
    (event,) = of_group(azure, group)
    assert event["operationName"]["value"] == "Microsoft.Storage/storageAccounts/write"
    assert event["status"]["value"] == "Failed"
    assert event["subStatus"]["value"] == "BadRequest"
    assert event["level"] == "Error"
    assert event["caller"] == azure.client_id
    assert event["resourceId"] == path
    assert event["resourceType"]["value"] == "Microsoft.Storage/storageAccounts"
    assert json.loads(event["properties"]["statusMessage"]) == refused.json()
    assert [each["eventDataId"] for each in events(azure, f"resourceUri eq '{path.lower()}'")] == [event["eventDataId"]]


def test_readings_and_writes_that_succeed_are_not_told(azure: EmbeddedAzure, group: str) -> None:
    assert azure.get(f"{group}/providers/Microsoft.Storage/storageAccounts/none", STORAGE).status_code == 404
    assert azure.patch(group, {"tags": {"a": "b"}}, "2024-03-01").status_code == 200
    assert of_group(azure, group) == []


@pytest.mark.parametrize(
    ("tail", "operation", "resource"),
    [
        ("/containerGroups/none/start", "containerGroups/start/action", "/containerGroups/none"),
        (
            "/containerGroups/none/containers/main/exec",
            "containerGroups/containers/exec/action",
            "/containerGroups/none/containers/main",
        ),
    ],
)
def test_an_action_is_told_by_its_name(azure: EmbeddedAzure, group: str, tail: str, operation: str, resource: str) -> None:
    base = f"{group}/providers/Microsoft.ContainerInstance"
    assert azure.post(f"{base}{tail}", "2023-05-01", {}).status_code == 404
    (event,) = of_group(azure, group)
    assert event["operationName"]["value"] == f"Microsoft.ContainerInstance/{operation}"
    assert event["resourceId"] == f"{base}{resource}"


@pytest.mark.usefixtures("no_fault_is_left")
def test_what_a_fault_refuses_is_told_too(azure: EmbeddedAzure, group: str) -> None:
    azure.fault("fail", method="DELETE", path=f"{group}*", status=409, code="ServiceUnavailable", message="no room")
    assert azure.delete(f"{group}/providers/Microsoft.Storage/storageAccounts/one", STORAGE).status_code == 409
    (event,) = of_group(azure, group)
    assert json.loads(event["properties"]["statusMessage"])["error"] == {"code": "ServiceUnavailable", "message": "no room"}


def test_an_operation_that_fails_in_the_background_is_told(served_azure: ServedAzure) -> None:
    group = new_group(served_azure)
    registry = f"{group}/providers/Microsoft.ContainerRegistry/registries/reg{uuid.uuid4().hex[:10]}"
    served_azure.put(registry, {"location": "westeurope", "sku": {"name": "Basic"}}, "2023-01-01-preview").raise_for_status()
    request = {
        "type": "DockerBuildRequest",
        "dockerFilePath": "Dockerfile",
        "imageNames": ["x:1"],
        "isPushEnabled": True,
        "platform": {"os": "Linux", "architecture": "amd64"},
        "sourceLocation": "https://example.com/nothing.git#HEAD:x",
        "arguments": [],
    }
    made = served_azure.put(f"{registry}/taskRuns/build-one", {"properties": {"runRequest": request}}, "2019-06-01-preview")
    assert served_azure.finished(made)["status"] == "Failed"
    found = served_azure.until(lambda: of_group(served_azure, group), "the failure is told")
    assert found[0]["operationName"]["value"] == "Microsoft.ContainerRegistry/registries/taskRuns/write"
    error = json.loads(found[0]["properties"]["statusMessage"])["error"]
    assert error["code"] == "RunFailed"
    log = Path(error["message"].rpartition("(log: ")[2].removesuffix(")"))
    assert "failed at " in log.read_text(), "a build that failed names its log"


def test_bodies_are_not_kept(azure: EmbeddedAzure, group: str) -> None:
    body = {"location": "westeurope", "properties": {"osType": "Linux", "containers": []}, "tags": {"password": "s3cret"}}
    assert azure.put(f"{group}/providers/Microsoft.ContainerInstance/containerGroups/one", body, "2023-05-01").status_code == 400
    assert "s3cret" not in json.dumps(of_group(azure, group))


def test_select_names_what_is_answered(azure: EmbeddedAzure, group: str) -> None:
    azure.delete(f"{group}/providers/Microsoft.Nothing/things/one", STORAGE)
    found = events(azure, f"resourceGroupName eq '{group.rsplit('/', 1)[-1]}'", **{"$select": "eventTimestamp,status"})
    assert [set(event) for event in found] == [{"eventTimestamp", "status"}]


def test_the_filter_of_the_azure_cli_is_taken(azure: EmbeddedAzure, group: str) -> None:
    azure.delete(f"{group}/providers/Microsoft.Nothing/things/one", STORAGE)
    name, now = group.rsplit("/", 1)[-1], azure.now()
    hour = timedelta(hours=1)
    times = f"eventTimestamp ge {(now - hour).isoformat()} and eventTimestamp le {(now + hour).isoformat()}"
    conditions = f"{times} and resourceGroupName eq '{name}'"
    assert len(azure.get(LIST, VERSION, **{"$filter": conditions}).json()["value"]) == 1
    before = (
        f"eventTimestamp ge '2001-01-01T00:00:00.1234567Z' and eventTimestamp le '2001-01-02' and resourceGroupName eq '{name}'"
    )
    assert azure.get(LIST, VERSION, **{"$filter": before}).json()["value"] == []
