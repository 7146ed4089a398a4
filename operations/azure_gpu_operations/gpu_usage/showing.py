"""A reading for people and for programs, and kept in a file until something has changed.

In: a `Reading`, an earlier one. Out: tables or JSON on standard output.
"""

import json
from pathlib import Path
from typing import Any

from rich.table import Table

from azure_gpu_operations.console import columns, console
from azure_gpu_operations.gpu_usage.reading import Reading, as_json, changes, from_json

NOT_KNOWN = "-"


def keep(reading: Reading, file: Path) -> None:
    file.expanduser().write_text(json.dumps(as_json(reading), indent=2) + "\n", encoding="utf-8")


def kept(file: Path) -> Reading | None:
    """None where the file holds no reading."""
    try:
        return from_json(json.loads(file.expanduser().read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def show(reading: Reading, before: Reading | None, *, for_programs: bool, on_one_line: bool) -> None:
    if for_programs:
        print(json.dumps(_data(reading, before), indent=None if on_one_line else 2), flush=True)
        return
    print(f"{reading.at}, by {reading.source}")
    shown = console()
    gpus = Table(*columns("node", "GPU", "model", "used", "memory", "of"))
    for gpu in reading.gpus:
        gpus.add_row(gpu.node, gpu.gpu, gpu.model, percent(gpu.utilisation), memory(gpu.used_mib), memory(gpu.total_mib))
    shown.print(gpus)
    if reading.jobs:
        jobs = Table(*columns("job or pod", "namespace", "node", "GPU", "used", "memory", "note"))
        for job in reading.jobs:
            jobs.add_row(job.name, job.namespace, job.node, job.gpu, percent(job.utilisation), memory(job.used_mib), job.note)
        shown.print(jobs)
    print(total(reading))
    if before is not None:
        compared = Table(*columns("what", f"before ({before.at})", "after", "change"), title="before and after")
        for change in changes(before, reading):
            compared.add_row(
                change.what, _figure(change.before, change.unit), _figure(change.after, change.unit), _signed(change.difference)
            )
        shown.print(compared)


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
