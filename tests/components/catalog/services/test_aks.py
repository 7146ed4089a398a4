"""What AKS takes as GPU pools. Expectations are literals of Microsoft's pages and lists, not what the catalog says."""

import csv
from pathlib import Path

from azure_gpu.catalog.services.aks import sizes
from tests.components.catalog.rule_tables import size_of
from tests.support.tables import of_table

FACTS = Path(__file__).parents[3] / "data" / "gpu_sizes.csv"


@of_table("name", "image", "version")
def test_each_size_gets_its_driver(name: str, image: str, version: str) -> None:
    row = sizes.listing(size_of(name))
    assert row is not None
    assert row.driver is not None
    assert (row.driver.name, row.driver.version) == (image, version)


def test_the_drivers_are_those_of_the_table_of_facts() -> None:
    images = {"cuda-lts": "aks-gpu-cuda-lts", "grid": "aks-gpu-grid", "grid-v20": "aks-gpu-grid-v20"}
    with FACTS.open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["aks_driver"] in images]
    assert {row["aks_driver"] for row in rows} == images.keys()
    for row in rows:
        listed = sizes.listing(size_of(row["size_name"]))
        assert listed is not None, row["size_name"]
        assert listed.driver is not None, row["size_name"]
        assert listed.driver.name == images[row["aks_driver"]], row["size_name"]
