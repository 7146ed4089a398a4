"""Quotas: what fits, what doesn't, and the exact increase to ask for."""

from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.catalog import quotas
from azure_gpu.catalog.quotas import Limit, RegionLimits
from azure_gpu.catalog.size_use import Service, SizeUse

T4 = "Standard NCASv3_T4 Family"


def use(size: str = "Standard_NC4as_T4_v3", nodes: int = 1, **changed: Any) -> SizeUse:
    given = {"service": Service.VIRTUAL_MACHINES, "region": "westeurope", "path": "pools.train.size", "region_path": "location"}
    return SizeUse(**{**given, "size": size, "nodes": nodes, **changed})


def region(*families: Limit, total: int = 10_000, spot: int = 10_000, used: int = 0, name: str = "westeurope") -> RegionLimits:
    return RegionLimits(region=name, families=families, total=Limit("cores", total, used), spot=Limit("lowPriorityCores", spot))


@given(nodes=st.integers(1, 5000), limit=st.integers(0, 5000), used=st.integers(0, 5000))
def test_the_limit_to_ask_for_is_always_the_least_that_is_enough(nodes: int, limit: int, used: int) -> None:
    found = quotas.compute_problems([use(nodes=nodes)], [region(Limit(T4, limit, used), total=10**9)])
    if used + 4 * nodes <= limit:
        assert found == []
        return
    [problem] = found
    asked = int(problem.fix.removeprefix("request a limit of ").split(" ")[0])
    assert asked == used + 4 * nodes
    assert quotas.compute_problems([use(nodes=nodes)], [region(Limit(T4, asked, used), total=10**9)]) == []
