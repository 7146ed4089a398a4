"""How an endpoint's requests are shared out, how its deployments grow, what they cost. Expectations are the sources' literals."""

from datetime import date
from decimal import Decimal

from azure_gpu.catalog.prices import PriceBook, packaged
from azure_gpu.catalog.prices.hourly_cost import Machines, of_machines
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services.machine_learning import deployments, endpoints
from azure_gpu.catalog.services.machine_learning.deployments import Probe


def refused(problems: list[Problem]) -> list[str]:
    return [problem.path for problem in problems if problem.severity is Severity.ERROR]


def test_metrics_have_azures_names() -> None:
    assert list(deployments.METRICS.values()) == ["CpuUtilizationPercentage", "GpuUtilizationPercentage", "RequestsPerMinute"]


def test_probes_and_limits_are_the_services_where_nothing_is_said() -> None:
    assert Probe() == (10, 10, 2, 1, 30)
    assert (deployments.DEFAULT_REQUEST_TIMEOUT_S, deployments.DEFAULT_CONCURRENT, deployments.DEFAULT_QUEUE_S) == (5, 1, 0.5)
    assert deployments.DEFAULT_UTILIZATION == 70


def test_probes_have_no_zeros_and_liveness_one_success() -> None:
    assert deployments.probe_problems(Probe(), "probe", liveness=True) == []
    assert len(deployments.probe_problems(Probe(0, 0, 0, 0, 0), "probe")) == 5
    assert refused(deployments.probe_problems(Probe(success_threshold=2), "probe", liveness=True)) == ["probe.success_threshold"]
    assert deployments.probe_problems(Probe(success_threshold=2), "probe") == []


def test_the_list_has_these_sizes_without_a_gpu() -> None:
    assert all(endpoints.managed_cpu(name) for name in ("Standard_D96as_v4", "Standard_FX4mds", "Standard_E2s_v3"))
    assert endpoints.managed_cpu("Standard_D4s_v5") is None
    assert [problem.path for problem in endpoints.unlisted("Standard_D4s_v5", "size")] == ["size"]
    assert list(endpoints.unlisted("Standard_DS1_v2", "size")) == []


def test_machines_cost_what_they_cost_and_an_unknown_price_is_never_0() -> None:
    t4 = packaged().on_demand("Standard_NC4as_T4_v3", "eastus")
    assert t4 is not None
    cost = of_machines([Machines("Standard_NC4as_T4_v3", 2)], "eastus", packaged())
    assert (cost.usd_hour, cost.oldest) == (2 * t4.usd_hour, t4.day)
    assert "USD/hour (list price of" in cost.text(date(2026, 11, 20))
    unknown = of_machines([Machines("Standard_F4s_v2", 1), Machines("Standard_NC4as_T4_v3", 1)], "eastus", packaged())
    assert (unknown.usd_hour, unknown.number) == (None, None)
    assert unknown.text(date(2026, 11, 20)) == "not known: no price of Standard_F4s_v2 in eastus"
    nothing = of_machines([Machines("Standard_F4s_v2", 0)], "eastus", PriceBook([]))
    assert (nothing.usd_hour, nothing.text(date(2026, 11, 20))) == (Decimal(0), "0 USD/hour")
