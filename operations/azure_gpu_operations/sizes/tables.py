"""Shows what is known of sizes to a person: the facts that `--json` prints, as tables and lines."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from azure_gpu.catalog.sources import DAYS
from azure_gpu_operations.tables import Column, lines, print_table, width_of
from azure_gpu_operations.terminal import counted

Facts = Mapping[str, Any]
UNKNOWN = "?"
_SENTENCE = 24  # characters below which a remark isn't readable


def show_answer(console: Console, facts: Facts, with_left_out: bool, wide: bool) -> None:
    found: Sequence[Facts] = facts["found"]
    if found:
        print_table(console, _columns(found), wide=wide)
        console.print("Prices: list price, pay as you go, Linux. A price doesn't prove that there is capacity.")
        stale = sum(bool(row["price_stale"]) for row in found)
        if stale:
            console.print(f"{stale} of these prices {'is' if stale == 1 else 'are'} more than {DAYS['prices']} days old.")
    else:
        console.print("No size fits.")
    left_out: Sequence[Facts] = facts["left_out"]
    if with_left_out:
        console.print(f"Left out, {counted(len(left_out), 'size')}:")
        for row in left_out:
            console.print(Text(f"  {row['size']}: {'; '.join(row['reasons'])}"))
    elif left_out:
        console.print(f"{counted(len(left_out), 'size')} left out; --why shows the reasons.")


def _columns(found: Sequence[Facts]) -> list[Column]:
    def cells(key: str, unknown: str = UNKNOWN) -> list[str]:
        return [_text(row[key], unknown) for row in found]

    remarks = ["; ".join(row["remarks"]) for row in found]
    return [
        Column("Size", cells("size")),
        Column("GPU", cells("gpu", "-"), 6),
        Column("GPUs", cells("gpus"), 7),
        Column("GPU GiB", cells("gpu_memory_gib"), 4),
        Column("vCPU", cells("vcpus"), 3),
        Column("GiB", cells("memory_gib"), 2),
        Column("RDMA", ["yes" if row["rdma"] else "no" for row in found], 1),
        Column("USD/hour", cells("usd_hour"), 9),
        Column("As of", [_price_day(row["price_day"], row["price_stale"]) for row in found], 0),
        Column("Region", cells("region", "-"), 8),
        *([Column("Remarks", remarks, 5, wraps=_SENTENCE)] if any(remarks) else []),
    ]


def show_size(console: Console, facts: Facts, wide: bool) -> None:
    console.print(Text(f"{facts['size']}, as of {facts['as_of']}: {facts['status']}"))
    rows = (
        ("Series", facts["series"]),
        ("GPU", facts["gpu"]),
        ("GPUs", facts["gpus"]),
        ("GPU memory of the machine, GiB", facts["gpu_memory_gib"]),
        ("Memory of one whole GPU, GiB", facts["gpu_memory_of_one_whole_gib"]),
        ("Architecture, compute capability", _joined([facts["gpu_architecture"], facts["compute_capability"]])),
        ("MIG", _joined(f"{name}: {mig['instances']} x {mig['profile']}" for name, mig in facts["mig"].items()) or "no"),
        ("Drivers", _joined(facts["drivers"])),
        ("vCPU, counted against the quota", _joined([facts["vcpus"], facts["quota_vcpus"]])),
        ("Memory, GiB", facts["memory_gib"]),
        ("InfiniBand (RDMA)", "yes" if facts["rdma"] else "no"),
        ("VM generations", _joined(facts["vm_generations"])),
        ("Processor", facts["processor"]),
        ("Quota family", facts["quota_family"]),
        ("Last day", facts["end"] or "none announced"),
        ("Named successors", _joined(facts["successors_named"]) or "none"),
    )
    labels, values = zip(*((label, _text(value)) for label, value in rows), strict=True)
    for line in lines([Column("", labels), Column("", values, wraps=_SENTENCE)], width_of(console, wide))[1:]:
        console.print(Text(line), soft_wrap=True)
    _show_lifecycle(console, facts["lifecycle"])
    console.print("Services:")
    for service, problems in facts["services"].items():
        console.print(Text(f"  {service}: {'; '.join(_problem(problem) for problem in problems) or 'no known problem'}"))
    _show_prices(console, facts["prices"], wide)
    for heading, notes in (("Notes:", facts["notes"]), ("Sources:", facts["sources"])):
        if notes:
            console.print(heading)
            for note in notes:
                console.print(Text(f"  {note}"))


def show_retiring(console: Console, rows: Sequence[Facts], until: str, wide: bool) -> None:
    """Grouped by day, regions and what to use instead."""
    if not rows:
        console.print(f"No size retires until {until}.")
        return
    width, last = width_of(console, wide), ""
    for regions, group in _groups(rows):
        heading = (
            f"{group[0]['end']}, in {group[0]['days']} days{'' if regions == ['everywhere'] else ', in ' + ', '.join(regions)}"
        )
        if heading != last:
            console.print(Text(heading, "bold"), soft_wrap=True)
        last = heading
        texts = [", ".join(row["size"] for row in group), f"instead: {', '.join(group[0]['instead']) or 'no known size'}"]
        if wide:
            texts.append(f"source: {'; '.join(dict.fromkeys(row['source'] for row in group))}")
        for text in texts:
            console.print(Text(_indented(text, width)), soft_wrap=True)
    if not wide:
        console.print("--wide shows the sources.")


def _groups(rows: Sequence[Facts]) -> list[tuple[list[str], list[Facts]]]:
    """The rows with the same day and replacements, and the regions in which these are the same sizes."""
    by_region: dict[tuple[str, str, tuple[str, ...]], list[Facts]] = {}
    for row in rows:
        by_region.setdefault((row["end"], row["where"], tuple(row["instead"])), []).append(row)
    merged: dict[tuple[str, tuple[str, ...], tuple[str, ...]], tuple[list[str], list[Facts]]] = {}
    for (end, where, instead), group in by_region.items():
        merged.setdefault((end, instead, tuple(row["size"] for row in group)), ([], group))[0].append(where)
    return sorted(merged.values(), key=lambda found: (found[1][0]["end"], found[0] != ["everywhere"], found[0]))


def _indented(text: str, width: int | None) -> str:
    """Wrapped between words: a name stays whole."""
    if width is None:
        return f"  {text}"
    return textwrap.fill(
        text, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


def _show_lifecycle(console: Console, lifecycle: Facts) -> None:
    dates = [
        f"{label} {lifecycle[key]}"
        for key, label in (("seen", "first:"), ("announced", "end announced:"), ("end", "end:"), ("doubt", "doubtful since:"))
        if lifecycle[key]
    ]
    dates += [f"end in {region}: {end}" for region, end in lifecycle["end_elsewhere"].items()]
    dates += [f"other end: {source}" for source in lifecycle["also_given"]]
    console.print("Dates:")
    for date in dates:
        console.print(Text(f"  {date}"))


def _show_prices(console: Console, prices: Sequence[Facts], wide: bool) -> None:
    if not prices:
        console.print("Prices: none known.")
        return
    columns = [
        Column("Region", [row["region"] for row in prices]),
        Column("USD/hour", [_text(row["usd_hour"]) for row in prices], 4),
        Column("as of", [_price_day(row["price_day"], row["price_stale"]) for row in prices], 2),
        Column("Spot", [_text(row["spot_usd_hour"]) for row in prices], 3),
        Column("as of", [_text(row["spot_day"]) for row in prices], 1),
        Column("source", ["; ".join(row["sources"]) for row in prices], 0, wraps=_SENTENCE),
    ]
    print_table(console, columns, title="List prices, Linux, cheapest first", wide=wide)


def _price_day(day: str | None, stale: bool | None) -> str:
    return f"{_text(day)}{', stale' if stale else ''}"


def _problem(problem: Facts) -> str:
    parts = [f"{problem['code']} {problem['message']}"]
    parts += [f"{label}: {problem[label]}" for label in ("allowed", "fix") if problem[label]]
    return "; ".join(parts)


def _joined(values: Any) -> str:
    return ", ".join(_text(value) for value in values if value not in (None, ""))


def _text(value: object, unknown: str = UNKNOWN) -> str:
    return unknown if value in (None, "") else str(value)
