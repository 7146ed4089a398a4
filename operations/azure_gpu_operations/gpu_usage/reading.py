"""A reading of a cluster's GPUs: use of each, and by pod, with sums, JSON form and comparison. Pure. None is unknown."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

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
