"""Azure Container Apps for GPUs: workload profiles of an environment, their regions, and containers of an app or a job."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Literal, NamedTuple, get_args

from azure_gpu.catalog import lifecycle, listed, regions, sources, spelling, tables
from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Problem, not_listed
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.sources import Source, observed
from azure_gpu.catalog.tables import Keyed, Table

SERVERLESS_PAGE = observed("MicrosoftDocs/azure-docs, articles/container-apps/gpu-serverless-overview.md", 2024, 11, 6)
REGIONS_PAGE = observed("Microsoft Learn, container-apps/gpu-serverless-overview, table of regions", 2026, 3, 1)
QUOTAS_PAGE = observed("Microsoft Learn, container-apps/quotas", 2026, 9, 23)
# Of the GPUs that run at once, by profile type; each belongs to one environment. The names are those of MicrosoftDocs/azure-docs,
# articles/container-apps/quota-requests.md, 2025-04-29, written as `az containerapp env list-usages` writes names.
QUOTAS: Mapping[str, str] = {
    "Consumption-GPU-NC8as-T4": "ManagedEnvironmentConsumptionT4Gpus",
    "Consumption-GPU-NC24-A100": "ManagedEnvironmentConsumptionNCA100Gpus",
}


Kind = Literal[
    "serverless",  # per second and replica, down to none
    "dedicated",  # per node, as long as the node is there
]
"""How a profile is billed, and by whom its machines are kept."""


class Profile(NamedTuple):
    """One type of workload profile with GPUs.

    `vcpus`, `memory_gib` and `gpu_count` are those of a replica, or of a node where the profile is dedicated.
    """

    type: str  # as `workloadProfileType` has it
    kind: Kind
    gpu: str
    gpu_memory_gib: int  # of one GPU
    gpu_count: int
    vcpus: int
    memory_gib: int
    lifecycle: Lifecycle
    regions: Mapping[str, Source]  # by region, the earliest source that has it
    source: Source


# Both serverless profiles were in preview in two regions; the page of 2025-06-02 speaks of them without that word.
TABLE = Table(
    tables.beside(__file__, "workload_profiles.csv"),
    {
        "type": "as `workloadProfileType` has it",
        "kind": "how it is billed: serverless, dedicated",
        "gpu": "the model",
        "gpu_memory_gib": "of one GPU",
        "gpu_count": "of a replica, or of a node where it is dedicated",
        "vcpus": "likewise",
        "memory_gib": "likewise",
        "regions": "those that have it, each with the earliest source: region=source",
        "source": "of the amounts",
        **lifecycle.COLUMNS,
    },
)


def _read() -> Iterator[Profile]:
    known = sources.named()
    for name, row in tables.by_name(tables.read(TABLE), "type").items():
        yield Profile(
            type=name,
            kind=row.one_of("kind", get_args(Kind)),
            gpu=row.filled("gpu"),
            gpu_memory_gib=row.whole("gpu_memory_gib") or 0,
            gpu_count=row.whole("gpu_count") or 0,
            vcpus=row.whole("vcpus") or 0,
            memory_gib=row.whole("memory_gib") or 0,
            lifecycle=lifecycle.read(row, known),
            regions=row.pairs("regions", known, sources.WHERE),
            source=row.one_of("source", known, sources.WHERE),
        )


PROFILES: Mapping[str, Profile] = Keyed(lambda: {each.type: each for each in _read()})


def serverless_on(day: date) -> tuple[str, ...]:
    """The serverless profile types known on that day, cheapest first; none before the first source that has them."""
    return tuple(one.type for one in PROFILES.values() if one.kind == "serverless" and day >= one.lifecycle.seen.day)


def serverless_of(gpu: str) -> str:
    """The serverless profile type with this GPU."""
    return next(one.type for one in PROFILES.values() if one.gpu == gpu and one.kind == "serverless")


def profile_problems(name: str, location: str, as_of: date, *, path: str, location_path: str) -> list[Problem]:
    """All reasons why an environment can't have a GPU profile of this type on that day. `path`: where it is written."""
    profile = PROFILES.get(name)
    if profile is None:
        return [_unknown(name, path)]
    what = f"the workload profile {name}"
    of_profile = lifecycle.check(profile.lifecycle, what, as_of, path=path, value=name)
    return [*of_profile, *_region(profile, location, as_of, location_path)]


def replica_problems(name: str, cpu: float, memory_gib: float, path: str) -> Iterator[Problem]:
    """A replica's CPU and memory against what the profile of this type has."""
    profile = PROFILES.get(name)
    if profile is None:
        return  # the name has a problem of its own
    for key, amount, most, unit in (
        ("cpu", cpu, profile.vcpus, "vCPU"),
        ("memory_in_gib", memory_gib, profile.memory_gib, "GiB"),
    ):
        if amount > most:
            at = f"{path}.{key}"
            yield refused("apps.replica_too_large", at, amount, source=profile.source, unit=unit, profile=profile, most=most)


def _unknown(given: str, path: str) -> Problem:
    lower = {name.lower(): name for name in PROFILES}
    close = tuple(lower[name] for name in spelling.nearest(given.lower(), lower, 2, 0.5))
    return refused(
        "apps.unknown_profile", path, given, allowed=", ".join(PROFILES), instead=close, near=" or ".join(close or PROFILES)
    )


def _region(profile: Profile, written: str, as_of: date, path: str) -> Iterator[Problem]:
    location = regions.normalise(written)
    seen = profile.regions.get(location)
    if seen is not None:
        there = Lifecycle(seen=seen)
        yield from lifecycle.check(there, f"{profile.type} in {location}", as_of, path=path, value=written)
        return
    if location not in regions.known() or listed.has("workload profiles of Container Apps", location, profile.type):
        return  # the region has a problem of its own, or Azure lists the profile there
    others = tuple(one.type for one in PROFILES.values() if location in one.regions)
    yield not_listed(
        path,
        f"the workload profile {profile.type} in {location}",
        written,
        listed.since(
            "workload profiles of Container Apps", location, profile.source if profile.kind == "dedicated" else REGIONS_PAGE
        ),
        f"compare with `az containerapp env workload-profile list-supported --location {location}`",
        allowed=", ".join(sorted(profile.regions)),
    )._replace(instead=others)
