"""The Kubernetes versions of AKS: general availability, end of support, end of long-term support (LTS).

The sources give months: a version starts on the first day of its month and ends on the last, so that the month itself is never
rejected.
"""

import re
from collections.abc import Sequence
from datetime import date, timedelta
from typing import NamedTuple

from azure_gpu.catalog import lifecycle
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Code, End, Problem, Severity
from azure_gpu.catalog.sources import Dated, Source

_PAGE = "Microsoft Learn, articles/aks/supported-kubernetes-versions.md"
SOURCE = Source(_PAGE, Dated.OBSERVED, date(2026, 8, 5))
_EARLIER_SOURCE = Source(_PAGE, Dated.OBSERVED, date(2024, 10, 30))

_WRITTEN = r"([0-9]{1,3})\.([0-9]{1,3})(\.[0-9]{1,4})?"


class KubernetesVersion(NamedTuple):
    """One minor version."""

    name: str  # 1.35
    general: Source  # its day is the first of the month
    end: Source  # of the usual support; its day is the last of the month
    lts_end: Source | None = None  # None: no source read gives one
    planned: Source | None = None  # the source that only announced it; None if it is known to be available

    @property
    def number(self) -> tuple[int, int]:
        """For comparing: 1.9 is older than 1.10."""
        major, minor = self.name.split(".")
        return int(major), int(minor)


def _version(
    name: str, general: str, end: str, lts_end: str = "", read: Source = SOURCE, planned: bool = False
) -> KubernetesVersion:
    """A row of the page's table. Months are written `2026-08`."""
    return KubernetesVersion(
        name=name,
        general=_first_day(f"general in {general}", general, read),
        end=_last_day(f"end of life in {end}", end, read),
        lts_end=_last_day(f"end of LTS in {lts_end}", lts_end, read) if lts_end else None,
        planned=read if planned else None,
    )


def _first_day(what: str, month: str, read: Source) -> Source:
    return Source(
        f"{read.where} of {read.day.isoformat()}: {what}, first day taken", Dated.VALID_FROM, date.fromisoformat(f"{month}-01")
    )


def _last_day(what: str, month: str, read: Source) -> Source:
    first = date.fromisoformat(f"{month}-01")
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    return Source(f"{read.where} of {read.day.isoformat()}: {what}, last day taken", Dated.VALID_FROM, last)


VERSIONS: tuple[KubernetesVersion, ...] = (
    _version("1.27", "2023-07", "2024-07", "2025-07", _EARLIER_SOURCE),
    _version("1.28", "2023-11", "2025-01", read=_EARLIER_SOURCE),
    _version("1.29", "2024-03", "2025-03", read=_EARLIER_SOURCE),
    _version("1.30", "2024-07", "2025-07", "2026-07", _EARLIER_SOURCE),
    _version("1.31", "2024-11", "2025-11", read=_EARLIER_SOURCE),
    _version("1.32", "2025-03", "2026-03", read=_EARLIER_SOURCE),
    _version("1.33", "2025-06", "2026-07", "2027-07"),
    _version("1.34", "2025-11", "2026-11", "2027-11"),
    _version("1.35", "2026-03", "2027-03", "2028-03"),
    _version("1.36", "2026-06", "2027-06", "2028-06"),
    _version("1.37", "2026-10", "2027-10", "2028-10", planned=True),
)


def number(version: str) -> tuple[int, int] | None:
    """Major and minor of `1.35` or `1.35.2`; None for anything else."""
    match = re.fullmatch(_WRITTEN, version)
    return (int(match[1]), int(match[2])) if match else None


def supported(as_of: date, versions: Sequence[KubernetesVersion] = VERSIONS) -> tuple[str, ...]:
    """The versions that are known to be general and within their usual support on that day, newest first."""
    return tuple(
        version.name
        for version in sorted(versions, key=lambda one: one.number, reverse=True)
        if version.planned is None and version.general.day <= as_of <= version.end.day
    )


def default(as_of: date, versions: Sequence[KubernetesVersion] = VERSIONS) -> str:
    """The default version of the portal and the Azure CLI: the second newest. Empty: unknown."""
    names = supported(as_of, versions)
    return names[1] if len(names) > 1 else ""


def check(
    version: str, as_of: date, path: str, lts: bool = False, versions: Sequence[KubernetesVersion] = VERSIONS
) -> list[Problem]:
    """The problems of this version on that day. `lts`: the cluster has the long-term support plan."""
    minor = number(version)
    if minor is None:
        return [
            Problem(
                path=path,
                message="not a valid Kubernetes version",
                value=version,
                allowed="such as 1.35 or 1.35.2",
                fix="write two or three numbers with dots between them, in quotes",
                source=str(SOURCE),
            )
        ]
    row = next((one for one in versions if one.number == minor), None)
    if row is None:
        return [_not_in_table(version, minor, as_of, path, versions)]
    if lts and row.lts_end is None and as_of > row.end.day:
        return [_unknown(version, f"whether AKS gives Kubernetes {row.name} long-term support is not known", path, row.end)]
    if row.planned is not None and as_of <= row.end.day:
        message = f"Kubernetes {row.name} was planned for AKS when the source was written; whether it is available is not known"
        return [_unknown(version, message, path, row.planned)]
    end = row.lts_end if lts and row.lts_end is not None else row.end
    instead = supported(as_of, versions)
    return lifecycle.check(
        Lifecycle(seen=row.general, end=end),
        f"Kubernetes {row.name} on AKS",
        as_of,
        path=path,
        value=version,
        fix=_fix(row, lts, as_of, instead),
        instead=instead,
    )


def _fix(row: KubernetesVersion, lts: bool, as_of: date, instead: tuple[str, ...]) -> str:
    fix = f"write {instead[0]}" if instead else "list a region's versions with `az aks get-versions`"
    if not lts and row.lts_end is not None and as_of <= row.lts_end.day:
        fix += f", or use the long-term support plan, which supports {row.name} until {row.lts_end.day.isoformat()}"
    return fix


def _not_in_table(version: str, minor: tuple[int, int], as_of: date, path: str, versions: Sequence[KubernetesVersion]) -> Problem:
    """A version isn't supported longer than the next one, so versions older than a retired one are retired too."""
    oldest = min(versions, key=lambda one: one.number, default=None)
    if oldest is None or minor > oldest.number or as_of <= (oldest.lts_end or oldest.end).day:
        return _unknown(version, "unknown Kubernetes version on AKS, so it wasn't checked", path, SOURCE)
    instead = supported(as_of, versions)
    return Problem(
        path=path,
        message=f"Kubernetes {version} is older than {oldest.name}, which AKS retired on {oldest.end.day.isoformat()}",
        value=version,
        fix=f"write {instead[0]}" if instead else "list a region's versions with `az aks get-versions`",
        instead=instead,
        source=str(oldest.end),
        code=Code.RETIRED,
        end=End(f"Kubernetes {version} on AKS", (oldest.lts_end or oldest.end).day),
    )


def _unknown(version: str, message: str, path: str, source: Source) -> Problem:
    return Problem(
        path=path,
        message=message,
        value=version,
        fix="list a region's versions with `az aks get-versions`",
        source=str(source),
        code=Code.UNKNOWN,
        severity=Severity.WARNING,
    )
