"""Prints a reading as tables or JSON, and saves it to a file for a later comparison."""

import json
from pathlib import Path
from typing import Any

from azure_gpu_operations.console import console
from azure_gpu_operations.gpu_usage.reading import Reading, as_json, changes, from_json
from azure_gpu_operations.tables import Heading, of_rows, print_table

NOT_KNOWN = "-"
_GPUS = (
    Heading("node"),
    Heading("GPU"),
    Heading("model", 1, wraps=14),
    Heading("used", 4),
    Heading("memory", 3),
    Heading("of", 2),
)
_JOBS = (
    Heading("job or pod"),
    Heading("namespace", 2),
    Heading("node", 1),
    Heading("GPU", 3),
    Heading("used", 6),
    Heading("memory", 5),
    Heading("note", 4, wraps=14),
)


def keep(reading: Reading, file: Path) -> None:
    file.expanduser().write_text(json.dumps(as_json(reading), indent=2) + "\n", encoding="utf-8")


def kept(file: Path) -> Reading | None:
    """None if the file isn't a reading."""
    try:
        return from_json(json.loads(file.expanduser().read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def show(reading: Reading, before: Reading | None, *, for_programs: bool, on_one_line: bool, wide: bool = False) -> None:
    if for_programs:
        print(json.dumps(_data(reading, before), indent=None if on_one_line else 2), flush=True)
        return
    print(f"{reading.at}, by {reading.source}")
    shown = console()
    gpus = [
        (each.node, each.gpu, each.model, percent(each.utilisation), memory(each.used_mib), memory(each.total_mib))
        for each in reading.gpus
    ]
    print_table(shown, of_rows(_GPUS, gpus), wide=wide)
    if reading.jobs:
        jobs = [
            (each.name, each.namespace, each.node, each.gpu, percent(each.utilisation), memory(each.used_mib), each.note)
            for each in reading.jobs
        ]
        print_table(shown, of_rows(_JOBS, jobs), wide=wide)
    print(total(reading))
    if before is not None:
        headings = (Heading("what"), Heading(f"before ({before.at})", 1), Heading("after"), Heading("change"))
        compared = [
            (each.what, _figure(each.before, each.unit), _figure(each.after, each.unit), _signed(each.difference))
            for each in changes(before, reading)
        ]
        print_table(shown, of_rows(headings, compared), title="before and after", wide=wide)


def total(reading: Reading) -> str:
    """`2 GPUs: 37 % used on average, memory 5.2 GiB of 32.0 GiB`."""
    found = reading.total
    count = "1 GPU" if found.gpus == 1 else f"{found.gpus} GPUs"
    of = f" of {memory(found.total_mib)}" if found.total_mib is not None else ""
    jobs = "no job" if not reading.jobs else "1 job" if len(reading.jobs) == 1 else f"{len(reading.jobs)} jobs"
    return f"{count}: {percent(found.utilisation)} used on average, memory {memory(found.used_mib)}{of}; {jobs} on them"


def percent(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:.0f} %"


def memory(mib: float | None) -> str:
    if mib is None:
        return NOT_KNOWN
    return f"{mib / 1024:.1f} GiB" if mib >= 1024 else f"{mib:.0f} MiB"


def _data(reading: Reading, before: Reading | None) -> dict[str, Any]:
    found = as_json(reading)
    if before is not None:
        found["before"] = as_json(before)
        found["changes"] = [{**each._asdict(), "difference": each.difference} for each in changes(before, reading)]
    return found


def _figure(value: float | None, unit: str) -> str:
    if unit == "MiB":
        return memory(value)
    return NOT_KNOWN if value is None else f"{value:.0f} {unit}".rstrip()


def _signed(value: float | None) -> str:
    return NOT_KNOWN if value is None else f"{value:+.0f}"
