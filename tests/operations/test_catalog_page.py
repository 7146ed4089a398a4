"""docs/catalog.md is what the catalog says today, and has all of it."""

from pathlib import Path

from azure_gpu.catalog import facts
from azure_gpu.catalog.sizes import SIZES
from azure_gpu_operations import catalog_page

PAGE = Path(__file__).parents[2] / "docs" / "catalog.md"


def test_the_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == catalog_page.page(), "run: make renew"


def test_every_size_and_every_fact_of_every_service_is_on_it() -> None:
    page = catalog_page.page()
    assert [size.name for size in SIZES if f"| {size.name} |" not in page] == []
    known = [fact for about in catalog_page.known_facts().values() for fact in about]
    assert known
    assert [fact.name for fact in known if f"| {fact.name.replace('*', chr(92) + '*')} |" not in page] == []


def test_what_is_left_out_is_told_once_with_a_reason_and_is_no_fact() -> None:
    told = [each["what"] for each in catalog_page.left_out()]
    assert told
    assert len(told) == len(set(told))
    assert [each for each in catalog_page.left_out() if each["reason"].endswith(".")] == []
    # Of names that have a price, the reason why they are no size is the fact.
    known = {fact.name for thing, about in catalog_page.known_facts().items() if thing != facts.NOT_SIZES for fact in about}
    assert known & set(told) == set()
