"""A reading of a cluster's GPUs: use of each, and by pod, with sums and comparison, in words and as data. None is unknown."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu_operations.console import console
from azure_gpu_operations.tables import Heading, of_rows, print_table

DCGM, SMI = "dcgm", "nvidia-smi"
WHOLE_GPU = "of the whole GPU, shared with other pods"


class GpuUse(NamedTuple):
    """One GPU, or one MIG instance of one."""

    node: str
    gpu: str  # its index on the node; with a MIG instance 0/1g.5gb/3
    model: str = ""
    utilisation: float | None = None  # %
    used_mib: float | None = None
    total_mib: float | None = None
    uuid: str = ""


class JobUse(NamedTuple):
    """One pod on one GPU."""

    namespace: str
    pod: str
    job: str = ""  # the pod's Job
    node: str = ""
    gpu: str = ""
    utilisation: float | None = None  # %
    used_mib: float | None = None
    note: str = ""

    @property
    def name(self) -> str:
        return self.job or self.pod


class Total(NamedTuple):
    gpus: int
    utilisation: float | None  # on average
    used_mib: float | None
    total_mib: float | None


class Reading(NamedTuple):
    at: str  # RFC 3339
    source: str  # DCGM or SMI
    gpus: tuple[GpuUse, ...] = ()
    jobs: tuple[JobUse, ...] = ()

    @property
    def total(self) -> Total:
        known = [each.utilisation for each in self.gpus if each.utilisation is not None]
        return Total(
            len(self.gpus),
            sum(known) / len(known) if known else None,
            _sum(each.used_mib for each in self.gpus),
            _sum(each.total_mib for each in self.gpus),
        )


class Change(NamedTuple):
    """One figure before and after."""

    what: str
    before: float | None
    after: float | None
    unit: str

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before


def changes(before: Reading, after: Reading) -> list[Change]:
    """Changes of all GPUs together, then of each job in either reading."""
    was, now = before.total, after.total
    found = [
        Change("GPUs used, on average", was.utilisation, now.utilisation, "%"),
        Change("memory used", was.used_mib, now.used_mib, "MiB"),
        Change("jobs on GPUs", float(len(_by_job(before.jobs))), float(len(_by_job(after.jobs))), ""),
    ]
    old, new = _by_job(before.jobs), _by_job(after.jobs)
    for name in dict.fromkeys((*old, *new)):
        for what, unit, at in (("GPU", "%", 0), ("memory", "MiB", 1)):
            values = (old[name][at] if name in old else None, new[name][at] if name in new else None)
            if values != (None, None):
                found.append(Change(f"{name}: {what}", *values, unit))
    return found


def as_json(reading: Reading) -> dict[str, Any]:
    total = reading.total
    return {
        "at": reading.at,
        "source": reading.source,
        "gpus": [each._asdict() for each in reading.gpus],
        "jobs": [each._asdict() for each in reading.jobs],
        "total": total._asdict(),
    }


def from_json(data: Mapping[str, Any]) -> Reading:
    """KeyError or TypeError if it isn't a reading."""
    return Reading(
        str(data["at"]),
        str(data["source"]),
        tuple(GpuUse(**each) for each in data["gpus"]),
        tuple(JobUse(**each) for each in data["jobs"]),
    )


def moment(now: datetime) -> str:
    return now.isoformat(timespec="seconds")


def _by_job(jobs: Sequence[JobUse]) -> dict[str, tuple[float | None, float | None]]:
    """Utilisation and memory by namespace and job, over all its pods."""
    names = dict.fromkeys(f"{each.namespace}/{each.name}" for each in jobs)
    found: dict[str, tuple[float | None, float | None]] = {}
    for name in names:
        of_job = [each for each in jobs if f"{each.namespace}/{each.name}" == name]
        known = [each.utilisation for each in of_job if each.utilisation is not None]
        found[name] = (max(known) if known else None, _sum(each.used_mib for each in of_job))
    return found


def _sum(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) if known else None


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
    print(total_in_words(reading))
    if before is not None:
        headings = (Heading("what"), Heading(f"before ({before.at})", 1), Heading("after"), Heading("change"))
        compared = [
            (each.what, _figure(each.before, each.unit), _figure(each.after, each.unit), _signed(each.difference))
            for each in changes(before, reading)
        ]
        print_table(shown, of_rows(headings, compared), title="before and after", wide=wide)


def total_in_words(reading: Reading) -> str:
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
