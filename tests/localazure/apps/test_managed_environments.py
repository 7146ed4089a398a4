"""Managed environments over HTTP: workload profiles, logs, identity, diagnostic settings, and what they refuse."""

import uuid
from typing import Any

import pytest

from tests.localazure.apps.sdk import CONSUMPTION, GPU, VERSION
from tests.localazure.conftest import new_group
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

WORKSPACE = "2023-09-01"
SETTING = "2021-05-01-preview"


@pytest.fixture
def path(azure: EmbeddedAzure) -> str:
    return f"{new_group(azure)}/providers/Microsoft.App/managedEnvironments/env"


def body(*profiles: dict[str, Any], location: str = "westeurope", **properties: Any) -> dict[str, Any]:
    return {"location": location, "properties": {"workloadProfiles": list(profiles), **properties}}


def workspace(azure: EmbeddedAzure, path: str) -> tuple[str, str, str]:
    """Its ARM id, customer id and key."""
    made = f"{path.rsplit('/providers/', 1)[0]}/providers/Microsoft.OperationalInsights/workspaces/logs-{uuid.uuid4().hex[:6]}"
    shown = azure.put(made, {"location": "westeurope", "properties": {"sku": {"name": "PerGB2018"}}}, WORKSPACE).json()
    key = azure.post(f"{made}/sharedKeys", WORKSPACE).json()["primarySharedKey"]
    return made, shown["properties"]["customerId"], key


def test_an_environment_shows_what_the_service_sets(azure: EmbeddedAzure, path: str) -> None:
    made = azure.made(path, body(CONSUMPTION, GPU), VERSION)
    properties = made["properties"]
    # This and the region's spelling: Test_App_ManagedEnvironment_20250101_CRUD (2025-08-18)
    assert properties["workloadProfiles"] == [{**each, "enableFips": False} for each in (CONSUMPTION, GPU)]
    assert made["location"] == "West Europe"
    assert properties["defaultDomain"].endswith(".westeurope.azurecontainerapps.local")
    assert azure.made(path, body(CONSUMPTION, GPU), VERSION)["properties"]["defaultDomain"] == properties["defaultDomain"]
    states = azure.get(f"{path}/workloadProfileStates", "2026-07-01").json()["value"]
    assert [(one["name"], one["properties"]["currentCount"]) for one in states] == [("Consumption", 0), ("gpu-t4", 0)]


@pytest.mark.parametrize("region", ["uksouth", "belgiumcentral", "malaysiasouth", "southcentralus2", "taiwannorth"])
def test_a_profile_is_created_and_listed_where_no_page_of_regions_has_it(azure: EmbeddedAzure, path: str, region: str) -> None:
    assert azure.made(path, body(GPU, location=region), VERSION)["properties"]["workloadProfiles"][0]["name"] == GPU["name"]
    place = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.App/locations/{region}"
    listed = azure.get(f"{place}/availableManagedEnvironmentsWorkloadProfileTypes", "2025-07-01").json()["value"]
    assert GPU["workloadProfileType"] in [each["name"] for each in listed]


def test_profiles_are_kept_as_the_service_spells_them(azure: EmbeddedAzure, path: str) -> None:
    made = azure.made(path, body({**GPU, "name": "a" * 15, "workloadProfileType": "CONSUMPTION-GPU-NC8AS-T4"}), VERSION)
    # As the Azure CLI sends it, and as it is; and the profile that is always there
    profiles = [{**GPU, "name": "a" * 15}, CONSUMPTION]
    assert made["properties"]["workloadProfiles"] == [{**each, "enableFips": False} for each in profiles]


def test_a_patch_takes_numbers_of_nodes_as_the_azure_cli_writes_them(azure: EmbeddedAzure, path: str) -> None:
    azure.made(path, body(CONSUMPTION), VERSION)
    dedicated = {"name": "two", "workloadProfileType": "D4", "minimumCount": "1", "maximumCount": "2"}
    answer = azure.patch(path, {"properties": {"workloadProfiles": [CONSUMPTION, dedicated]}}, VERSION)
    assert (answer.status_code, answer.content, "location" in answer.headers) == (202, b"", True)
    azure.finished(answer)
    profiles = azure.get(path, VERSION).json()["properties"]["workloadProfiles"]
    assert [(each.get("minimumCount"), each.get("maximumCount")) for each in profiles] == [(None, None), (1, 2)]


def test_the_key_of_a_workspace_of_logs_is_not_shown(azure: EmbeddedAzure, path: str) -> None:
    _, customer, key = workspace(azure, path)

    def logs(**analytics: str) -> dict[str, Any]:
        return body(CONSUMPTION, appLogsConfiguration={"destination": "log-analytics", "logAnalyticsConfiguration": analytics})

    made = azure.made(path, logs(customerId=customer, sharedKey=key), VERSION)
    assert made["properties"]["appLogsConfiguration"]["logAnalyticsConfiguration"] == {"customerId": customer}


def test_an_identity_of_its_own_keeps_its_principal(azure: EmbeddedAzure, path: str) -> None:
    sent = {**body(CONSUMPTION), "identity": {"type": "SystemAssigned"}}
    first = azure.made(path, sent, VERSION)["identity"]
    assert uuid.UUID(first["principalId"])
    assert azure.made(path, sent, VERSION)["identity"] == first


# Diagnostic settings


def setting(log_workspace: str, **properties: Any) -> dict[str, Any]:
    logs = [{"category": name, "enabled": True} for name in ("ContainerAppConsoleLogs", "ContainerAppSystemLogs")]
    return {"properties": {"workspaceId": log_workspace, "logs": logs, **properties}}


def test_a_diagnostic_setting_sends_an_environments_logs_to_a_workspace(azure: EmbeddedAzure, path: str) -> None:
    azure.made(path, body(CONSUMPTION, appLogsConfiguration={"destination": "azure-monitor"}), VERSION)
    log_workspace, _, _ = workspace(azure, path)
    here = f"{path}/providers/Microsoft.Insights/diagnosticSettings/logs"
    assert azure.put(here, setting(log_workspace), SETTING).status_code == 200
    groups = azure.put(here, setting(log_workspace, logs=[{"categoryGroup": "allLogs", "enabled": True}]), SETTING)
    assert groups.status_code == 200
    listed = azure.get(f"{path}/providers/Microsoft.Insights/diagnosticSettings", SETTING).json()["value"]
    assert [one["name"] for one in listed] == ["logs"]
    assert azure.put(here.replace("logs", "second"), groups.json(), SETTING).status_code == 409
    azure.finished(azure.delete(path, VERSION))
    assert azure.get(here, SETTING).status_code == 404
