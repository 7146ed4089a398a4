"""What a private network needs of the embedded Azure: private link scopes with their endpoints."""

import pytest

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

NETWORK = "2024-05-01"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/private"
NETWORKS = f"{GROUP}/providers/Microsoft.Network"


@pytest.fixture
def group(azure: EmbeddedAzure) -> EmbeddedAzure:
    assert azure.put(GROUP, {"location": "eastus"}, "2024-03-01").is_success
    return azure


def test_a_private_link_scope_takes_one_change_at_a_time(group: EmbeddedAzure) -> None:
    """An endpoint isn't created meanwhile; then it has addresses for all of Azure Monitor and for the workspace's region."""
    monitor, version = f"{GROUP}/providers/Microsoft.Insights", "2023-06-01-preview"
    logs = group.made(f"{GROUP}/providers/Microsoft.OperationalInsights/workspaces/logs", {"location": "eastus"}, "2023-09-01")
    subnets = [{"name": "endpoints", "properties": {"addressPrefix": "10.0.0.0/27"}}]
    address = {"addressSpace": {"addressPrefixes": ["10.0.0.0/24"]}, "subnets": subnets}
    network = group.made(f"{NETWORKS}/virtualNetworks/lab", {"location": "eastus", "properties": address}, NETWORK)
    modes = {"accessModeSettings": {"ingestionAccessMode": "Open", "queryAccessMode": "Open"}}
    scope = group.made(f"{monitor}/privateLinkScopes/lab", {"location": "global", "properties": modes}, version)["id"]
    connection = {"privateLinkServiceId": scope, "groupIds": ["azuremonitor"]}
    endpoint = {
        "subnet": {"id": f"{network['id']}/subnets/endpoints"},
        "privateLinkServiceConnections": [{"name": "lab", "properties": connection}],
    }
    body = {"location": "eastus", "properties": endpoint}
    group.fault("weather", name="slow-operations")
    linked = group.put(f"{scope}/scopedResources/logs", {"properties": {"linkedResourceId": logs["id"]}}, version)
    other = {"properties": {"linkedResourceId": f"{monitor}/components/other"}}
    errors = [
        group.put(f"{scope}/scopedResources/other", other, version),
        group.put(f"{NETWORKS}/privateEndpoints/lab", body, NETWORK),
    ]
    assert group.finished(linked)
    errors.append(group.put(f"{scope}/scopedResources/again", {"properties": {"linkedResourceId": logs["id"]}}, version))
    assert [f"{each.status_code} {each.json()['error']['message']}" for each in errors] == [
        "409 Cannot modify resource while in provisioning state: 'Provisioning'",
        "400 Call to Microsoft.Insights/privateLinkScopes failed. Error message: Mismatching RequiredMembers in Request",
        "409 Scoped resource with same linked resource id already exists in this private link scope",
    ]
    group.made(f"{NETWORKS}/privateEndpoints/lab", body, NETWORK)
    names = group.get(f"{NETWORKS}/privateEndpoints/lab", NETWORK).json()["properties"]["customDnsConfigs"]
    assert [len(names), names[-1]["fqdn"].partition(".")[2]] == [11, "agentsvc.azure-automation.net"]
    [approved] = group.get(scope, version).json()["properties"]["privateEndpointConnections"]
    assert approved["properties"]["privateEndpoint"]["id"] == f"{NETWORKS}/privateEndpoints/lab"
    [shown] = group.get(logs["id"], "2023-09-01").json()["properties"]["privateLinkScopedResources"]
    assert shown["resourceId"] == f"{scope}/scopedResources/logs"


def test_networks_are_connected_when_both_have_a_peering(group: EmbeddedAzure) -> None:
    hub, spoke = (
        group.made(
            f"{NETWORKS}/virtualNetworks/{name}",
            {"location": "eastus", "properties": {"addressSpace": {"addressPrefixes": [prefix]}}},
            NETWORK,
        )["id"]
        for name, prefix in (("hub", "10.1.0.0/16"), ("spoke", "10.2.0.0/16"))
    )
    for here, there, state in ((hub, spoke, "Initiated"), (spoke, hub, "Connected")):
        joined = {"properties": {"remoteVirtualNetwork": {"id": there}}}
        peering = group.made(f"{here}/virtualNetworkPeerings/side", joined, NETWORK)
        assert group.get(peering["id"], NETWORK).json()["properties"]["peeringState"] == state
    [side] = group.get(hub, NETWORK).json()["properties"]["virtualNetworkPeerings"]
    shown = side["properties"]
    assert (shown["peeringState"], shown["remoteAddressSpace"]) == ("Connected", {"addressPrefixes": ["10.2.0.0/16"]})
