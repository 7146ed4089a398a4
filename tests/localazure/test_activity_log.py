"""The activity log: what was refused or failed, told as Azure Monitor tells it, and nothing that is secret."""

import json
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

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
