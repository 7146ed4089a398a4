"""What AKS takes as GPU pools. Expectations are literals of Microsoft's pages and lists, not what the catalog says."""

import csv
from pathlib import Path
from typing import Any

from azure_gpu.catalog.services.aks import pool_rules, sizes as aks_sizes
from azure_gpu.catalog.services.aks.pool import PoolRequest, Spot
from tests.components.catalog.rule_tables import size_of
from tests.components.tables import of_table

EVERY_FEATURE = frozenset({"AKSInfinibandSupport", "WindowsGPUPreview", "ManagedGPUExperiencePreview"})
FACTS = Path(__file__).parents[3] / "data" / "gpu_sizes.csv"


def pool(size_name: str = "Standard_NC4as_T4_v3", /, **changed: Any) -> PoolRequest:
    values: dict[str, Any] = {"name": "gpu", "features": EVERY_FEATURE, **changed}
    return PoolRequest(path="gpu_pools.gpu", size=size_of(size_name) if size_name else None, **values)


@of_table("name", "image", "version")
def test_each_size_gets_its_driver(name: str, image: str, version: str) -> None:
    row = aks_sizes.listing(size_of(name))
    assert row is not None
    assert row.driver is not None
    assert (row.driver.name, row.driver.version) == (image, version)


def test_the_drivers_are_those_of_the_table_of_facts() -> None:
    images = {"cuda-lts": "aks-gpu-cuda-lts", "grid": "aks-gpu-grid", "grid-v20": "aks-gpu-grid-v20"}
    with FACTS.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["aks_driver"] in images]
    assert {row["aks_driver"] for row in rows} == images.keys()
    for row in rows:
        listed = aks_sizes.listing(size_of(row["size_name"]))
        assert listed is not None, row["size_name"]
        assert listed.driver is not None, row["size_name"]
        assert listed.driver.name == images[row["aks_driver"]], row["size_name"]


def test_what_an_existing_pool_keeps_for_good() -> None:
    before = pool()
    after = pool("Standard_NC24ads_A100_v4", driver="None", mig_profile="MIG1g", spot=Spot(), taints=("sku=gpu:NoSchedule",))
    paths = [problem.path.removeprefix("gpu_pools.gpu.") for problem in pool_rules.changes(before, after)]
    assert paths == ["size", "driver", "mig_profile", "spot"], "taints are changed in place"
    assert list(pool_rules.changes(before, pool(node_count=5, autoscaler=True, max_count=9, tags={"a": "b"}))) == []
