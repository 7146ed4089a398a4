"""Tables as Markdown."""

from datetime import date
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

import pytest

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.sources import Dated, Source
from azure_gpu_operations.markdown import cell, table

PAGE = Source("a page", Dated.OBSERVED, date(2019, 4, 17))


class Colour(StrEnum):
    RED = "red"


class Row(NamedTuple):
    gpu_name: str
    memory_gib: int | None
    note: str = ""


def test_a_column_that_no_row_fills_is_left_out_and_what_is_not_known_is_said() -> None:
    assert table([Row("T4", 16), Row("GB300", None)]) == (
        "| GPU name | Memory GiB |\n| --- | --- |\n| T4 | 16 |\n| GB300 | not known |\n"
    )


def test_the_source_comes_last_and_what_is_named_comes_first() -> None:
    rows = [{"source": "a page", "note": "old", "name": "T4"}]
    assert table(rows, first=("name",)) == "| Name | Note | Source |\n| --- | --- | --- |\n| T4 | old | a page |\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "not known"),
        (True, "yes"),
        (0, "0"),
        (Fraction(1, 6), "1/6"),
        (Colour.RED, "red"),
        (date(2019, 4, 17), "2019-04-17"),
        (PAGE, "a page (observed on 2019-04-17)"),
        ((), "none"),
        (frozenset({"b", "a"}), "a, b"),
        ({"eastus": 2}, "eastus: 2"),
        ("a|b <c> *d*", r"a\|b \<c> \*d\*"),
        (Lifecycle(seen=PAGE, preview=True), "first seen 2019-04-17, preview"),
        (Row("T4", 16), "GPU name T4, memory GiB 16"),
    ],
)
def test_each_kind_of_value_has_one_form(value: object, text: str) -> None:
    assert cell(value) == text
