"""Shows what is known of sizes to a person.

In: the facts that `--json` prints. Out: tables and lines on the console, whole, without cutting a value off.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from azure_gpu_operations.console import columns

Facts = Mapping[str, Any]
UNKNOWN = "?"
_COLUMNS = ("Size", "GPU", "GPUs", "GPU GiB", "vCPU", "GiB", "RDMA", "USD/hour", "Region", "Remarks")


def show_answer(console: Console, facts: Facts, with_left_out: bool) -> None:
    found: Sequence[Facts] = facts["found"]
    table = Table(*columns(*_COLUMNS))
    for row in found:
        remarks = [*row["remarks"], *_price_remarks(row)]
        table.add_row(
            row["size"],
            row["gpu"] or "-",
            _text(row["gpus"]),
            _text(row["gpu_memory_gib"]),
            _text(row["vcpus"]),
            _text(row["memory_gib"]),
            "yes" if row["rdma"] else "no",
            _text(row["usd_hour"]),
            row["region"] or "-",
            "; ".join(remarks),
        )
    if found:
        console.print(table)
        console.print("Prices: list price, pay as you go, Linux. A price is no proof that the region has capacity.")
    else:
        console.print("No size fits.")
    left_out: Sequence[Facts] = facts["left_out"]
    if with_left_out:
        console.print(f"Left out, {len(left_out)} sizes:")
        for row in left_out:
            console.print(Text(f"  {row['size']}: {'; '.join(row['reasons'])}"))
    elif left_out:
        console.print(f"{len(left_out)} sizes left out; --why says why.")


def show_size(console: Console, facts: Facts) -> None:
    console.print(Text(f"{facts['size']}, as of {facts['as_of']}: {facts['status']}"))
    table = Table(*columns("", ""), show_header=False)
    for label, value in (
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
    ):
        table.add_row(label, Text(_text(value)))
    console.print(table)
    _show_lifecycle(console, facts["lifecycle"])
    console.print("Services:")
    for service, problems in facts["services"].items():
        console.print(Text(f"  {service}: {'; '.join(_said(problem) for problem in problems) or 'nothing speaks against it'}"))
    _show_prices(console, facts["prices"])
    for heading, lines in (("Notes:", facts["notes"]), ("Sources:", facts["sources"])):
        if lines:
            console.print(heading)
            for line in lines:
                console.print(Text(f"  {line}"))


def show_retiring(console: Console, rows: Sequence[Facts], until: str) -> None:
    if not rows:
        console.print(f"No size retires until {until}.")
        return
    table = Table(*columns("Size", "Last day", "Days", "Where", "Instead", "Source"))
    for row in rows:
        table.add_row(row["size"], row["end"], str(row["days"]), row["where"], "\n".join(row["instead"]), row["source"])
    console.print(table)


def _show_lifecycle(console: Console, lifecycle: Facts) -> None:
    lines = [
        f"{label} {lifecycle[key]}"
        for key, label in (("seen", "first:"), ("announced", "end announced:"), ("end", "end:"), ("doubt", "doubtful since:"))
        if lifecycle[key]
    ]
    lines += [f"end in {region}: {end}" for region, end in lifecycle["end_elsewhere"].items()]
    lines += [f"also given as the end: {source}" for source in lifecycle["also_given"]]
    console.print("Dates:")
    for line in lines:
        console.print(Text(f"  {line}"))


def _show_prices(console: Console, prices: Sequence[Facts]) -> None:
    if not prices:
        console.print("Prices: none known.")
        return
    headings = columns("Region", "USD/hour", "of", "Spot", "of")
    table = Table(*headings, title="List prices, Linux, cheapest first", title_justify="left")
    for row in prices:
        table.add_row(
            row["region"],
            _text(row["usd_hour"]),
            f"{_text(row['price_day'])}{', stale' if row['price_stale'] else ''}",
            _text(row["spot_usd_hour"]),
            _text(row["spot_day"]),
        )
    console.print(table)


def _price_remarks(row: Facts) -> list[str]:
    if row["usd_hour"] is None:
        return ["price not known"]
    return [f"price of {row['price_day']}, stale" if row["price_stale"] else f"price of {row['price_day']}"]


def _said(problem: Facts) -> str:
    parts = [f"{problem['code']} {problem['message']}"]
    parts += [f"{label}: {problem[key]}" for key, label in (("allowed", "allowed"), ("fix", "fix")) if problem[key]]
    return "; ".join(parts)


def _joined(values: Any) -> str:
    return ", ".join(_text(value) for value in values if value not in (None, ""))


def _text(value: object) -> str:
    return UNKNOWN if value in (None, "") else str(value)
