"""Costs of a stack before and after a change: idle, expected and at most, by part. Pure.

Unknown costs stay unknown; a job of whose price only an upper limit is known costs that at most. A month has 730 hours, as on
Azure's price pages. Expected is the idle cost, plus the maximum for `busy_hours` of the month: an assumption, which the report
names.
"""

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import get_args

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.container_apps import Meter, packaged_meters
from azure_gpu.catalog.services.container_apps import PROFILES
from azure_gpu.formats.parts import path_of_part
from azure_gpu_operations.graph import kinds, words
from azure_gpu_operations.graph.machines import Machines
from azure_gpu_operations.graph.model import Graph, Part
from azure_gpu_operations.review.model import Amount, Budget, Costs, PartCosts, StackCosts

MONTH_HOURS = 730


def costs(
    before: Graph | None,
    after: Graph | None,
    busy_hours: float,
    monthly_usd: float | None = None,
    *,
    unread: tuple[bool, bool] = (False, False),
) -> StackCosts:
    """`before` and `after`: None where the stack isn't there, or couldn't be read, which `unread` says of each; then its costs
    aren't known, and not 0. `monthly_usd`: the stack file's budget."""
    ours, theirs = _by_path(before), _by_path(after)
    unread_before, unread_after = (_unknown(1) if each else None for each in unread)
    rows: list[PartCosts] = []
    for path in dict.fromkeys((*theirs, *ours)):
        was, now = ours.get(path), theirs.get(path)
        shown = now or was
        assert shown is not None
        rows.append(
            PartCosts(
                part=path,
                kind=shown.noun,
                machines_before=_machines(was),
                machines_after=_machines(now),
                before=of_parts([was], busy_hours) if was else unread_before,
                after=of_parts([now], busy_hours) if now else unread_after,
                price_dates=tuple(sorted({day.isoformat() for part in (was, now) if part for day in _days(part)})),
            )
        )
    rows.sort(key=lambda row: (row.before == row.after and row.machines_before == row.machines_after, row.part))
    total = of_parts(theirs.values(), busy_hours) if after is not None else None
    parts = max(1, len(rows))
    if unread[1]:
        total = _unknown(parts)
    return StackCosts(
        busy_hours=busy_hours,
        before=_unknown(parts) if unread[0] else of_parts(ours.values(), busy_hours) if before is not None else None,
        after=total,
        parts=tuple(rows),
        budget=held_against(monthly_usd, total) if monthly_usd is not None and total is not None else None,
    )


def held_against(monthly_usd: float, total: Costs) -> Budget:
    """A budget and what is expected."""
    spent = total.expected_month
    verdict = spent.against(monthly_usd).verdict
    return Budget(monthly_usd, spent, None if verdict == "unknown" else verdict == "over")


def of_parts(parts: Iterable[Part], busy_hours: float) -> Costs:
    """The sum of the parts' costs."""
    listed = list(parts)
    idle = _sum(_amount(each.idle_cost) for each in listed)
    most = _sum(_amount(each.most_cost, _limit(each)) for each in listed)
    on_demand = _sum(_amount(_on_demand(each), _limit(each)) for each in listed)
    busy = min(busy_hours, MONTH_HOURS)
    gpus_idle, gpus_most = _gpus(listed, at_most=False), _gpus(listed, at_most=True)
    return Costs(
        idle_hour=idle,
        most_hour=most,
        idle_month=_times(idle, MONTH_HOURS),
        expected_month=_sum(_expected(each, busy) for each in listed),
        most_month=_times(most, MONTH_HOURS),
        on_demand_most_hour=on_demand,
        gpu_hours_idle_month=None if gpus_idle is None else gpus_idle * MONTH_HOURS,
        gpu_hours_expected_month=None
        if gpus_idle is None or gpus_most is None
        else gpus_idle * (MONTH_HOURS - busy) + gpus_most * busy,
        gpu_hours_most_month=None if gpus_most is None else gpus_most * MONTH_HOURS,
    )


def _unknown(parts: int) -> Costs:
    """Costs of parts without known prices."""
    none = Amount(0.0, parts)
    return Costs(none, none, none, none, none, none, None, None, None)


def _by_path(graph: Graph | None) -> dict[str, Part]:
    """The parts with a cost, by their path in the stack file."""
    parts = graph.parts if graph is not None else ()
    return {_path(each): each for each in parts if each.has_cost and not each.exists}


def _path(part: Part) -> str:
    if part.type == kinds.COMPUTE:
        return f"ml_workspace.computes.{part.name}"
    return path_of_part(part.type.rpartition(":")[2], part.name) or part.name


def _expected(part: Part, busy: float) -> Amount:
    most = _amount(part.most_cost, _limit(part))
    if part.idle_cost is None:
        return Amount(0.0, 1)
    return Amount(part.idle_cost * (MONTH_HOURS - busy) + most.known * busy, most.unknown, most.limit * busy)


def _amount(usd: float | None, limit: float | None = None) -> Amount:
    if usd is not None:
        return Amount(usd, 0)
    return Amount(0.0, 1) if limit is None else Amount(0.0, 0, limit)


def _limit(part: Part) -> float | None:
    """What a job of Container Apps costs an hour at most, with whole profiles, where its price isn't known."""
    if part.type != kinds.JOB or part.most_cost is not None:
        return None
    [each] = part.machines
    profile = next((one for one in PROFILES.values() if one.kind == "serverless" and one.gpu == each.gpu), None)
    if profile is None or each.most is None:
        return None
    amounts = Decimal(profile.vcpus), Decimal(profile.memory_gib)
    price = packaged_meters().hourly_cost(*amounts, profile.gpu, part.location, at_most=True)
    return float(price.usd_hour) * each.most if price else None


def _sum(amounts: Iterable[Amount]) -> Amount:
    listed = list(amounts)
    return Amount(*(sum(getattr(each, name) for each in listed) for name in Amount._fields))


def _times(amount: Amount, hours: float) -> Amount:
    return Amount(amount.known * hours, amount.unknown, amount.limit * hours)


def _on_demand(part: Part) -> float | None:
    """At most, as if nothing of it were Spot."""
    cost = part.most_cost
    for each in part.machines:
        if not each.spot:
            continue
        regular, spot = packaged().on_demand(each.size, part.location), packaged().spot(each.size, part.location)
        if cost is None or each.most is None or regular is None or spot is None:
            return None
        cost += float(regular.usd_hour - spot.usd_hour) * each.most
    return cost


def _gpus(parts: Sequence[Part], *, at_most: bool) -> float | None:
    total = 0.0
    for part in parts:
        for each in part.machines:
            in_one = gpus_of(each)
            if not in_one:
                continue
            count = each.most if at_most else _idle(part, each)
            if count is None:
                return None
            total += in_one * count
    return total


def _idle(part: Part, machines: Machines) -> int | None:
    return 0 if part.type == kinds.JOB else machines.idle


def gpus_of(machines: Machines) -> int:
    """The number of GPUs per machine, from the label: `T4`, `2 x A100`."""
    number, times, _ = machines.gpu.partition(" x ")
    return 0 if not machines.gpu else int(number) if times and number.isdigit() else 1


def _machines(part: Part | None) -> str:
    return "; ".join(words.machines(each) for each in part.machines) if part is not None else ""


def _days(part: Part) -> Iterable[date]:
    """The dates of the prices of its costs."""
    for each in part.machines:
        price = packaged().spot(each.size, part.location) if each.spot else packaged().on_demand(each.size, part.location)
        if price is not None:
            yield price.day
    if part.type == kinds.JOB and (part.most_cost is not None or _limit(part) is not None):
        meters = ("vcpu", "memory", *(each for each in get_args(Meter) if each in {one.gpu for one in part.machines}))
        rows = (packaged_meters().per_second(meter, part.location, at_most=True) for meter in meters)
        yield from (row.day for row in rows if row is not None)
