"""Formulas of Batch pools at the service's limits, too long for a row of the tables."""

from datetime import date

from azure_gpu.catalog.services.batch.pools import check
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.sizes import SIZES


def refused(formula: str) -> list[str]:
    """Where a pool with this formula, which has no other fault, is refused."""
    request = PoolRequest(
        path="pool",
        size=SIZES.find("NC4as_T4_v3"),
        image=ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404"),
        node_agent="batch.node.ubuntu 24.04",
        autoscale_formula=formula,
    )
    return [problem.path for problem in check(request, date(2026, 11, 20))]


def test_a_formula_has_at_most_8_kib_and_100_statements() -> None:
    assert refused("a=1;" * 100 + "// one; two; three") == []
    assert refused("a=1;" * 101) == ["pool.autoscale_formula"]
    assert refused("a=" + "1" * 8191) == ["pool.autoscale_formula"]
