"""The form of the tables of facts: what each kind of cell takes, and how an error names the place."""

import subprocess
import sys
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import refusals, regions, sources, tables
from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.aks import sizes
from azure_gpu.catalog.services.batch import images
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.sources import Source
from azure_gpu.catalog.tables import Row, Table, TableError
from tests.support.embedded import CHECKOUT
from tests.support.rows import each_row

TABLE = Table("folder/facts.csv", {"name": "what it is called", "value": "what is said of it"})
TOLD = {"red": 1, "dark blue": 2}


def row(value: str) -> Row:
    (found,) = tables.rows(TABLE, f"name,value\n{tables.line_of(['one, two', value])}\n")
    return found


@each_row(
    ("ask", "cell", "answer"),
    [
        (lambda row: row["name"], "", "one, two"),
        (lambda row: row.filled("value"), "text", "text"),
        (lambda row: row.whole("value"), "24", 24),
        (lambda row: row.whole("value"), "0", 0),
        (lambda row: row.whole("value"), "", None),
        (lambda row: row.fraction("value"), "1/6", Fraction(1, 6)),
        (lambda row: row.fraction("value"), "", None),
        (lambda row: row.yes("value"), "yes", True),
        (lambda row: row.yes("value"), "no", False),
        (lambda row: row.one_of("value", TOLD), "dark blue", 2),
        (lambda row: row.maybe("value", TOLD), "", None),
        (lambda row: row.several("value", TOLD), "dark blue; red", (2, 1)),
        (lambda row: row.several("value", TOLD), "", ()),
        (lambda row: row.pairs("value", TOLD), "a=red; b=red", {"a": 1, "b": 1}),
        (lambda row: row.day("value"), "2026-06-18", date(2026, 6, 18)),
    ],
)
def test_a_cell_is_what_it_is_asked_for_as(ask: Callable[[Row], object], cell: str, answer: object) -> None:
    assert ask(row(cell)) == answer


@each_row(
    ("ask", "cell", "allowed"),
    [
        (lambda row: row.filled("value"), "", "text without spaces at its ends"),
        (lambda row: row.filled("value"), " text", "text without spaces at its ends"),
        *((lambda row: row.whole("value"), cell, "an integer") for cell in ("-1", "1.5", "many", "07", "\u0665", "1e3")),
        *((lambda row: row.fraction("value"), cell, "a share such as 1/6") for cell in ("1/0", "-1/6", "0.5", "2/6", "x")),
        *((lambda row: row.yes("value"), cell, "yes or no") for cell in ("", "Yes", "true")),
        (lambda row: row.one_of("value", TOLD), "green", "red or dark blue"),
        (lambda row: row.one_of("value", TOLD, "a colour of colours.csv"), "", "a colour of colours.csv"),
        (lambda row: row.several("value", TOLD), "red; green", "red or dark blue, which 'green' isn't"),
        (lambda row: row.several("value", TOLD), "red;dark blue", "texts separated by '; '"),
        (lambda row: row.several("value", TOLD), "red; ", "texts separated by '; '"),
        (lambda row: row.pairs("value", TOLD), "a=red; a=red", "each name once"),
        (lambda row: row.pairs("value", TOLD), "red", "pairs such as name=value"),
        (lambda row: row.pairs("value", TOLD), "a=green", "which 'green' isn't"),
        *((lambda row: row.day("value"), cell, "a day such as 2026-06-18") for cell in ("", "2026-02-30", "20260618", "today")),
    ],
)
def test_what_does_not_fit_is_named_with_its_place_and_what_is_allowed(
    ask: Callable[[Row], object], cell: str, allowed: str
) -> None:
    with pytest.raises(TableError) as raised:
        ask(row(cell))
    said = str(raised.value)
    assert said.startswith(f"facts.csv:2:12: value (what is said of it) is {cell!r}; allowed: ")  # after "one, two", in quotes
    assert allowed in said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "facts.csv:1:1: the header is ''"),
        ("name\nx\n", "facts.csv:1:1: the header is 'name', expected 'name,value'"),
        ("name,value\na,b\nc\n", "facts.csv:3:1: the row has 1 cell, expected 2"),
        ("name,value\na,b,c\n", "facts.csv:2:1: the row has 3 cells, expected 2"),
        ("name,value\na,b\n\n", "facts.csv:3:1: the row has 1 cell"),
    ],
)
def test_a_line_that_is_no_row_is_named(text: str, said: str) -> None:
    with pytest.raises(TableError) as raised:
        list(tables.rows(TABLE, text))
    assert str(raised.value).startswith(said)


def test_two_rows_of_one_name_are_refused() -> None:
    with pytest.raises(TableError, match=r"facts\.csv:3:1: name .* is 'A'; allowed: a name that line 2 doesn't have"):
        tables.by_name(tables.rows(TABLE, "name,value\na,\nA,\n"), "name")


@given(st.lists(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\r\n")), min_size=1))
def test_what_is_written_as_cells_is_read_as_them(cells: list[str]) -> None:
    assert tables.split(tables.line_of(cells)) == cells


def test_the_tables_of_the_catalog_are_written_as_they_are_read() -> None:
    for path in sorted((CHECKOUT / "components" / "azure_gpu" / "catalog").rglob("*.csv")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            assert tables.line_of(tables.split(line)) == line, f"{path.name}:{number}"


@pytest.mark.slow
def test_importing_the_catalog_reads_no_file() -> None:
    program = (
        "import pkgutil, sys\n"
        "from azure_gpu import catalog\n"
        "names = [module.name for module in pkgutil.walk_packages(catalog.__path__, 'azure_gpu.catalog.')]\n"
        "tables = lambda event, given: print(given[0]) if event == 'open' and '.csv' in str(given[0]) else None\n"
        "sys.addaudithook(tables)\n"
        "for name in names: __import__(name)\n"
        "print('imported')\n"
        "from azure_gpu.catalog.sizes import SIZES\n"
        "SIZES.find('NC6')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    before, _, after = done.stdout.partition("imported\n")
    assert before == ""
    assert "sizes.csv" in after


# --- the sources and the regions ---


def test_a_source_that_rules_name_is_that_of_the_table() -> None:
    in_rules = {name: value for name, value in vars(sources).items() if isinstance(value, Source)}
    assert in_rules
    assert {name: value for name, value in in_rules.items() if value not in sources.named().values()} == {}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("page@2026-01-02,A page,observed on,2026-01-01", "sources.csv:2:1: key"),
        ("a page@2026-01-01,A page,observed on,2026-01-01", "sources.csv:2:1: key"),
        ("page@2026-01-01,,observed on,2026-01-01", "sources.csv:2:17: title"),
        ("page@2026-01-01,A page,seen,2026-01-01", "sources.csv:2:24: dated"),
        ("page@2026-01-01,A page,observed on,2026-13-01", "sources.csv:2:36: date"),
    ],
)
def test_a_malformed_source_is_named(line: str, said: str) -> None:
    text = f"{','.join(sources.TABLE.columns)}\n{line}\n"
    with pytest.raises(TableError) as raised:
        dict(sources.Sources(text))
    assert str(raised.value).startswith(said)


def test_a_key_of_a_source_stands_once() -> None:
    line = "page@2026-01-01,A page,observed on,2026-01-01"
    with pytest.raises(TableError, match=r"sources.csv:3:1: key .* allowed: a key that line 2 doesn't have"):
        sources.Sources("\n".join([",".join(sources.TABLE.columns), line, line]))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("west europe,West Europe,page@2026-01-01", "regions.csv:2:1: region"),
        ("westeurope,,page@2026-01-01", "regions.csv:2:12: display_name"),
        ("westeurope,West Europe,", "regions.csv:2:24: sources"),
        ("westeurope,West Europe,other@2026-01-01", "regions.csv:2:24: sources"),
    ],
)
def test_a_malformed_region_is_named(line: str, said: str) -> None:
    text = f"{','.join(regions.TABLE.columns)}\n{line}\n"
    page = {"page@2026-01-01": sources.BATCH_ARTICLE}
    with pytest.raises(TableError) as raised:
        regions.read(tables.by_name(tables.rows(regions.TABLE, text), "region"), page)
    assert str(raised.value).startswith(said)


# --- what services take ---

SOLD = "page@2026-01-01,no,,,,,,"
IMAGE = f"publisher,offer,sku,Ubuntu 24.04 LTS,NVIDIA driver,Gen2,,,,,no,,{SOLD}"
AGENT = f"batch.node.ubuntu 24.04,Linux,Ubuntu 24.04 LTS,{SOLD}"
ENDPOINT_SIZE = "Standard_NC6,standardNCFamily,yes,,page@2026-01-01"
LISTING = "NC,cuda,Ubuntu; Windows,yes,yes,page@2026-01-01"


@each_row(
    ("module", "good", "old", "new", "said"),
    [
        (vm_images, IMAGE, "24.04", "24.05", "vm_images.csv:2:21: distribution"),
        (vm_images, IMAGE, "NVIDIA", "Intel", "vm_images.csv:2:38: has"),
        (vm_images, IMAGE, "Gen2", "Gen3", "vm_images.csv:2:52: generations"),
        (vm_images, IMAGE, "Gen2,,", "Gen2,,name; product", "vm_images.csv:2:58: plan"),
        (vm_images, IMAGE, "publisher", "", "vm_images.csv:2:1: publisher"),
        (images, AGENT, "Linux", "linux", "node_agents.csv:2:25: operating_system"),
        (images, AGENT, "@2026-01-01", "@2026-01-02", "node_agents.csv:2:48: seen"),
        (endpoints, ENDPOINT_SIZE, "yes", "true", "endpoint_sizes.csv:2:31: reserves"),
        (endpoints, ENDPOINT_SIZE, "standardNCFamily", "", "endpoint_sizes.csv:2:14: quota_family"),
        (sizes, LISTING, "cuda", "cuda-13", "gpu_series.csv:2:4: driver"),
        (sizes, LISTING, "Windows", "windows", "gpu_series.csv:2:9: systems"),
    ],
)
def test_a_malformed_row_of_what_a_service_takes_is_named(module: Any, good: str, old: str, new: str, said: str) -> None:
    def read(line: str) -> list[object]:
        text = f"{','.join(module.TABLE.columns)}\n{line}\n"
        return list(module.read(tables.rows(module.TABLE, text), {"page@2026-01-01": sources.BATCH_ARTICLE}))

    assert len(read(good)) == 1
    with pytest.raises(TableError) as raised:
        read(good.replace(old, new, 1))
    assert str(raised.value).startswith(said)


def test_an_image_stands_once_letter_case_aside() -> None:
    text = "\n".join([",".join(vm_images.TABLE.columns), IMAGE, IMAGE.replace("sku", "SKU")])
    with pytest.raises(TableError, match=r"vm_images.csv:3:17: sku .* allowed: an image that line 2 doesn't have"):
        list(vm_images.read(tables.rows(vm_images.TABLE, text), {"page@2026-01-01": sources.BATCH_ARTICLE}))


def test_a_table_is_read_once_and_when_it_is_asked() -> None:
    asked: list[str] = []
    listed = tables.Listed(lambda: asked.append("listed") or iter("abc"))
    keyed = tables.Keyed(lambda: asked.append("keyed") or {"a": 1})
    assert asked == []
    assert (listed[0], listed[1:], list(listed), len(listed), "b" in listed) == ("a", ("b", "c"), ["a", "b", "c"], 3, True)
    assert (keyed["a"], list(keyed), len(keyed), keyed.get("b")) == (1, ["a"], 1, None)
    assert asked == ["listed", "keyed"]


def test_every_refusal_has_a_code_and_known_sources() -> None:
    rows = tables.by_name(tables.read(refusals.TABLE), "refusal")
    assert list(rows) == sorted(rows)
    for name, row in rows.items():
        assert row.filled("message"), name
        assert row.one_of("code", Code.__members__), name
        assert row["severity"] in list(Severity), name
        row.several("source", sources.named(), sources.WHERE)
