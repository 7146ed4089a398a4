"""Draws a stack's costs a month as bars: each part now and then, at idle, as expected and at most.

The library is pygal: pure Python, kept since 2012, and it writes SVG where the page is made, so that the chart is there without
JavaScript. Altair and plotly draw in the browser, from a script of megabytes that has to be trusted; matplotlib brings numpy and
draws letters as paths, which can't be selected or read aloud; leather has no stacked bars, and colours that no dark mode reaches.
pygal's own style and script are taken out: the page's style colours the bars by class, and titles tell their values.
"""

from collections.abc import Sequence
from typing import Any

from azure_gpu_operations.review.model import Amount, Costs, PartCosts
from azure_gpu_operations.review.page import money
from azure_gpu_operations.review.page.texts import cut, readable

MOST_PARTS = 12  # of a chart; the table has all
SERIES = ("while nothing runs", "expected", "at most")
_WIDTH = 520
_BAR, _AROUND = 24, 44
_LABEL = 22
_DRAWN_BY_SCRIPT = frozenset({"plot overlay", "plot text-overlay", "plot tooltip-overlay"})


def drawn(parts: Sequence[PartCosts]) -> str:
    """SVG to be put into a page; "" where no part has a known cost."""
    import pygal  # here: a review without a page doesn't load it
    from pygal.style import Style

    bars = [
        bar for part in parts[:MOST_PARTS] for bar in (_Bar(part.part, "now", part.before), _Bar(part.part, "then", part.after))
    ]
    if not any(bar.ends[-1] for bar in bars):
        return ""
    bars.reverse()  # the first is at the bottom
    chart = pygal.HorizontalStackedBar(
        width=_WIDTH,
        height=_AROUND + _BAR * len(bars),
        show_legend=False,  # the page has one that a screen reader reads
        no_prefix=True,
        disable_xml_declaration=True,
        show_minor_x_labels=True,
        margin=4,
        spacing=6,
        style=Style(label_font_size=14, major_label_font_size=14),
        value_formatter=lambda value: f"{value:,.0f}",
        max_scale=6,
    )
    chart.x_labels = [bar.label for bar in bars]
    for index, name in enumerate(SERIES):
        chart.add(name, [bar.segment(index, name) for bar in bars])
    chart.add_xml_filter(_plain)
    return str(chart.render(is_unicode=True))


class _Bar:
    """A part in one state."""

    def __init__(self, part: str, state: str, costs: Costs | None) -> None:
        self.amounts: tuple[Amount, ...] = (
            (costs.idle_month, costs.expected_month, costs.most_month) if costs else (Amount(0, 0),) * len(SERIES)
        )
        self.label = f"{cut(readable(part), _LABEL)} {state}"
        self.ends = [each.known for each in self.amounts]

    def segment(self, index: int, name: str) -> dict[str, Any]:
        """From where the one before it ends; the label has what it stands for."""
        start = max(self.ends[:index], default=0.0)
        costs = money.amount(self.amounts[index])
        label = f"{self.label}, {name}: {costs}{'' if costs == money.NOT_KNOWN else ' USD'}"
        return {"value": max(0.0, self.ends[index] - start), "label": label}


def _plain(root: Any) -> Any:
    """The tree without what the page's policy forbids, what only a script uses, and what the day changes."""
    for child in list(root):
        if not isinstance(child.tag, str) or child.tag in ("defs", "title"):
            root.remove(child)
    for each in [root, *root.iter()]:
        each.attrib.pop("id", None)
        each.attrib.pop("style", None)
    for parent in list(root.iter("g")):
        for child in list(parent):
            if child.get("class") in _DRAWN_BY_SCRIPT:
                parent.remove(child)
        _tell(parent)
    root.set("role", "img")
    root.set("aria-label", "USD a month for each part, now and then; the table below has the numbers")
    return root


def _tell(group: Any) -> None:
    """A bar's label as its title, which browsers show where the pointer is; what pygal's script reads goes."""
    label = next((each.text for each in group.findall("desc") if each.get("class") == "label"), None)
    for name in ("desc", "title"):
        for each in group.findall(name):
            group.remove(each)
    if label:
        title = group.makeelement("title", {})
        title.text = label
        group.insert(0, title)
