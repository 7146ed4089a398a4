"""What AKS asks of a whole cluster: its system pool, tiers, networks and windows, with literals from Microsoft's pages."""

from datetime import date
from decimal import Decimal

import pytest

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import Machines
from azure_gpu.catalog.problems import Severity
from azure_gpu.catalog.services.aks import azure_ml, clusters, maintenance, network, system_pools

PATHS = {"pods": "pod_cidr", "services": "service_cidr"}


@pytest.mark.parametrize(
    ("size", "vcpus", "family"),
    [
        ("Standard_D4s_v5", 4, "standardDSv5Family"),
        ("Standard_E4-2s_v5", 2, ""),
        ("Standard_D8ads_v5", 8, "standardDADSv5Family"),
        ("Standard_DS2_v2", None, ""),
    ],
    ids=["general", "constrained", "with-a-disk", "second-version"],
)
def test_the_name_of_a_size_says_its_vcpus_from_the_third_version_of_a_series_on(
    size: str, vcpus: int | None, family: str
) -> None:
    assert (system_pools.vcpus(size), system_pools.family(size)) == (vcpus, family)


@pytest.mark.parametrize(
    ("size", "severity"),
    [("Standard_F1s", "error"), ("Standard_B4ms", "warning"), ("Standard_D2s_v5", "warning"), ("d4s v5!", "error")],
    ids=["one-vcpu", "burstable", "two-vcpus", "no-name"],
)
def test_a_system_pool_wants_four_vcpus_and_no_burstable_machine(size: str, severity: str) -> None:
    assert [problem.severity for problem in system_pools.check(size, "size")] == [Severity(severity)]


@pytest.mark.parametrize("size", ["Standard_D4s_v5", "Standard_DS3_v2"], ids=["known", "not-known"])
def test_nothing_speaks_against_a_machine_that_is_large_enough_or_of_which_nothing_is_known(size: str) -> None:
    assert list(system_pools.check(size, "size")) == []


def test_a_cluster_costs_its_tier_and_its_nodes_and_what_is_not_known_stays_so() -> None:
    nodes = [Machines("Standard_D4s_v5", 1), Machines("Standard_NC4as_T4_v3", 2)]
    cost = clusters.hourly(nodes, "Standard", "eastus", packaged())
    assert cost.usd_hour == Decimal("0.10") + Decimal("0.192") + 2 * Decimal("0.526")
    assert "list price of 2020-05-13" in cost.text(date(2026, 11, 21))
    unknown = clusters.hourly([*nodes, Machines("Standard_D4s_v5", 1)], "Premium", "westeurope", packaged())
    assert unknown.usd_hour is None
    assert unknown.text(date(2026, 11, 21)) == "not known: no price of the tier Premium and of Standard_D4s_v5 in westeurope"
    assert clusters.hourly([Machines("Standard_D4s_v5", 0)], "Free", "nowhere", packaged()).usd_hour == 0


@pytest.mark.parametrize(("tier", "long", "said"), [("Standard", True, "plan"), ("Premium", False, "tier"), ("Free", False, "")])
def test_premium_and_long_term_support_come_together_alone(tier: str, long: bool, said: str) -> None:
    assert [problem.path for problem in clusters.check_tier(tier, long, "tier", "plan")] == ([said] if said else [])


def test_authorized_ranges_are_public_begin_with_their_first_address_and_are_at_most_200() -> None:
    assert list(network.check_ranges(["203.0.113.0/24", "0.0.0.0/32", "198.51.100.7/32"], "ranges")) == []
    wrong = list(network.check_ranges(["137.117.106.90/29", "10.0.0.0/8", "0.0.0.0/0", "here"], "ranges"))
    assert [problem.path for problem in wrong] == ["ranges[0]", "ranges[1]", "ranges[2]", "ranges[3]"]
    assert "137.117.106.88/29" in wrong[0].fix  # the page's own example
    assert "200" in next(network.check_ranges([f"203.0.113.{each}/32" for each in range(201)], "ranges")).allowed


@pytest.mark.parametrize(
    ("pods", "services", "nodes", "path"),
    [
        ("10.244.0.0/16", "10.0.0.0/16", 256, ""),
        ("10.244.0.0/16", "10.0.0.0/16", 257, "pod_cidr"),
        ("10.0.128.0/17", "10.0.0.0/16", 1, "pod_cidr"),
        ("10.244.0.0/16", "172.16.0.0/12", 1, "service_cidr"),
        ("10.244.0.5/16", "10.0.0.0/16", 1, "pod_cidr"),
        ("8.8.0.0/16", "10.0.0.0/16", 1, "pod_cidr"),
    ],
    ids=["defaults", "one-node-too-many", "overlapping", "too-many-services", "not-the-first-address", "public-pods"],
)
def test_each_node_takes_a_24_of_the_pods_addresses_apart_from_services(pods: str, services: str, nodes: int, path: str) -> None:
    assert [problem.path for problem in network.check_addresses(pods, services, nodes, PATHS)] == ([path] if path else [])


def test_dns_has_the_tenth_address_of_services() -> None:
    assert network.dns_address("10.0.0.0/16") == "10.0.0.10"


def test_a_window_is_of_four_hours_and_begins_at_a_time_of_the_day() -> None:
    assert list(maintenance.check("01:00", 4, "-08:00", "window")) == []
    paths = [problem.path for problem in maintenance.check("1am", 3, "UTC", "window")]
    assert paths == ["window.start", "window.hours", "window.utc_offset"]


def test_the_ml_extension_says_everything_that_a_cluster_lacks() -> None:
    fits = azure_ml.extension_problems("x", local_accounts=True, open_to_everybody=True, fewest_nodes=3, fewest_vcpus=12)
    assert list(fits) == []
    lacks = azure_ml.extension_problems("x", local_accounts=False, open_to_everybody=False, fewest_nodes=1, fewest_vcpus=2)
    assert {problem.severity for problem in lacks} == {Severity.ERROR}
