"""How an endpoint's requests are shared out, how its deployments grow, what they cost. Expectations are the sources' literals."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from azure_gpu.catalog.prices import PriceBook, packaged
from azure_gpu.catalog.prices.hourly_cost import Machines, of_machines
from azure_gpu.catalog.problems import Problem, Severity
from azure_gpu.catalog.services.machine_learning import autoscale, endpoints, serving, traffic
from azure_gpu.catalog.services.machine_learning.autoscale import AutoscaleRequest, Metric
from azure_gpu.catalog.services.machine_learning.serving import LimitsRequest, Probe, ProbeRequest
from azure_gpu.catalog.services.machine_learning.traffic import TrafficRequest


def shares(traffic_: dict[str, int], mirror: dict[str, int] | None = None, **changed: Any) -> TrafficRequest:
    given: dict[str, Any] = {"deployments": ("blue", "green"), "kind": "Managed", **changed}
    return TrafficRequest(
        traffic=traffic_,
        mirror=mirror or {},
        deployments_path="deployments",
        traffic_path="traffic",
        mirror_path="mirror",
        **given,
    )


def refused(problems: list[Problem]) -> list[str]:
    return [problem.path for problem in problems if problem.severity is Severity.ERROR]


@pytest.mark.parametrize("given", [{"blue": 100}, {"blue": 90, "green": 10}, {"blue": 0, "green": 0}, {}])
def test_shares_of_100_or_of_nothing(given: dict[str, int]) -> None:
    assert refused(traffic.problems(shares(given))) == []


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"blue": 50}, ["traffic"]),
        ({"blue": 60, "green": 60}, ["traffic"]),
        ({"blue": 110, "green": -10}, ["traffic.blue", "traffic.green"]),
        ({"red": 100}, ["traffic.red"]),
    ],
)
def test_shares_that_are_not(given: dict[str, int], paths: list[str]) -> None:
    assert refused(traffic.problems(shares(given))) == paths


@pytest.mark.parametrize(
    ("mirror", "kind", "paths"),
    [
        ({"green": 50}, "Managed", []),
        ({"green": 0}, "Kubernetes", []),
        ({"green": 51}, "Managed", ["mirror.green"]),
        ({"green": 10}, "Kubernetes", ["mirror"]),
        ({"blue": 10}, "Managed", ["mirror.blue"]),
        ({"blue": 10, "green": 10}, "Managed", ["mirror", "mirror.blue"]),
    ],
)
def test_at_most_half_is_mirrored_to_one_deployment_that_gets_nothing_live(
    mirror: dict[str, int], kind: str, paths: list[str]
) -> None:
    assert refused(traffic.problems(shares({"blue": 100}, mirror, kind=kind))) == paths


def rules(**changed: Any) -> list[Problem]:
    given: dict[str, Any] = {"least": 1, "most": 3, "thresholds": {Metric.CPU: 70.0}, "gpus": True, **changed}
    times = {"window_minutes": 5, "cooldown_minutes": 60, **{key: given.pop(key) for key in list(given) if "minutes" in key}}
    paths = {metric: metric.name.lower() for metric in Metric}
    return autoscale.problems(AutoscaleRequest(path="auto", threshold_paths=paths, **given, **times))


def test_rules_of_azures_own_example_are_taken() -> None:
    assert rules() == []
    assert rules(window_minutes=720, cooldown_minutes=7 * 24 * 60) == []


@pytest.mark.parametrize(
    ("changed", "path"),
    [
        ({"least": 0}, "auto.min"),
        ({"least": 4}, "auto.max"),
        ({"least": 3}, "auto.max"),
        ({"thresholds": {Metric.CPU: 0}}, "cpu"),
        ({"thresholds": {Metric.GPU: 101}}, "gpu"),
        ({"thresholds": {Metric.GPU: 50}, "gpus": False}, "gpu"),
        ({"thresholds": {Metric.REQUESTS: 0}}, "requests"),
        ({"window_minutes": 721}, "auto.window_minutes"),
        ({"cooldown_minutes": 0}, "auto.cooldown_minutes"),
    ],
)
def test_rules_that_are_not_taken_or_do_nothing(changed: dict[str, Any], path: str) -> None:
    assert refused(rules(**changed)) == [path]


def test_metrics_have_azures_names() -> None:
    assert list(Metric) == ["CpuUtilizationPercentage", "GpuUtilizationPercentage", "RequestsPerMinute"]


def test_an_instance_less_does_not_bring_the_use_back_above_the_value_at_which_one_is_added() -> None:
    assert autoscale.shrink_below(70) == 28
    assert autoscale.shrink_below(70) * 2 < 70  # two instances below it become one


def test_probes_and_limits_are_the_services_where_nothing_is_said() -> None:
    assert Probe() == (10, 10, 2, 1, 30)
    assert (serving.DEFAULT_REQUEST_TIMEOUT_S, serving.DEFAULT_CONCURRENT, serving.DEFAULT_QUEUE_S) == (5, 1, 0.5)
    assert serving.DEFAULT_UTILIZATION == 70


def test_probes_have_no_zeros_and_liveness_one_success() -> None:
    assert serving.probe_problems(ProbeRequest(Probe(), "probe", liveness=True)) == []
    assert len(serving.probe_problems(ProbeRequest(Probe(0, 0, 0, 0, 0), "probe"))) == 5
    assert refused(serving.probe_problems(ProbeRequest(Probe(success_threshold=2), "probe", liveness=True))) == [
        "probe.success_threshold"
    ]
    assert serving.probe_problems(ProbeRequest(Probe(success_threshold=2), "probe")) == []


def test_more_than_one_request_at_a_time_on_kubernetes_is_warned_of() -> None:
    [problem] = serving.limits_problems(LimitsRequest("Kubernetes", "requests", 2, 0.5))
    assert problem.severity is Severity.WARNING
    assert list(serving.limits_problems(LimitsRequest("Managed", "requests", 200, 0))) == []


@pytest.mark.parametrize(
    ("size", "instances", "family", "vcpus"),
    [
        ("Standard_NC4as_T4_v3", 1, "standard NCASv3_T4 Family", 8),
        ("Standard_NC24ads_A100_v4", 1, "standardNCADSA100v4Family", 24),  # exempt
        ("standard_ds3_v2", 5, "standardDSv2Family", 24),
        ("STANDARD_F4S_V2", 1, "standardFSv2Family", 8),
        ("Standard_L8as_v3", 10, "standardLASv3Family", 96),
        ("Standard_Unheard_Of", 1, "", None),
    ],
)
def test_quota_is_of_a_fifth_more_instances(size: str, instances: int, family: str, vcpus: int | None) -> None:
    assert endpoints.quota_of(size, instances) == (family, vcpus)


def test_the_list_has_these_sizes_without_a_gpu() -> None:
    assert {one.name for one in endpoints.MANAGED_CPU_SIZES} >= {"Standard_D96as_v4", "Standard_FX4mds", "Standard_E2s_v3"}
    assert endpoints.managed_cpu("Standard_D4s_v5") is None
    assert [problem.path for problem in endpoints.unlisted("Standard_D4s_v5", "size")] == ["size"]
    assert list(endpoints.unlisted("Standard_DS1_v2", "size")) == []


@pytest.mark.parametrize(
    ("size", "gpu"),
    [
        ("Standard_NC4as_T4_v3", True),
        ("nv6ads_a10_v5", True),
        ("Standard_HB120rs_v3", False),
        ("Standard_D2_v7", False),
        ("Standard_NX1", None),
        ("", None),
    ],
)
def test_which_sizes_have_a_gpu(size: str, gpu: bool | None) -> None:
    assert endpoints.has_gpu(size) is gpu


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
