"""Who is inside of a network: what its private endpoints lead to, where a linked zone knows them."""

from typing import Any

import pytest

from localazure.arm.store import Resource
from localazure.fault import Fault
from localazure.weather import reach
from tests.localazure.parts import arm_id
from tests.localazure.weather.conftest import on
from tests.support.managed_clusters import GROUP, ArmHarness

NETWORKS = f"{GROUP}/providers/Microsoft.Network"
OURS, OTHER = f"{NETWORKS}/virtualNetworks/ours", f"{NETWORKS}/virtualNetworks/other"
ZONE, ENDPOINT = f"{NETWORKS}/privateDnsZones/privatelink.blob.core.windows.net", f"{NETWORKS}/privateEndpoints/data"
ACCOUNT = f"{GROUP}/providers/Microsoft.Storage/storageAccounts/data"


def put(arm: ArmHarness, path: str, properties: dict[str, Any]) -> Resource:
    found = Resource(id=arm_id(path), body={"properties": properties}, created_at="", changed_at="")
    arm.store.put(found)
    return found


@pytest.mark.parametrize(
    ("inside", "linked", "parts", "is_shut"),
    [
        ("", OURS, (), True),
        (OTHER, OURS, (), True),
        (OURS, OTHER, (), True),
        (OURS, "", (), True),
        (OURS.upper(), OURS, (), False),
        (OURS, "", ("landing-zone",), False),
    ],
    ids=["outside", "elsewhere", "a zone of another network", "no zone", "inside", "a zone of the company"],
)
def test_an_account_is_reached_by_its_endpoint(
    arm: ArmHarness, inside: str, linked: str, parts: tuple[str, ...], is_shut: bool
) -> None:
    on(arm, "private-endpoints", *parts)
    if inside:
        arm.services.deviations.faults.append(Fault(kind="inside", name=inside))
    link = {"properties": {"privateLinkServiceId": ACCOUNT}}
    put(arm, ENDPOINT, {"subnet": {"id": f"{OURS}/subnets/endpoints"}, "privateLinkServiceConnections": [link]})
    if linked:
        configs = [{"properties": {"privateDnsZoneId": ZONE}}]
        put(arm, f"{ENDPOINT}/privateDnsZoneGroups/default", {"privateDnsZoneConfigs": configs})
        put(arm, f"{ZONE}/virtualNetworkLinks/one", {"virtualNetwork": {"id": linked}})
    account = put(arm, ACCOUNT, {"publicNetworkAccess": "Disabled"})
    assert reach.is_shut(account, arm.services) is is_shut
    assert not reach.is_shut(put(arm, f"{ACCOUNT}2", {"publicNetworkAccess": "Enabled"}), arm.services)
