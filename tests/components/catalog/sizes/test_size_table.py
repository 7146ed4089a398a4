"""Every row of the evidence against the catalog: a table that was gathered from the sources apart from the catalog's own.

The catalog may have sizes that the evidence doesn't have. Where it knows more of one of its sizes, the test says so.
"""

import csv
import re
from datetime import date
from fractions import Fraction
from pathlib import Path

from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size
from tests.support.rows import each_row

TABLE = Path(__file__).parents[3] / "data" / "gpu_sizes.csv"
TODAY = date(2026, 11, 20)  # the day of the table's status column

Row = dict[str, str]
with TABLE.open(encoding="utf-8", newline="") as lines:
    ROWS: list[Row] = list(csv.DictReader(lines))
each_row = each_row("row", ROWS, ids=[row["size_name"] for row in ROWS])

MODELS = {
    "": None,
    "FPGA (not a GPU)": None,
    "NVIDIA Tesla K80 (1 GPU = half card)": "NVIDIA Tesla K80 (half a card)",
    "NVIDIA Tesla P100": "NVIDIA Tesla P100",
    "NVIDIA Tesla V100 16GB": "NVIDIA Tesla V100 16GB",
    "NVIDIA T4": "NVIDIA T4",
    "NVIDIA A10": "NVIDIA A10",
    "NVIDIA A10 24GB": "NVIDIA A10",
    "NVIDIA A100 80GB PCIe": "NVIDIA A100 80GB PCIe",
    "NVIDIA H100 NVL 94GB": "NVIDIA H100 NVL 94GB",
    "NVIDIA H100 NVL 94GB (confidential)": "NVIDIA H100 NVL 94GB",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition 96GB": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "NVIDIA Tesla P40 24GB": "NVIDIA Tesla P40",
    "NVIDIA Tesla V100 32GB NVLink": "NVIDIA Tesla V100 32GB NVLink",
    "NVIDIA A100 40GB": "NVIDIA A100 40GB",
    "NVIDIA A100 80GB": "NVIDIA A100 80GB",
    "NVIDIA H100 80GB SXM": "NVIDIA H100 80GB SXM",
    "NVIDIA H200 141GB": "NVIDIA H200 141GB",
    "AMD Instinct MI300X 192GB": "AMD Instinct MI300X",
    "NVIDIA GB200 (Blackwell) 192GB": "NVIDIA GB200",
    "NVIDIA GB300 (Blackwell Ultra) 288GB": "NVIDIA GB300",
    "NVIDIA Tesla M60 (1 GPU = half card, 8GB)": "NVIDIA Tesla M60 (half a card)",
    "NVIDIA Tesla M60 (half card each)": "NVIDIA Tesla M60 (half a card)",
    "NVIDIA Tesla M60": "NVIDIA Tesla M60 (half a card)",
    "AMD Radeon Instinct MI25 16GB": "AMD Radeon Instinct MI25",
    "AMD Radeon Pro V710 24GB": "AMD Radeon Pro V710",
    "AMD Radeon PRO V620 32GB": "AMD Radeon PRO V620",
}

# What the table's text about replacements names, as names of sizes and series
SERIES_NAMED = {
    "Standard_NC40ads_H100_v5|Standard_NC80adis_H100_v5 (or NCasT4_v3 / NVadsA10_v5 / NVadsV710_v5 by workload)": (
        "NCads_H100_v5",
        "NCasT4_v3",
        "NVadsA10_v5",
        "NVads_V710_v5",
    ),
    "NVadsA10_v5 (or NVads_V710_v5)": ("NVadsA10_v5", "NVads_V710_v5"),
    "Standard_NV*s_v3 then NVadsA10_v5 (inferred)": ("NVv3", "NVadsA10_v5"),
    "NVadsA10_v5 (or NC_RTXPRO6000BSE_v6 / NCasT4_v3)": ("NVadsA10_v5", "NC_RTXPRO6000BSE_v6", "NCasT4_v3"),
    "NVads_V710_v5 (or NVadsA10_v5 / NGads_V620)": ("NVads_V710_v5", "NVadsA10_v5", "NGads_V620"),
    "HC / HBv2 / HBv3 at the time; HBv5 or HX today": ("HC", "HBv2", "HBv3", "HBv5", "HX"),
    "HBv2 or HBv3": ("HBv2", "HBv3"),
    "HBv5 or HX": ("HBv5", "HX"),
    "HBv5, HBv4, HX or HBv3": ("HBv5", "HBv4", "HX", "HBv3"),
    "Standard_NC4as_T4_v3 (or NDv2, NCads_H100_v5)": ("NCasT4_v3", "NDv2", "NCads_H100_v5"),
    "Standard_NC16as_T4_v3 (or NDv2, NCads_H100_v5)": ("NCasT4_v3", "NDv2", "NCads_H100_v5"),
    "Standard_NC64as_T4_v3 (or NDv2, NCads_H100_v5)": ("NCasT4_v3", "NDv2", "NCads_H100_v5"),
    "HBv3/HBv4/HBv5 (inferred)": ("HBv2", "HBv3"),  # the retirement guide of 2023-12-07 names these two
}


def found(row: Row) -> Size:
    size = SIZES.find(row["size_name"])
    assert size is not None
    return size


def number(text: str) -> int | None:
    return int(text) if text else None


def test_the_catalog_has_every_size_of_the_table() -> None:
    assert ROWS
    assert {row["size_name"] for row in ROWS} - {size.name for size in SIZES} == set()


@each_row
def test_series_and_quota_family_are_spelt_as_in_the_table(row: Row) -> None:
    size = found(row)
    if size.name == "Standard_ND128isrG5_GB300_v6":  # a series of its own: its quota family isn't known, unlike its siblings'
        assert (size.series.name, row["series"]) == ("ND_GB300_v6 (G5)", "ND_GB300_v6")
    else:
        assert size.series.name == row["series"]
    assert size.series.quota_family == row["quota_family"]


@each_row
def test_vcpus_that_count_are_the_tables_and_those_of_constrained_sizes_are_fewer(row: Row) -> None:
    size = found(row)
    assert size.quota_vcpus == number(row["vcpu"])
    constrained = re.search(r"constrained core: (\d+) usable", row["note"])
    assert size.vcpus == (int(constrained[1]) if constrained else number(row["vcpu"]))


@each_row
def test_memory_is_the_tables(row: Row) -> None:
    size = found(row)
    if row["series"] == "HB":  # MicrosoftDocs/azure-docs, hb-series.md of 2023-05-30: 228 GiB for all four
        assert (size.memory_gib, row["memory_gib"]) == (228, "")
    else:
        assert size.memory_gib == number(row["memory_gib"])


NVV2_GPU_MEMORY = {"Standard_NV6s_v2": 8, "Standard_NV12s_v2": 16, "Standard_NV24s_v2": 32}  # a page of 2019-05-16


@each_row
def test_gpus_are_the_tables(row: Row) -> None:
    size = found(row)
    model = size.gpu.model if size.gpu else None
    assert model == MODELS[row["gpu_model"]]
    assert size.gpu_count == (Fraction(row["gpu_count"]) if row["gpu_count"] else None)
    if row["gpu_count"] == "0":
        assert (size.gpu_memory_gib, row["gpu_memory_gib"]) == (0, "")
    elif size.name in NVV2_GPU_MEMORY:
        assert (size.gpu_memory_gib, row["gpu_memory_gib"]) == (NVV2_GPU_MEMORY[size.name], "")
    else:
        assert size.gpu_memory_gib == number(row["gpu_memory_gib"])


@each_row
def test_infiniband_is_the_tables(row: Row) -> None:
    assert row["rdma"] in ("yes", "no", "")
    assert (row["rdma"] == "") == (row["size_name"] == "Standard_ND40s_v3")  # unknown; no r in its name
    assert found(row).rdma == (row["rdma"] == "yes")


@each_row
def test_the_last_day_is_the_tables(row: Row) -> None:
    end = found(row).lifecycle.end
    last_day = end.day.isoformat() if end else ""
    if row["series"] == "A8-A11":  # the table has the month; Azure's announcement says March 1, 2021
        assert (last_day, row["retirement_date"]) == ("2021-03-01", "2021-03")
    elif row["status_2026_11_20"] == "preview size; no longer deployable":
        assert (last_day, row["retirement_date"]) == ("2026-06-03", "")  # the day on which Microsoft's page said so
    else:
        assert last_day == row["retirement_date"]


@each_row
def test_the_status_is_the_tables(row: Row) -> None:
    size = found(row)
    status = row["status_2026_11_20"]
    gone = status.startswith("retired") or status == "preview size; no longer deployable"
    assert (size.lifecycle.status(TODAY) is Status.RETIRED) == gone
    assert (size.lifecycle.status(TODAY) is Status.RETIRING) == (status == "announced")
    assert (size.lifecycle.status(TODAY) is Status.UNKNOWN) == status.startswith("unknown")
    assert size.series.restricted == status.startswith("restricted")


@each_row
def test_every_replacement_of_the_table_is_named(row: Row) -> None:
    size = found(row)
    text = row["replacement"]
    if text in SERIES_NAMED:
        assert size.series.successors == SERIES_NAMED[text]
    if row["series"] != "NCv3":  # whose text names the sizes of a series that the catalog names as a whole
        for name in re.findall(r"Standard_\w+(?!\*)\b", text.replace("Standard_NV*s_v3", "")):
            assert name in size.successors
    for name in re.findall(r"GA name: (\w+)", text):
        assert f"Standard_{name}" in size.successors
    if row["series"] == "A8-A11":  # sizes-previous-gen.md of 2020-11-01 names them; the table doesn't
        assert (size.series.successors, text) == (("H", "HB", "HC", "HBv2"), "")
    else:
        assert bool(size.successors or size.series.successors) == bool(text)


@each_row
def test_regional_exceptions_are_the_tables(row: Row) -> None:
    elsewhere = {region: source.day.isoformat() for region, source in found(row).lifecycle.end_elsewhere.items()}
    note = row["note"]
    expected: dict[str, str] = {}
    if "US Gov Virginia/Arizona to 2026-12-31" in note:
        expected |= {"usgovvirginia": "2026-12-31", "usgovarizona": "2026-12-31"}
    if "Jio India West + China North 3 to 2027-06-30" in note:
        expected |= {"jioindiawest": "2027-06-30", "chinanorth3": "2027-06-30"}
    if "UAE North to 2027-01-31" in note:
        expected |= {"uaenorth": "2027-01-31"}
    assert elsewhere == expected
    assert bool(elsewhere) == ("region exception" in note)


@each_row
def test_what_is_inferred_is_said_to_be(row: Row) -> None:
    size = found(row)
    notes = f"{size.series.note} {size.note}"
    if "inferred" in row["note"] or ("inferred" in row["replacement"] and row["series"] != "HB"):
        assert "inferred" in notes
    if "Windows guests only" in row["note"]:
        assert size.series.windows_only
