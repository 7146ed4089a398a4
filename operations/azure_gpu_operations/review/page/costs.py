"""Writes a stack's costs: totals, the budget, a chart, and a table of the parts."""

from collections.abc import Iterator, Sequence

from azure_gpu_operations.review.model import Amount, Budget, Costs, Part, PartCosts, StackCosts
from azure_gpu_operations.review.page import chart, money
from azure_gpu_operations.review.page.markup import Row, now_then, scrollable, table
from azure_gpu_operations.review.page.texts import code, html, name
from azure_gpu_operations.review.page.whose import part_of

_COUNTED = "USD. List prices of machines only, without storage, registry, logs and network."
_TOTALS = (
    ("a month, while nothing runs", "idle_month"),
    ("a month, expected", "expected_month"),
    ("a month, at most", "most_month"),
    ("an hour, while nothing runs", "idle_hour"),
    ("an hour, at most", "most_hour"),
    ("an hour, at most, without Spot", "on_demand_most_hour"),
)
_GPU_HOURS = (
    ("GPU-hours a month, while nothing runs", "gpu_hours_idle_month"),
    ("GPU-hours a month, expected", "gpu_hours_expected_month"),
    ("GPU-hours a month, at most", "gpu_hours_most_month"),
)


def of_stack(costs: StackCosts, parts: Sequence[Part]) -> Iterator[str]:
    yield "<h3>Costs</h3>"
    if costs.before is None and costs.after is None:
        yield "<p>The costs aren't known.</p>"
    else:
        yield f"<p>{_COUNTED} Expected: busy for {costs.busy_hours:,.0f} of 730 hours a month.{_unknown(costs)}</p>"
        yield from table("All parts", ("USD", "Now", "Then", "Change"), _totals(costs.before, costs.after), kind="totals")
    if costs.budget is not None:
        yield f"<p>{_budget(costs.budget)}</p>"
    if costs.parts:
        yield from _chart(costs.parts)
        headings = ("Part", "Machines", "Nothing runs", "Expected", "At most", "Prices of")
        rows = (_row(each, parts) for each in costs.parts)
        yield from scrollable("Costs of each part", table("Each part, USD a month", headings, rows, text_columns=(1,)))


def _unknown(costs: StackCosts) -> str:
    numbers = [f"{each.most_hour.unknown:,} {state}" for each, state in ((costs.before, "now"), (costs.after, "then")) if each]
    if all(each.startswith("0 ") for each in numbers):
        return ""
    return f" Parts with unknown costs: {', '.join(numbers)}; not included in the changes."


def _totals(before: Costs | None, after: Costs | None) -> Iterator[Row]:
    for title, field in _TOTALS:
        now, then = _amount(before, field), _amount(after, field)
        yield Row(title, (money.amount(now), money.amount(then), money.change(now, then)))
    for title, field in _GPU_HOURS:
        yield Row(
            title, (*(money.NOTHING if each is None else money.hours(getattr(each, field)) for each in (before, after)), "")
        )


def _amount(costs: Costs | None, field: str) -> Amount | None:
    return None if costs is None else getattr(costs, field)


def _budget(one: Budget) -> str:
    over = {None: "unknown whether over budget", True: "<strong>over the budget</strong>", False: "within it"}[one.is_over]
    return f"Budget: {money.usd(one.monthly_usd)} USD a month. Expected: {money.amount(one.expected_month)} USD, {over}."


def _chart(parts: Sequence[PartCosts]) -> Iterator[str]:
    picture = chart.drawn(parts)
    if not picture:
        return
    rest = f" The first {chart.MOST_PARTS} of {len(parts):,} parts; the table has all." if len(parts) > chart.MOST_PARTS else ""
    keys = "".join(f'<li><span class="key color-{index}"></span>{each}</li>' for index, each in enumerate(chart.SERIES))
    yield f"<figure><figcaption>USD a month, now and then.{rest}</figcaption>"
    yield f'<ul class="keys">{keys}</ul>{picture}</figure>'


def _row(one: PartCosts, parts: Sequence[Part]) -> Row:
    days = tuple(dict.fromkeys((*one.price_dates[:1], *one.price_dates[-1:])))
    cells = (
        now_then(html(one.machines_before) or money.NOTHING, html(one.machines_after) or money.NOTHING),
        *(
            now_then(*(money.amount(_amount(each, field)) for each in (one.before, one.after)))
            for field in ("idle_month", "expected_month", "most_month")
        ),
        html(" to ".join(days)) or money.NOTHING,
    )
    heading = f'{code(one.part) if one.part.strip() else name(one.part)} <span class="note">{html(one.kind)}</span>'
    return Row(heading, cells, f' data-item data-part="{html(part_of(one.part, parts))}"')
