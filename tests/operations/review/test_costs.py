"""Costs of a stack before and after: what isn't known stays so."""

from datetime import date
from decimal import Decimal

import pytest

from azure_gpu.catalog.prices.container_apps import packaged_meters
from azure_gpu_operations.graph import kinds
from azure_gpu_operations.graph.machines import Machines
from azure_gpu_operations.graph.model import Graph, Part
from azure_gpu_operations.review.costs import costs, held_against, of_parts
from azure_gpu_operations.review.model import Amount

T4, A100 = "Standard_NC4as_T4_v3", "Standard_NC24ads_A100_v4"


def part(
    name: str, idle: float | None, most: float | None, *machines: Machines, type_: str = kinds.POOL, exists: bool = False
) -> Part:
    return Part(f"{type_}/{name}", type_, name, "eastus", machines, (), exists=exists, most_cost=most, idle_cost=idle, expires="")


def graph(*parts: Part) -> Graph:
    return Graph("dev", date(2026, 11, 25), parts, (), ())


def test_what_is_not_known_is_counted_and_not_taken_for_nothing() -> None:
    found = of_parts([part("a", 1.0, None), part("b", None, None), part("c", 0.5, 1.0)], busy_hours=10)
    assert (found.idle_hour, found.most_hour, found.expected_month.unknown) == (Amount(1.5, 1), Amount(1.0, 2), 2)


def test_a_job_in_a_region_where_only_a_limit_is_known_costs_that_at_most() -> None:
    replica = Machines("", "8 CPU, 56 GiB", "T4", 0, 2)
    tonight = part("tonight", 0.0, None, replica, type_=kinds.JOB)._replace(location="westeurope")
    price = packaged_meters().hourly_cost(Decimal(8), Decimal(56), "T4", "westeurope", at_most=True)
    limit = 2 * float(price.usd_hour if price else 0)
    found = of_parts([tonight, part("a", 1.0, 3.0)], busy_hours=100)
    assert (found.idle_hour, found.most_hour) == (Amount(1.0, 0), Amount(3.0, 0, pytest.approx(limit)))
    assert found.most_month == Amount(3.0 * 730, 0, pytest.approx(limit * 730))
    assert found.expected_month == Amount(1.0 * 630 + 3.0 * 100, 0, pytest.approx(limit * 100))


def test_gpu_hours_are_those_of_all_gpus() -> None:
    pool = part("a", 0.5, 2.0, Machines("", T4, "T4", 1, 4))
    eight = part("b", 0.0, 9.0, Machines("", A100, "2 x A100", 0, 1))
    found = of_parts([pool, eight, part("c", 0.5, 0.5, Machines("", "Standard_D4s_v5", "", 1, 1))], busy_hours=100)
    assert found.gpu_hours_idle_month == 730
    assert found.gpu_hours_most_month == 6 * 730
    assert found.gpu_hours_expected_month == 1 * 630 + 6 * 100
    assert of_parts([part("c", None, None, Machines("", T4, "T4", None, None))], 1).gpu_hours_most_month is None


def test_without_spot_the_same_machines_cost_their_list_price() -> None:
    dear = part("a", 0.0, 0.2, Machines("", T4, "T4", 0, 2, spot=True))
    found = of_parts([dear], 1).on_demand_most_hour
    assert found.unknown or found.known > 0.2
    unknown = part("a", 0.0, 0.2, Machines("", "Standard_Nothing", "", 0, 2, spot=True))
    assert of_parts([unknown], 1).on_demand_most_hour == Amount(0.0, 1)


def test_rows_are_by_the_key_of_the_stack_file_and_changed_ones_first() -> None:
    same = part("same", 1.0, 1.0, Machines("", T4, "T4", 1, 1))
    before = graph(same, part("gone", 0.0, 1.0), part("shared", 0.2, 0.7, type_=kinds.CLUSTER))
    theirs = part("theirs", 1.0, 1.0, exists=True)  # which costs the stack nothing
    after = graph(
        same, theirs, part("new", 0.0, 2.0, Machines("", T4, "T4", 0, 1)), part("shared", 0.2, 0.9, type_=kinds.CLUSTER)
    )
    found = costs(before, after, 160)
    assert [row.part for row in found.parts] == ["clusters.shared", "pools.gone", "pools.new", "pools.same"]
    rows = {row.part: row for row in found.parts}
    assert rows["pools.gone"].after is None
    assert rows["pools.new"].before is None
    assert rows["pools.new"].price_dates
    assert found.before is not None
    assert found.after is not None
    assert (found.before.most_hour.known, found.after.most_hour.known) == (pytest.approx(2.7), pytest.approx(3.9))


def test_a_side_that_could_not_be_read_is_not_known_and_not_nothing() -> None:
    found = costs(None, graph(part("a", 1.0, 2.0), part("b", 1.0, 2.0)), 160, unread=(True, False))
    assert found.before is not None
    assert (found.before.most_month, found.before.gpu_hours_most_month) == (Amount(0.0, 2), None)
    assert all(row.before is not None and row.before.most_hour == Amount(0.0, 1) for row in found.parts)
    new = costs(None, graph(part("a", 1.0, 2.0)), 160)
    assert new.before is None


@pytest.mark.parametrize(
    ("spent", "is_over"),
    [
        ((99, 0), False),
        ((101, 0), True),
        ((101, 1), True),
        ((5, 1), None),
        ((60, 0, 40), False),
        ((60, 0, 41), None),
        ((101, 0, 5), True),
    ],
)
def test_a_budget_is_not_kept_where_a_cost_is_not_known(spent: tuple[float, ...], is_over: bool | None) -> None:
    total = of_parts([], 160)._replace(expected_month=Amount(*map(int, spent)))
    assert held_against(100.0, total).is_over is is_over
