"""The patch versions of Kubernetes that AKS had, by day, as far as a source lists them."""

from datetime import date
from typing import NamedTuple

from azure_gpu.catalog.services.aks.kubernetes_versions import default, number
from azure_gpu.catalog.sources import Dated, Source


class Seen(NamedTuple):
    """The versions that one source lists, newest first."""

    versions: tuple[str, ...]
    source: Source


def _seen(versions: str, where: str, year: int, month: int, day: int) -> Seen:
    return Seen(tuple(versions.split()), Source(where, Dated.OBSERVED, date(year, month, day)))


_LISTED = "`az aks get-versions`"
SEEN: tuple[Seen, ...] = (
    _seen(
        "1.13.5 1.12.8 1.12.7 1.11.9 1.11.8 1.10.13 1.10.12",
        f"microsoft/TailwindTraders-Backend pull request 35: {_LISTED} in eastus",
        2019,
        6,
        11,
    ),
    _seen(
        "1.16.7 1.15.10 1.15.7 1.14.8 1.14.7 1.13.12 1.13.11",
        f"hashicorp/terraform-provider-azurerm pull request 6182: {_LISTED} in westeurope",
        2020,
        3,
        19,
    ),
    _seen(
        "1.18.8 1.18.6 1.17.11 1.17.9 1.16.15 1.16.13",
        f"FutureNHS/futurenhs-platform pull request 295: {_LISTED} in westeurope",
        2020,
        10,
        1,
    ),
    _seen("1.34.3 1.33.7 1.32.11", "Azure/AKS, CHANGELOG.md, as in pull request 5703", 2026, 4, 7),
)


def patch(minor: str, as_of: date) -> str:
    """The newest version of `1.34` that was seen until that day, else the oldest seen later. Empty: none was ever seen."""
    requested = number(minor)
    named = [(seen.source.day, each) for seen in SEEN for each in seen.versions if number(each) == requested]
    before = [each for day, each in named if day <= as_of]
    later = [each for day, each in named if day > as_of]
    if before:
        return max(before, key=_numbers)
    return min(later, key=_numbers, default="")


def seen_about(as_of: date) -> tuple[str, ...]:
    """The versions that the source nearest to that day names, newest first."""
    return min(SEEN, key=lambda seen: abs((seen.source.day - as_of).days)).versions


def default_version(as_of: date) -> str:
    """AKS's default version: the second newest minor version, with its patch if one was seen."""
    minor = default(as_of)
    if not minor:  # before the table of minor versions begins
        minors = list(dict.fromkeys(".".join(each.split(".")[:2]) for each in seen_about(as_of)))
        minor = minors[1] if len(minors) > 1 else minors[0]
    return patch(minor, as_of) or minor


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
