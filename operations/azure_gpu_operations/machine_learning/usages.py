"""The quotas of Azure ML in a region, from its list of usages. Pure."""

from collections.abc import Iterable

from azure_gpu.catalog.quotas import Limit, RegionLimits

# Of a usage's `type`.
_FAMILY, _TOTAL, _SPOT = "/vmFamily/dedicatedCores/", "/totalDedicatedCores/", "/totalLowPriorityCores/"


def path(compute_id: str, region: str) -> str:
    subscription = "/".join(compute_id.split("/")[:3])
    return f"{subscription}/providers/Microsoft.MachineLearningServices/locations/{region}/usages"


def limits_of(region: str, rows: Iterable[tuple[str, Limit]]) -> RegionLimits:
    """Limits of the region, from rows with their `type`; rows of workspaces and computes are parts of them."""
    given = list(rows)
    return RegionLimits(
        region=region,
        families=tuple(limit for kind, limit in given if _FAMILY in kind),
        total=next((limit for kind, limit in given if _TOTAL in kind), None),
        spot=next((limit for kind, limit in given if _SPOT in kind), None),
    )
