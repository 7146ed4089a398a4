"""VM sizes of managed online endpoints of Azure Machine Learning, and the quota of a deployment.

Quota families have the names that Azure Machine Learning uses. The rules for endpoints and deployments are in `deployments`.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from azure_gpu.catalog import lifecycle, sources, tables
from azure_gpu.catalog.lifecycle import Lifecycle, Status
from azure_gpu.catalog.problems import Problem, not_listed
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.size_use import SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import PREFIX, normalise
from azure_gpu.catalog.sizes.model import Size
from azure_gpu.catalog.sources import Source, observed
from azure_gpu.catalog.tables import Keyed, Listed, Row, Table

# Of the instances, on top of them, so that upgrades have room; source: quota-allocation-online-deployment@2023-12-07.
RESERVED = Fraction(1, 5)
QUOTAS = observed("Microsoft Learn, machine-learning/how-to-manage-quotas", 2026, 1, 27)
LEAST_INSTANCES = 1
DEFAULT_INSTANCE_TYPE = "Standard_F4s_v2"

_PAGE = "Microsoft Learn, machine-learning/reference-managed-online-endpoints-vm-sku-list"
LIST = observed(_PAGE, 2023, 10, 18)


class ManagedSize(NamedTuple):
    """A size that managed endpoints list."""

    name: str
    quota_family: str  # as Azure Machine Learning spells it; compute's own spelling is in the size's series
    reserves: bool  # whether `RESERVED` is added
    vcpus: int | None  # of a size without a GPU, which the catalog has no row of
    seen: Source


TABLE = Table(
    tables.beside(__file__, "endpoint_sizes.csv"),
    {
        "size": "as Azure spells it: Standard_NC4as_T4_v3",
        "quota_family": "as Azure Machine Learning spells it",
        "reserves": "whether quota for upgrades is added: yes or no",
        "vcpus": "of a size without a GPU; empty with one",
        "source": "the earliest that has it",
    },
)


def read(rows: Iterator[Row], known: Mapping[str, Source]) -> dict[str, ManagedSize]:
    """The values of a table's rows. `known`: the sources to refer to. Raises TableError for an invalid row."""
    return {
        name.lower(): ManagedSize(
            name, row.filled("quota_family"), row.yes("reserves"), row.whole("vcpus"), row.one_of("source", known, sources.WHERE)
        )
        for name, row in tables.by_name(rows, "size").items()
    }


_BY_NAME = Keyed(lambda: read(tables.read(TABLE), sources.named()))
MANAGED_SIZES = Listed(lambda: (each for each in _BY_NAME.values() if each.vcpus is None))


def managed(size: Size) -> ManagedSize | None:
    """The size's row in the list of managed endpoints; None if it isn't there."""
    return _BY_NAME.get(size.name.lower())


def managed_cpu(size_name: str) -> ManagedSize | None:
    """The row of a size without a GPU, by any spelling of its name; None if the list doesn't have it."""
    found = _BY_NAME.get(normalise(size_name).lower())
    return found if found is not None and found.vcpus is not None else None


def has_gpu(size_name: str) -> bool | None:
    """Whether machines of this size have a GPU, by the catalog, else by its letter, N with a GPU.

    None: not known.
    """
    size = SIZES.find(size_name)
    if size is not None:
        return None if size.gpu_count is None else size.gpu_count > 0
    letter = normalise(size_name).removeprefix(PREFIX)[:1].upper()
    return False if letter and letter in "ABDEFGHLM" else None


def unlisted(size_name: str, path: str) -> Iterator[Problem]:
    """A warning for a size without a GPU that isn't in the list."""
    if managed_cpu(size_name) is None:
        yield not_listed(
            path,
            f"{size_name} in managed online endpoints",
            size_name,
            LIST,
            "list a region's sizes with `az ml compute list-sizes`",
        )


def quota_of(size_name: str, instances: int) -> tuple[str, int | None]:
    """The quota family and vCPUs of this number of instances, by the name of a size."""
    cpu = managed_cpu(size_name)
    if cpu is not None:
        return cpu.quota_family, reserved(instances) * (cpu.vcpus or 0)
    size = SIZES.find(size_name)
    return (quota_family(size), quota_vcpus(size, instances)) if size is not None else ("", None)


def reserved(instances: int) -> int:
    """The number of instances plus a fifth for upgrades, rounded up."""
    return max(ceil(instances * (1 + RESERVED)), 0)


def quota_family(size: Size) -> str:
    """The family whose quota a deployment of this size uses, as Azure Machine Learning spells it where that is known."""
    row = managed(size)
    return row.quota_family if row else size.series.quota_family


def quota_vcpus(size: Size, instances: int) -> int | None:
    """vCPUs of quota that a deployment needs: a fifth more instances, rounded up, but for sizes that are exempt.

    A size that isn't listed counts as not exempt. None if its vCPUs aren't known.
    """
    each = size.quota_vcpus if size.quota_vcpus is not None else size.vcpus
    if each is None:
        return None
    row = managed(size)
    counted = max(instances, 0) if row is not None and not row.reserves else reserved(instances)
    return counted * each


def size_problems(size: Size, use: SizeUse, as_of: date) -> Iterator[Problem]:
    """The problems of the size in managed online endpoints."""
    row = managed(size)
    if row is not None:
        what = f"{size.name} in managed online endpoints"
        yield from lifecycle.check(Lifecycle(seen=row.seen), what, as_of, path=use.path, value=use.size)
    elif size.lifecycle.status(as_of, use.region) is not Status.RETIRED:  # else its retirement is reported
        fix = "list a region's sizes with `az ml compute list-sizes`; a Kubernetes endpoint uses the cluster's sizes"
        yield not_listed(use.path, f"{size.name} in managed online endpoints", use.size, LIST, fix)
    if use.nodes < LEAST_INSTANCES:
        yield refused("ml.managed_without_instances", use.path, use.nodes, least_instances=LEAST_INSTANCES)
    if use.spot:
        yield refused("ml.managed_spot", use.path, use.size)
