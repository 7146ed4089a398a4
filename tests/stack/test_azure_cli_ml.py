"""The real Azure CLI on key vaults and on Azure Machine Learning, for which its core has `az rest` and `az resource`."""

import json
from pathlib import Path

import pytest

from tests.support.azure_cli import AzureCli
from tests.support.embedded import ServedAzure
from tests.support.ml_resources import ML, cluster_body, new_name, put_workspace

pytestmark = pytest.mark.slow


def test_a_vault_is_deleted_recovered_and_purged(az: AzureCli) -> None:
    name = new_name("kv")
    with az.group("westeurope") as group:
        made = az.answer("keyvault", "create", "--name", name, "--resource-group", group, "--retention-days", "7")
        assert made["properties"]["softDeleteRetentionInDays"] == 7
        assert [each["name"] for each in az.answer("keyvault", "list", "--resource-group", group)] == [name]
        az.answer("keyvault", "delete", "--name", name, "--resource-group", group)
        assert name in [each["name"] for each in az.answer("keyvault", "list-deleted", "--resource-type", "vault")]
        code, message = az.refusal("keyvault", "create", "--name", name, "--resource-group", group)
        assert code == 1
        assert "deleted" in message
        az.answer("keyvault", "recover", "--name", name)
        assert az.answer("keyvault", "show", "--name", name)["name"] == name
        az.answer("keyvault", "update", "--name", name, "--resource-group", group, "--enabled-for-deployment", "true")
        az.answer("keyvault", "delete", "--name", name)
        az.answer("keyvault", "purge", "--name", name)
        assert name not in [each["name"] for each in az.answer("keyvault", "list-deleted", "--resource-type", "vault")]


def test_workspaces_and_computes_by_rest_and_as_resources(az: AzureCli, azure: ServedAzure, tmp_path: Path) -> None:
    with az.group("westeurope") as group:
        group_id = az.answer("group", "show", "--name", group)["id"]
        workspace = put_workspace(azure, group_id)
        shown = az.answer("resource", "show", "--ids", workspace, "--api-version", ML)
        assert shown["properties"]["provisioningState"] == "Succeeded"
        body = tmp_path / "cluster.json"
        body.write_text(json.dumps(cluster_body()))
        url = f"{azure.url}{workspace}/computes/gpu?api-version={ML}"
        made = az.answer("rest", "--method", "put", "--url", url, "--body", f"@{body}", "--resource", azure.url)
        assert made["properties"]["computeType"] == "AmlCompute"
        listed = az.answer("resource", "list", "--resource-group", group)
        assert "Microsoft.MachineLearningServices/workspaces" in [each["type"] for each in listed]
        az.answer("resource", "delete", "--ids", workspace, "--api-version", ML)
        code, _ = az.refusal("resource", "show", "--ids", workspace, "--api-version", ML)
        assert code == 3
