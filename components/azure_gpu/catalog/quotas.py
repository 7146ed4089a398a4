"""Checks whether requested machines fit in the quotas of a subscription or an account.

There are three separate kinds of quota: vCPUs per family and region in a subscription (virtual machines, AKS, Batch accounts in
UserSubscription mode), vCPUs per family in a Batch account, and vCPUs per family and region in Azure Machine Learning. Family
names are compared ignoring case and spaces. A quota doesn't guarantee capacity.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import Sizes
from azure_gpu.catalog.sizes.model import Size, same_family
from azure_gpu.catalog.sources import Source, observed

VCPUS = "vCPU"
NO_SEPARATE_LIMIT = -1  # as Azure Machine Learning returns it if only the total counts, as for a family at low priority
FROM_COMPUTE = (Service.VIRTUAL_MACHINES, Service.AKS)
FROM_MACHINE_LEARNING = (Service.ML_COMPUTE, Service.ML_ENDPOINT)

_COMPUTE = observed("MicrosoftDocs/azure-compute-docs, articles/virtual-machines/quotas.md", 2026, 1, 16)
_BATCH = observed("Microsoft Learn, batch/batch-quota-limit", 2026, 11, 20)
NEW_ACCOUNT = "the vCPU quotas of a new account are known only after it exists, and can be 0"
ACCOUNT_REQUEST = "on the account's Quotas page in the portal, or by `az support in-subscription tickets create`"
_ML = observed("Azure/azure-rest-api-specs, Microsoft.MachineLearningServices 2020-08-01, ListUsages.json", 2026, 11, 20)

# Additional quota of these series isn't approved, whatever the region; they have no GPU.
_CLOSED = observed(
    "MicrosoftDocs/azure-compute-docs at 3afc7132, articles/virtual-machines/migration/sizes/"
    "previous-gen-series-capacity-limitations.md",
    2026,
    8,
    18,
)
_CLOSED_SERIES = (  # compute optimized, general purpose, memory optimized, storage optimized, as the page has them
    *("F", "Fs", "Fsv2"),
    *("D", "Ds", "Dv2", "Dsv2", "Dv3", "Dsv3", "Dv4", "Dsv4", "Ddv4", "Ddsv4", "Dav4", "Dasv4", "B", "Bs", "Av2", "Amv2"),
    *("Ev3", "Esv3", "Ev4", "Esv4", "Edv4", "Edsv4", "Eav4", "Easv4", "G", "Gs"),
    *("Ls", "Lsv2"),
)


class Limit(NamedTuple):
    """One quota: how many vCPUs, and how many of them are used. `used` is None if the service doesn't return it."""

    name: str  # of the family, as the service spells it; free text for a total
    limit: int  # NO_SEPARATE_LIMIT: no limit
    used: int | None = 0


class RegionLimits(NamedTuple):
    """The quotas of one subscription in one region: of virtual machines, or of Azure Machine Learning. None: not listed."""

    region: str
    families: tuple[Limit, ...]
    total: Limit | None = None  # over all families, without Spot
    spot: Limit | None = None  # over all families, only Spot and low priority


class PoolUse(NamedTuple):
    """The nodes of one Batch pool: current or target, whichever is higher."""

    size: str
    dedicated: int  # nodes
    spot: int  # nodes


class BatchAccountLimits(NamedTuple):
    """The quotas of one Batch account. None: not listed, as for an account that allocates in the user's subscription."""

    account: str
    region: str
    families: tuple[Limit, ...]  # dedicated; `used` is counted from `pools`
    families_enforced: bool = True  # False: only `dedicated` counts
    dedicated: int | None = None  # vCPUs over all families
    spot: int | None = None  # vCPUs
    pool_quota: int | None = None
    pools: tuple[PoolUse, ...] = ()


def limits_of(account: str, region: str, found: Any) -> BatchAccountLimits:
    """The quotas of an account as Azure's SDK and Pulumi's name them, without its pools."""
    return BatchAccountLimits(
        account=account,
        region=regions.normalise(region),
        families=tuple(Limit(str(each.name), int(each.core_quota)) for each in found.dedicated_core_quota_per_vm_family or ()),
        families_enforced=bool(found.dedicated_core_quota_per_vm_family_enforced),
        dedicated=_whole(found.dedicated_core_quota),
        spot=_whole(found.low_priority_core_quota),
    )


def _whole(quota: float | None) -> int | None:
    return int(quota) if quota is not None else None


class CountedUse(NamedTuple):
    """The vCPUs that one use requests. Of machines without a GPU, which aren't in the catalog, a caller gives them."""

    use: SizeUse
    family: str  # empty: not known
    vcpus: int  # of all of them
    also_spelt: str = ""  # by Azure Machine Learning, whose spelling isn't always the family's


EndpointVcpus = Callable[[Size, int], int | None]


def compute_problems(
    uses: Iterable[SizeUse], limits: Iterable[RegionLimits], *, beside: Iterable[CountedUse] = (), sizes: Sizes = SIZES
) -> list[Problem]:
    """Uses of virtual machines against the subscription's quotas, region by region. A region without limits is a warning."""
    return list(_in_regions(uses, tuple(limits), sizes, _by_node, "virtual machines", _COMPUTE, beside))


def machine_learning_problems(
    uses: Iterable[SizeUse],
    limits: Iterable[RegionLimits],
    *,
    beside: Iterable[CountedUse] = (),
    sizes: Sizes = SIZES,
    endpoint_vcpus: EndpointVcpus = endpoints.quota_vcpus,
) -> list[Problem]:
    """Uses of Azure Machine Learning against its quotas. Managed endpoints reserve more than they run (`endpoint_vcpus`)."""

    def vcpus(size: Size, use: SizeUse) -> int | None:
        return endpoint_vcpus(size, use.nodes) if use.service is Service.ML_ENDPOINT else _by_node(size, use)

    return list(_in_regions(uses, tuple(limits), sizes, vcpus, "Azure Machine Learning", _ML, beside))


def batch_problems(
    uses: Iterable[SizeUse], account: BatchAccountLimits, *, new_pools: int = 0, sizes: Sizes = SIZES
) -> list[Problem]:
    """Uses of Batch against one account, `new_pools` of which are pools that don't exist yet."""
    demands, problems = _demands(uses, sizes, _by_node)
    where = f"in Batch account {account.account}"
    dedicated = [demand for demand in demands if not demand.use.spot]
    spot = [demand for demand in demands if demand.use.spot]
    if account.families_enforced:
        counted = tuple(limit._replace(used=_used(account, sizes, family=limit.name)) for limit in account.families)
        problems += _families(dedicated, counted, where, _BATCH)
    for requested, limit, name, of_spot in (
        (dedicated, account.dedicated, "all dedicated nodes", False),
        (spot, account.spot, "all Spot and low-priority nodes", True),
    ):
        total = None if limit is None else Limit(name, limit, _used(account, sizes, spot=of_spot))
        problems += _total(requested, total, name, where, _BATCH)
    if account.pool_quota is not None and new_pools and len(account.pools) + new_pools > account.pool_quota:
        needed = len(account.pools) + new_pools
        problems.append(
            refused(
                "quota.pools",
                demands[0].use.path if demands else account.account,
                where=where,
                new_pools=new_pools,
                account=account,
                needed=needed,
                excess=needed - account.pool_quota,
                existing=len(account.pools),
            )
        )
    return problems


def new_account_problems(uses: Iterable[SizeUse], *, sizes: Sizes = SIZES) -> list[Problem]:
    """Warns of uses of Batch in an account that doesn't exist yet: what it is granted is known only then."""
    demands, problems = _demands(uses, sizes, _by_node)
    for demand in demands:
        what = "Spot and low-priority nodes" if demand.use.spot else demand.family or demand.use.size
        problems.append(
            refused(
                "quota.new_account",
                demand.use.path,
                demand.use.size,
                new_account=NEW_ACCOUNT,
                demand=demand,
                vcpus=VCPUS,
                what=what,
                account_request=ACCOUNT_REQUEST,
            )
        )
    return problems


def account_problems(region: str, accounts: int, limit: int, *, path: str) -> list[Problem]:
    """Whether one more Batch account fits in a region that has `accounts` of them. One problem, or none."""
    if accounts + 1 <= limit:
        return []
    return [
        refused(
            "quota.accounts",
            path,
            region=region,
            accounts=accounts,
            limit=limit,
            needed=accounts + 1,
            excess=accounts + 1 - limit,
        )
    ]


def _by_node(size: Size, use: SizeUse) -> int | None:
    return None if size.quota_vcpus is None else size.quota_vcpus * use.nodes


def _in_regions(
    uses: Iterable[SizeUse],
    limits: Sequence[RegionLimits],
    sizes: Sizes,
    vcpus: Callable[[Size, SizeUse], int | None],
    what: str,
    source: Source,
    beside: Iterable[CountedUse],
) -> Iterator[Problem]:
    demands, problems = _demands(uses, sizes, vcpus)
    yield from problems
    demands += (each for each in beside if each.vcpus)
    for region in dict.fromkeys(regions.normalise(demand.use.region) for demand in demands):
        here = [demand for demand in demands if regions.normalise(demand.use.region) == region]
        listed = next((each for each in limits if regions.normalise(each.region) == region), None)
        if listed is None:
            yield _unknown(here[0].use.path, f"no quota of {what} in {region} is known", region, source)
            continue
        ordinary = [demand for demand in here if not demand.use.spot]
        yield from _families(ordinary, listed.families, f"in {region}", source)
        yield from _total(ordinary, listed.total, "all families together", f"in {region}", source)
        spot = [demand for demand in here if demand.use.spot]
        yield from _total(spot, listed.spot, "Spot and low priority, all families together", f"in {region}", source)


def _demands(
    uses: Iterable[SizeUse], sizes: Sizes, vcpus: Callable[[Size, SizeUse], int | None]
) -> tuple[list[CountedUse], list[Problem]]:
    """The demands, and a warning for each use whose vCPUs aren't known."""
    demands: list[CountedUse] = []
    problems: list[Problem] = []
    for use in uses:
        size = sizes.find(use.size)
        if size is None:
            problems.append(sizes.unknown(use.size, use.path))
            continue
        if use.nodes <= 0:
            continue
        counted = vcpus(size, use)
        if counted is None:
            why = f"the number of vCPUs of {size.name} isn't known, so its quota wasn't checked"
            problems.append(_unknown(use.path, why, use.size, size.series.lifecycle.seen))
            continue
        demands.append(CountedUse(use, size.series.quota_family, counted, endpoints.quota_family(size)))
    return demands, problems


def _families(demands: Sequence[CountedUse], limits: Sequence[Limit], where: str, source: Source) -> Iterator[Problem]:
    groups: list[list[CountedUse]] = []
    for demand in demands:
        of_family = [group for group in groups if same_family(group[0].family, demand.family)]
        if of_family:
            of_family[0].append(demand)
        else:
            groups.append([demand])
    for group in groups:
        first = group[0]
        limit = next((each for each in limits if first.family and _is_of(each, first)), None)
        if limit is None:
            of = f"the family {first.family}" if first.family else f"{first.use.size}, whose family isn't known"
            yield _unknown(first.use.path, f"no quota is listed {where} for {of}", first.use.size, source)
        else:
            yield from _fits(group, limit, f"{VCPUS} of {limit.name} {where}", source)


def _is_of(limit: Limit, demand: CountedUse) -> bool:
    return same_family(limit.name, demand.family) or same_family(limit.name, demand.also_spelt)


def _total(demands: Sequence[CountedUse], limit: Limit | None, name: str, where: str, source: Source) -> Iterator[Problem]:
    if not demands:
        return
    if limit is None:
        yield _unknown(demands[0].use.path, f"no quota is listed {where} for {name}", None, source)
    else:
        yield from _fits(demands, limit, f"{VCPUS} of {name} {where}", source)


def _fits(demands: Sequence[CountedUse], limit: Limit, what: str, source: Source) -> Iterator[Problem]:
    """A problem if the demands for `what` together exceed what is left."""
    if limit.limit == NO_SEPARATE_LIMIT:
        return
    requested = sum(demand.vcpus for demand in demands)
    used = limit.used or 0
    needed = used + requested
    first = demands[0].use
    if needed > limit.limit:
        others = list(dict.fromkeys(demand.use.path for demand in demands[1:]))
        together = f" together with {', '.join(others)}" if others else ""
        closed = any(same_family(limit.name, f"standard{series}Family") for series in _CLOSED_SERIES)
        fix = f"request a limit of {needed} {what}, {needed - limit.limit} more than today's {limit.limit}"
        if closed:
            fix = "choose a size of a v5 series or later: Azure approves no more quota of this one since July 2026"
        yield refused(
            "quota.vcpus",
            first.path,
            first.size,
            fix=fix,
            source=_CLOSED if closed else source,
            requested=requested,
            what=what,
            together=together,
            used=used,
            limit=limit,
            left=max(limit.limit - used, 0),
        )
    elif limit.used is None:
        yield _unknown(first.path, f"how many of the {limit.limit} {what} are used isn't known", first.size, source)


def _used(account: BatchAccountLimits, sizes: Sizes, *, family: str = "", spot: bool = False) -> int | None:
    """vCPUs that an account's pools hold, of one family or of all. None if a pool's size is unknown."""
    used = 0
    for pool in account.pools:
        nodes = pool.spot if spot else pool.dedicated
        size = sizes.find(pool.size)
        if nodes <= 0 or (size is not None and family and not same_family(size.series.quota_family, family)):
            continue
        if size is None or size.quota_vcpus is None:
            return None
        used += nodes * size.quota_vcpus
    return used


def _unknown(path: str, message: str, value: object, source: Source) -> Problem:
    return Problem(path=path, message=message, value=value, source=str(source), code=Code.UNKNOWN, severity=Severity.WARNING)
