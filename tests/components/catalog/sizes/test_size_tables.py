"""The tables of sizes: a row more is a size more, and a row that doesn't fit is named with its place."""

import pytest

from azure_gpu.catalog import sources
from azure_gpu.catalog.sizes import size_tables
from azure_gpu.catalog.sizes.lookup import Sizes
from azure_gpu.catalog.sizes.size_tables import GPUS, LIFECYCLES, SERIES, SIZES, SizeTables
from azure_gpu.catalog.tables import TableError, line_of, text_of
from tests.support.tables import of_table

TEXTS = {table.name: text_of(table.path) for table in (GPUS, SERIES, LIFECYCLES, SIZES)}
A_SIZE = "Standard_NC8as_T4_v3,NCasT4_v3,8,8,56,1,16,no,,"


def read(**texts: str) -> SizeTables:
    each = {name.removesuffix(".csv"): text for name, text in TEXTS.items()} | texts
    return size_tables.read(*each.values(), known=sources.named())


def changed(table: str, old: str, new: str) -> dict[str, str]:
    """One table in which one line is another."""
    assert TEXTS[f"{table}.csv"].count(f"\n{old}\n") == 1
    return {table: TEXTS[f"{table}.csv"].replace(f"\n{old}\n", f"\n{new}\n")}


def test_one_row_more_is_one_size_more() -> None:
    more = "Standard_NC999as_T4_v3,NCasT4_v3,999,999,,16,256,no,,"
    found = Sizes(read(sizes=f"{TEXTS['sizes.csv']}{more}\n").sizes)
    size = found.find("nc999as_t4_v3")
    assert size is not None
    assert (size.vcpus, size.memory_gib, size.gpu_memory_each_gib) == (999, None, 16)
    known = found.find("nc8as_t4_v3")
    assert known is not None
    assert size.series is known.series


@of_table("new", "column", "allowed")
def test_a_size_that_does_not_fit_is_named(new: str, column: str, allowed: str) -> None:
    line = TEXTS["sizes.csv"].splitlines().index(A_SIZE) + 1
    with pytest.raises(TableError) as raised:
        read(**changed("sizes", A_SIZE, new))
    said = str(raised.value)
    assert said.startswith(f"sizes.csv:{line}:")
    assert f": {column} ({SIZES.columns[column]}) is " in said
    assert allowed in said


NP = "NP,np-series@2021-02-09,no,,azure-updates-548497@2026-04-02,np-series-retirement@2027-05-31,,,"
T4 = "NVIDIA T4,T4,NVIDIA,16,Turing,7.5,,,nvidia-cuda-gpus@2026-11-20"
V620 = next(line for line in TEXTS["series.csv"].splitlines() if line.startswith("NGads_V620,"))


@of_table(
    "table",
    "old",
    "new",
    "said",
    more=[
        ("series", V620, V620.replace("AMD Radeon PRO V620", "V620"), "allowed: a model of gpus.csv"),
        ("series", V620, V620.replace("AMD graphics", "AMD"), "allowed: CUDA or GRID or ROCm or AMD graphics"),
        ("series", V620, V620.replace("x64", "ARM"), "(of the processor: x64 or Arm64) is 'ARM'; allowed: x64 or Arm64"),
    ],
)
def test_a_row_beside_the_sizes_that_does_not_fit_is_named(table: str, old: str, new: str, said: str) -> None:
    line = TEXTS[f"{table}.csv"].splitlines().index(old) + 1
    with pytest.raises(TableError) as raised:
        read(**changed(table, old, new))
    assert said in str(raised.value)
    assert str(raised.value).startswith(f"{table}.csv:{line}:")


def test_a_series_needs_dates_and_a_source() -> None:
    orphan = line_of(["NX", "", "", "", "", "x64", "no", "no", "", "", "sku-list@2026-03-05"])
    with pytest.raises(TableError, match=r"series\.csv:\d+:1: series .* allowed: a series that lifecycles\.csv has a row of"):
        read(series=f"{TEXTS['series.csv']}{orphan}\n")
    with pytest.raises(TableError, match=r"series\.csv:\d+:\d+: sources .* allowed: one or more sources"):
        read(
            series=f"{TEXTS['series.csv']}{orphan.replace('sku-list@2026-03-05', '')}\n",
            lifecycles=f"{TEXTS['lifecycles.csv']}NX,sku-list@2026-03-05,no,,,,,,\n",
        )
