"""What a private network needs of the embedded Azure: NAT gateways, and private endpoints of Batch accounts."""

from typing import Any

import pytest

from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

NETWORK = "2024-05-01"
GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/private"
NETWORKS = f"{GROUP}/providers/Microsoft.Network"
ADDRESS, GATEWAY = f"{NETWORKS}/publicIPAddresses/out", f"{NETWORKS}/natGateways/out"


@pytest.fixture
def group(azure: EmbeddedAzure) -> EmbeddedAzure:
    assert azure.put(GROUP, {"location": "eastus"}, "2024-03-01").is_success
    return azure


def gateway() -> dict[str, Any]:
    return {"location": "eastus", "sku": {"name": "Standard"}, "properties": {"publicIpAddresses": [{"id": ADDRESS}]}}


def test_a_nat_gateway_has_addresses_that_are_there(group: EmbeddedAzure) -> None:
    assert group.put(GATEWAY, gateway(), NETWORK).json()["error"]["code"] == "InvalidResourceReference"
    address = {"location": "eastus", "sku": {"name": "Standard"}, "properties": {"publicIPAllocationMethod": "Static"}}
    assert group.finished(group.put(ADDRESS, address, NETWORK))
    assert group.finished(group.put(GATEWAY, gateway(), NETWORK))
    assert group.get(GATEWAY, NETWORK).json()["properties"]["idleTimeoutInMinutes"] == 4
