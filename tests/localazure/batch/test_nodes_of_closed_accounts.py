"""Nodes of an account that is closed to the public."""

import pytest

from tests.localazure.batch.software import ACCOUNT_ID, GROUP, put
from tests.localazure.batch.world import World, in_world

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("group", ["nodeManagement", "batchAccount", ""])
@in_world
async def test_nodes_of_a_closed_account_need_a_name_of_their_endpoint_in_a_zone(world: World, group: str) -> None:
    """By policy only the account's endpoint has one. `group`: of the endpoint that is in a zone; none is if it is empty."""
    put(world, ACCOUNT_ID, {"location": "westeurope", "properties": {"publicNetworkAccess": "Disabled"}})
    for each in ("nodeManagement", "batchAccount"):
        endpoint = f"{GROUP}/providers/Microsoft.Network/privateEndpoints/{each}"
        linked = {"properties": {"privateLinkServiceId": ACCOUNT_ID, "groupIds": [each]}}
        put(world, endpoint, {"location": "westeurope", "properties": {"privateLinkServiceConnections": [linked]}})
        if each == group:
            configs = [{"name": "zone-1", "properties": {"privateDnsZoneId": "/zone"}}]
            put(world, f"{endpoint}/privateDnsZoneGroups/default", {"properties": {"privateDnsZoneConfigs": configs}})
    pool = await world.pool(ready=False)
    await world.until(lambda: set(world.states(pool)) & {"idle", "unusable"}, lambda: f"a node is up: {world.states(pool)}")
    assert world.states(pool) == ["idle" if group == "nodeManagement" else "unusable"]
    if group != "nodeManagement":
        (error,) = world.pools.nodes(pool)[0]["errors"]
        assert error["code"] == "NodeNotReady"
