"""A template with a Batch account, a pool and an application: deployed, and asked afterwards what it would change."""

from typing import Any

import pytest

from tests.support.batch_bodies import API, new_name, pool
from tests.support.embedded import EmbeddedAzure

DEPLOYMENTS = "2025-04-01"


@pytest.fixture
def template() -> dict[str, Any]:
    name = new_name()
    account = f"[resourceId('Microsoft.Batch/batchAccounts', '{name}')]"
    keys = f"[listKeys({account[1:-1]}, '{API}').accountName]"
    users = [{"name": "runner", "password": "p-4711"}]
    resources = [
        {"type": "Microsoft.Batch/batchAccounts", "name": name, "location": "[resourceGroup().location]"},
        {
            "type": "Microsoft.Batch/batchAccounts/pools",
            "name": f"{name}/train",
            "dependsOn": [account],
            **pool(userAccounts=users),
        },
        {"type": "Microsoft.Batch/batchAccounts/applications", "name": f"{name}/tools", "dependsOn": [account]},
    ]
    return {
        "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "resources": [{"apiVersion": API, **resource} for resource in resources],
        "outputs": {
            "endpoint": {"type": "string", "value": f"[reference({account[1:-1]}).accountEndpoint]"},
            "name": {"type": "string", "value": keys},
        },
    }


def test_a_template_is_deployed_and_would_change_nothing_afterwards(
    azure: EmbeddedAzure, group: str, template: dict[str, Any]
) -> None:
    path = f"{group}/providers/Microsoft.Resources/deployments/batch"
    body = {"properties": {"mode": "Incremental", "template": template}}
    ended = azure.finished(azure.put(path, body, DEPLOYMENTS))
    assert ended["status"] == "Succeeded", ended
    outputs = azure.get(path, DEPLOYMENTS).json()["properties"]["outputs"]
    name = template["resources"][0]["name"]
    assert outputs["endpoint"]["value"] == f"{azure.url.removeprefix('https://')}/batch/{name}"
    assert outputs["name"]["value"] == name
    would = azure.post(f"{path}/whatIf", DEPLOYMENTS, body)
    changes = {each["resourceId"].rsplit("/", 1)[1]: each["changeType"] for each in would.json()["properties"]["changes"]}
    assert changes == {name: "NoChange", "train": "NoChange", "tools": "NoChange"}
    assert "4711" not in would.text
