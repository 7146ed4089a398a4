"""Builds the job on a serverless GPU that replaces a container with a retired GPU, with its price."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from azure_gpu.catalog import regions
from azure_gpu.catalog.container_jobs import check_image
from azure_gpu.catalog.prices.container_apps import Meter, packaged_meters
from azure_gpu.catalog.services.container_apps import PROFILES, Profile, serverless_on
from azure_gpu.catalog.services.container_instances import GPU_SKUS
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats.dates import days_later
from azure_gpu.formats.stack_file import SECRET
from azure_gpu.formats.tags import PROPOSED_DAYS

# Images that do what a workload of this repository does, on GPUs that are gone.
_WORKLOADS = {"cuda-vector-add": "vector_add", "samples-tf-mnist-demo": "mnist"}
# Parts of the names of regions; the nearest region has the most of these in common.
_PARTS_OF_THE_WORLD = (
    ("europe", "uk", "france", "germany", "norway", "sweden", "switzerland", "italy", "poland", "spain"),
    ("us", "mexico"),
    ("canada", "us"),
    ("asia", "india", "japan", "korea", "malaysia", "indonesia"),
    ("australia",),
    ("brazil", "chile"),
)


class Job(NamedTuple):
    """One job. `gpu` is what it runs on; `secrets` are keys relative to it."""

    container: int  # its place in the group
    settings: dict[str, Any]
    secrets: list[str]
    notes: list[str]
    gpu: str
    price: str  # "" where it isn't known


def job_of(
    index: int, container: Mapping[str, Any], container_settings: Mapping[str, Any], location: str, as_of: date
) -> Job | None:
    """`container` is the one at `index` of the group's body, `container_settings` its keys in the stack file. None if no such
    job was sold on that day."""
    requests: Mapping[str, Any] = container["properties"]["resources"]["requests"]
    sku, count = str(requests["gpu"].get("sku")), int(requests["gpu"].get("count") or 1)
    profiles = sorted((PROFILES[name] for name in serverless_on(as_of)), key=lambda one: one.gpu_memory_gib)
    if not profiles:
        return None
    needed = _memory_of(sku) * count
    profile = next((one for one in profiles if one.gpu_memory_gib >= needed), profiles[-1])
    notes = list(_notes(profile, sku, count, needed, str(container_settings.get("image", ""))))
    region = _region(profile, location)
    settings: dict[str, Any] = {"gpu": profile.gpu}
    settings |= {key: container_settings[key] for key in ("image", "command", "environment") if key in container_settings}
    cpu = min(container_settings.get("cpu", profile.vcpus), profile.vcpus)
    memory = min(container_settings.get("memory_in_gb", profile.memory_gib), profile.memory_gib)
    settings |= {"cpu": cpu, "memory_in_gib": memory}
    if region:
        settings["location"] = region
        if regions.normalise(location) != region:
            notes.append(f"{regions.normalise(location)} has no {profile.type}; {region} is the nearest region that has")
    else:
        notes.append(f"{profile.type} is sold in {', '.join(sorted(profile.regions))}")
    settings["expires_after"] = days_later(as_of, PROPOSED_DAYS).isoformat()
    secrets = [f"secret_environment.{name}" for name in _secret_names(container)]
    price = packaged_meters().hourly_cost(Decimal(str(cpu)), Decimal(str(memory)), Meter(profile.gpu), region)
    return Job(index, settings, secrets, notes, profile.gpu, price.text(as_of) if price else "")


def _memory_of(sku: str) -> Decimal:
    """GiB of one GPU of this SKU; 0 for one that never was."""
    family = GPU_SKUS[sku].vm_family if sku in GPU_SKUS else ""
    sizes = [size for size in SIZES if size.series.name == family and size.gpu_memory_each_gib]
    return Decimal(int(sizes[0].gpu_memory_each_gib or 0)) if sizes else Decimal(0)


def _notes(profile: Profile, sku: str, count: int, needed: Decimal, image: str) -> Any:
    if count > 1:
        yield f"a replica has one {profile.gpu} with {profile.gpu_memory_gib} GiB where the group had {count} {sku} with {needed}"
    for problem in check_image(profile.type, image, ""):
        yield f"{problem.message}; {problem.fix}"
    for name, workload in _WORKLOADS.items():
        if name in image:
            yield f"`workload: {workload}` in place of image is this repository's own, made for these GPUs"


def _secret_names(container: Mapping[str, Any]) -> list[str]:
    variables = container["properties"].get("environmentVariables") or []
    return [str(one.get("name", "")) for one in variables if one.get("value", SECRET) == SECRET]


def _region(profile: Profile, location: str) -> str:
    """Where the profile is sold: there, or in the same part of the world. "" where nothing is known of the location."""
    wanted = regions.normalise(location)
    if not wanted or wanted in profile.regions:
        return wanted
    return max(sorted(profile.regions), key=lambda other: (_shared(wanted, other), _same_letters(wanted, other)))


def _shared(one: str, other: str) -> int:
    return sum(any(word in one for word in part) and any(word in other for word in part) for part in _PARTS_OF_THE_WORLD)


def _same_letters(one: str, other: str) -> int:
    """How many letters both end with, or both begin with, whichever is more; a digit at the end doesn't count."""
    one, other = one.rstrip("0123456789"), other.rstrip("0123456789")
    pairs = (zip(one, other, strict=False), zip(reversed(one), reversed(other), strict=False))
    return max(next((n for n, (a, b) in enumerate(pair) if a != b), min(len(one), len(other))) for pair in pairs)
