"""What AKS asks of a whole cluster: its system pool, tiers, networks and windows, with literals from Microsoft's pages."""

from datetime import date
from decimal import Decimal

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import HourlyCost, Machines, of_machines
from azure_gpu.catalog.services.aks import clusters


def hourly(nodes: list[Machines], tier: str, region: str) -> HourlyCost:
    return clusters.control_plane(tier).plus(of_machines(nodes, region, packaged(), clusters.price))


def test_a_cluster_costs_its_tier_and_its_nodes_and_what_is_not_known_stays_so() -> None:
    nodes = [Machines("Standard_D4s_v5", 1), Machines("Standard_NC4as_T4_v3", 2)]
    cost = hourly(nodes, "Standard", "eastus")
    assert cost.usd_hour == Decimal("0.10") + Decimal("0.192") + 2 * Decimal("0.526")
    assert "list price of 2020-05-13" in cost.text(date(2026, 11, 21))
    assert hourly(nodes[:1], "Free", "westeurope").usd_hour == Decimal("0.23")
    unknown = hourly([*nodes, Machines("Standard_D16s_v5", 1)], "Premium", "westeurope")
    assert unknown.usd_hour is None
    assert unknown.text(date(2026, 11, 21)) == "not known: no price of the tier Premium and of Standard_D16s_v5 in westeurope"
    later = hourly(nodes[:1], "Free", "")
    assert later.text(date(2026, 11, 21)) == "not known: no price of Standard_D4s_v5 in a region that isn't known yet"
    assert hourly([Machines("Standard_D4s_v5", 0)], "Free", "nowhere").usd_hour == 0
