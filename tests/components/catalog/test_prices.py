"""What is known of prices. Expectations are literals of the price lists, not what the catalog says."""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog import facts
from azure_gpu.catalog.prices import VM_PRICES, Price, PriceBook, container_apps, notes, packaged, price_table
from azure_gpu.catalog.prices.container_apps import Meter, MeterPrices, MeterRow, packaged_meters
from azure_gpu.catalog.prices.price_table import PriceRow
from azure_gpu.catalog.problems import Code
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.tables import TableError
from tests.support.tables import of_table

EVIDENCE = Path(__file__).parents[2] / "data" / "gpu_prices.csv"  # of every list and size the first and the last region
LISTED = date(2026, 6, 18)  # the day of the newer price list


def shipped() -> PriceBook:
    """The packaged prices as they were gathered; later refreshes add rows of their own source."""
    rows = price_table.read(Path(VM_PRICES).read_text(encoding="utf-8"))
    return PriceBook(row for row in rows if row.source != price_table.API)


def test_a_spot_price_is_known_where_the_older_list_has_one() -> None:
    spot = shipped().spot("Standard_NC12", "westus2")
    assert spot is not None
    assert (spot.usd_hour, spot.day) == (Decimal("0.198"), date(2024, 8, 27))
    assert "skypilot" in spot.source


@pytest.mark.parametrize("size", ["NC40ads_H100_v5", "ND96isr_H200_v5", "ND96isr_MI300X_v5", "NV6ads_A10_v5"])
def test_where_no_spot_price_is_known_there_is_none(size: str) -> None:
    book = shipped()
    assert book.regions_of(size)
    assert all(book.spot(size, region) is None for region in book.regions_of(size))


@pytest.mark.parametrize("size", ["ND40s_v3", "ND96is_H200_v5", "NC6s_v2", "no_such_size", ""])
def test_an_unknown_price_is_none_and_never_0(size: str) -> None:
    book = shipped()
    assert book.regions_of(size) == ()
    assert (book.on_demand(size, "eastus"), book.spot(size, "eastus")) == (None, None)


@pytest.mark.parametrize("size", ["NC4as_T4_v3", "Standard_NC4as_T4_v3", "standard_nc4AS_t4_V3"])
@pytest.mark.parametrize("region", ["westeurope", "West Europe"])
def test_size_and_region_may_be_spelt_in_any_way(size: str, region: str) -> None:
    price = shipped().on_demand(size, region)
    assert price is not None
    assert price.usd_hour == Decimal("0.658")


def test_the_windows_price_of_the_confidential_h100_is_not_taken_for_linux() -> None:
    price = shipped().on_demand("NCC40ads_H100_v5", "eastus2")
    assert price is not None
    assert price.usd_hour == Decimal("6.98")  # the Windows machine costs 8.82


def test_every_price_of_the_evidence_is_in_the_file() -> None:
    evidence = EVIDENCE.read_text(encoding="utf-8").splitlines()[1:]
    packed = set(Path(VM_PRICES).read_text(encoding="utf-8").splitlines())
    assert evidence
    assert [line for line in evidence if line not in packed] == []


def test_the_file_is_as_the_refresh_would_write_it() -> None:
    text = Path(VM_PRICES).read_text(encoding="utf-8")
    assert price_table.write(price_table.read(text)) == text


def test_the_packaged_book_is_read_once() -> None:
    assert packaged() is packaged()
    assert packaged().on_demand("NC4as_T4_v3", "eastus") is not None


# --- what a price is worth ---


@pytest.mark.parametrize(("age", "stale"), [(0, False), (60, False), (61, True), (-1, False)])
def test_a_price_is_stale_after_its_shelf_life(age: int, stale: bool) -> None:
    price = Price(Decimal("3.673"), LISTED, "a list")
    assert price.stale(LISTED + timedelta(days=age)) is stale


def test_a_price_says_its_day_and_what_to_mind() -> None:
    price = Price(Decimal("3.673"), LISTED, "a list")
    assert price.text(date(2026, 11, 20)) == "3.673 USD/hour (list price of 2026-06-18)"
    assert price.text(date(2028, 1, 1)) == "3.673 USD/hour (list price of 2026-06-18)"
    assert price.text(date(2019, 6, 1)) == "3.673 USD/hour (list price of 2026-06-18, read after 2019-06-01)"
    assert price.observed_later(date(2019, 6, 1))
    assert not price.observed_later(LISTED)


def test_the_newest_of_several_prices_counts_and_each_kind_has_its_own() -> None:
    book = PriceBook(
        price_table.read(
            f"{price_table.HEADER}\n"
            "Standard_NC6,eastus,0.9,0.1,2024-08-27,skypilot\n"
            "Standard_NC6,eastus,0.8,,2026-06-18,karpenter\n"
            "Standard_NC6,eastus,0.7,,2025-01-01,api\n"
        )
    )
    price, spot = book.on_demand("NC6", "eastus"), book.spot("NC6", "eastus")
    assert price is not None
    assert spot is not None
    assert (price.usd_hour, spot.usd_hour) == (Decimal("0.8"), Decimal("0.1"))


# --- malformed files ---


@of_table("line", "said")
def test_a_malformed_row_is_named_with_its_place(line: str, said: str) -> None:
    text = f"{price_table.HEADER}\nStandard_NC12,eastus,0.9,,2026-06-18,api\n{line}\n"
    number = 2 + len(line.splitlines())
    with pytest.raises(TableError) as raised:
        price_table.read(text)
    assert str(raised.value).startswith(f"vm_prices.csv:{number}:{said}")


@pytest.mark.parametrize("text", ["", "size,region\n", "Standard_NC6,eastus,0.9,,2026-06-18,api\n"])
def test_a_file_without_its_header_is_refused(text: str) -> None:
    for read in (price_table.read, price_table.by_size):
        with pytest.raises(TableError, match=r"vm_prices\.csv:1:1: the header is"):
            read(text)


def test_what_is_read_size_by_size_is_what_is_read_at_once() -> None:
    whole = PriceBook(price_table.read(Path(VM_PRICES).read_text(encoding="utf-8")))
    names = {row.size for row in price_table.read(Path(VM_PRICES).read_text(encoding="utf-8"))}
    book = PriceBook.packaged()
    for name in names:
        assert book.regions_of(name) == whole.regions_of(name)
        for region in book.regions_of(name):
            assert book.on_demand(name, region) == whole.on_demand(name, region)
            assert book.spot(name, region) == whole.spot(name, region)


_AMOUNT = st.decimals("0.000001", "1000", places=6).filter(bool)
_ROWS = st.lists(
    st.builds(
        PriceRow,
        st.sampled_from(["Standard_NC6", "Standard_ND96isr_H100_v5"]),
        st.sampled_from(["eastus", "westeurope"]),
        _AMOUNT,
        st.none() | _AMOUNT,
        st.dates(date(2019, 1, 1), date(2030, 1, 1)),
        st.sampled_from(list(price_table.SOURCES)),
    ),
    unique_by=lambda row: (row.size, row.region, row.source),
)


@given(_ROWS)
def test_what_is_written_is_read_again(rows: list[PriceRow]) -> None:
    assert set(price_table.read(price_table.write(rows))) == set(rows)


# --- notes ---


def test_priced_names_that_are_no_size_say_so() -> None:
    names = [fact.name for fact in facts.about(facts.NOT_SIZES)]
    assert len(names) == 18
    for name in names:
        assert shipped().regions_of(name)
        assert notes.about(name.lower())[0].name == name
        assert (SIZES.unknown(name.removeprefix("Standard_"), "size").code is Code.RETIRED) is ("RTXPRO" in name), (
            "a preview ends"
        )


@of_table("size", "said")
def test_doubtful_prices_say_why(size: str, said: str) -> None:
    found = [fact.value for fact in notes.about(size)]
    assert any(said in value for value in found) if said else found == []


def test_the_sizes_whose_spot_is_a_quarter_are_those_in_doubt() -> None:
    rows = price_table.read(Path(VM_PRICES).read_text(encoding="utf-8"))
    quarter = {
        row.size for row in rows if row.source == "skypilot" and row.usd_hour_spot and row.usd_hour_spot * 4 == row.usd_hour
    }
    assert quarter
    assert all(any("quarter" in fact.value for fact in notes.about(size)) for size in quarter)


# --- Container Apps ---


def test_a_t4_replica_in_east_us_costs_its_gpu_its_vcpus_and_its_memory() -> None:
    price = packaged_meters().hourly_cost(Decimal(8), Decimal(56), "T4", "East US")
    assert price is not None
    assert price.usd_hour == Decimal("1.5588")  # (0.000073 + 8 x 0.000024 + 56 x 0.000003) x 3600
    assert price.day >= date(2026, 8, 1)


def rows_of(*meters: Meter) -> list[MeterRow]:
    return [MeterRow(one, "westeurope", Decimal("0.001"), date(2026, 1, 1), "api") for one in meters]


@pytest.mark.parametrize("missing", ["T4", "vcpu", "memory"])
def test_where_one_meter_is_not_known_nothing_is(missing: Meter) -> None:
    wanted = ("T4", "vcpu", "memory")
    assert MeterPrices(rows_of(*wanted)).hourly_cost(Decimal(1), Decimal(1), "T4", "westeurope") is not None
    rest = MeterPrices(rows_of(*(one for one in wanted if one is not missing)))
    assert rest.hourly_cost(Decimal(1), Decimal(1), "T4", "westeurope") is None
    limit = MeterRow(missing, "westeurope", Decimal("0.002"), date(2026, 1, 1), "doc-ai")  # an upper limit is no price
    limited = MeterPrices([*rows_of(*(one for one in wanted if one is not missing)), limit])
    assert limited.hourly_cost(Decimal(1), Decimal(1), "T4", "westeurope") is None
    assert limited.hourly_cost(Decimal(1), Decimal(1), "T4", "westeurope", at_most=True) is not None


def test_the_day_of_a_replicas_price_is_that_of_its_oldest_meter() -> None:
    rows = [*rows_of("T4", "vcpu"), MeterRow("memory", "westeurope", Decimal("0.001"), date(2025, 5, 5), "gludd")]
    price = MeterPrices(rows).hourly_cost(Decimal(1), Decimal(2), "T4", "westeurope")
    assert price is not None
    assert (price.usd_hour, price.day) == (Decimal("14.4"), date(2025, 5, 5))


@of_table("line", "said")
def test_a_malformed_meter_is_named_with_its_place(line: str, said: str) -> None:
    with pytest.raises(TableError) as raised:
        container_apps.read(f"{container_apps.HEADER}\n{line}\n")
    assert str(raised.value).startswith(f"container_apps_prices.csv:2:{said}")
