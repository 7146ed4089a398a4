"""`catalog refresh`, against stand-ins: the Retail Prices API, pages of repositories, and the embedded Azure."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from azure_gpu.catalog.prices import container_apps, price_table
from azure_gpu_operations.__main__ import main
from tests.support.retail_prices import EAST_US_METERS, RetailPricesServer, t4

OLD = """size,region,usd_hour,usd_hour_spot,as_of,source
Standard_NC4as_T4_v3,eastus,0.5,,2026-06-18,karpenter
Standard_NC4as_T4_v3,eastus,0.526,0.05,2024-08-27,skypilot
Standard_NC4as_T4_v3,westeurope,0.658,,2026-06-18,karpenter
Standard_NC6s_v3,eastus,3.06,,2026-06-18,karpenter
"""
OLD_METERS = "meter,region,usd_second,as_of,source\nT4,eastus,0.00007,2026-01-01,api\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    machines, meters = tmp_path / "vm_prices.csv", tmp_path / "container_apps_prices.csv"
    machines.write_text(OLD, encoding="utf-8")
    meters.write_text(OLD_METERS, encoding="utf-8")
    return machines, meters


def refresh(server: RetailPricesServer, files: tuple[Path, Path], *words: str) -> int:
    return main(["catalog", "refresh", "--from", "prices", "--url", server.url, "--folder", str(files[0].parent), *words])


def today() -> date:
    return datetime.now(UTC).date()


def test_a_refresh_adds_what_the_api_says_today_and_keeps_what_was_there(
    server: RetailPricesServer, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    server.rows = [
        t4(0.55),
        t4(0.1, skuName="NC4as T4 v3 Spot", meterName="NC4as T4 v3 Spot"),
        t4(0.658, armRegionName="westeurope"),
        t4(1.0, armRegionName="usgovvirginia"),
        *EAST_US_METERS,
    ]
    assert refresh(server, files, "--region", "East US", "--region", "westeurope") == 0
    text = files[0].read_text(encoding="utf-8")
    assert set(OLD.splitlines()) < set(text.splitlines())
    assert set(text.splitlines()) - set(OLD.splitlines()) == {
        f"Standard_NC4as_T4_v3,eastus,0.55,0.1,{today()},api",
        f"Standard_NC4as_T4_v3,westeurope,0.658,,{today()},api",
    }
    assert text.splitlines()[1:] == sorted(text.splitlines()[1:], key=lambda line: (line.split(",")[:2], line.split(",")[5]))
    assert files[1].read_text(encoding="utf-8") == (
        "meter,region,usd_second,as_of,source\n"
        f"A100,eastus,0.000529,{today()},api\n"
        f"T4,eastus,0.000073,{today()},api\n"
        f"memory,eastus,0.000003,{today()},api\n"
        f"vcpu,eastus,0.000024,{today()},api\n"
    )
    said = capsys.readouterr().out
    assert "0.5 " in said
    assert "0.55" in said
    assert "Standard_NC6s_v3, eastus" in said
    assert "changed" in said.splitlines()[-1]


def test_a_second_refresh_replaces_the_rows_of_the_first(server: RetailPricesServer, files: tuple[Path, Path]) -> None:
    server.rows = [t4(0.55)]
    assert refresh(server, files, "--size", "nc4as_t4_v3") == 0
    server.rows = [t4(0.56)]
    assert refresh(server, files, "--size", "nc4as_t4_v3") == 0
    fresh = [one for one in price_table.read(files[0].read_text(encoding="utf-8")) if one.source == "api"]
    assert [(one.size, one.region, str(one.usd_hour)) for one in fresh] == [("Standard_NC4as_T4_v3", "eastus", "0.56")]


def test_a_size_is_asked_for_in_azures_own_spelling_and_alone(server: RetailPricesServer, files: tuple[Path, Path]) -> None:
    server.rows = [t4(0.55)]
    assert refresh(server, files, "--size", "NC4AS_T4_V3", "--region", "eastus") == 0
    (asked,) = server.asked
    assert asked["$filter"] == (
        "serviceName eq 'Virtual Machines' and armSkuName eq 'Standard_NC4as_T4_v3' and priceType eq 'Consumption' "
        "and armRegionName eq 'eastus'"
    )
    assert files[1].read_text(encoding="utf-8") == OLD_METERS


def test_a_quote_in_a_size_stays_inside_its_quotes(server: RetailPricesServer, files: tuple[Path, Path]) -> None:
    assert refresh(server, files, "--size", "x' or armSkuName eq 'y") == 0
    assert "'Standard_x''_or_armSkuName_eq_''y'" in server.asked[0]["$filter"]


def test_a_new_region_of_the_api_is_taken_and_what_is_no_region_is_named_and_left_out(
    server: RetailPricesServer, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    server.rows = [t4(0.55), t4(0.7, armRegionName="newregion9"), t4(0.7, armRegionName="US Gov 1/2")]
    assert refresh(server, files, "--size", "NC4as_T4_v3") == 0
    kept = files[0].read_text(encoding="utf-8")
    assert "newregion9" in kept
    assert "gov" not in kept
    assert "usgov1/2" in capsys.readouterr().out


def test_prices_that_cannot_be_told_apart_are_left_out_and_named(
    server: RetailPricesServer, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    server.rows = [t4(0.55), t4(0.56, productName="Another")]
    assert refresh(server, files, "--size", "NC4as_T4_v3") == 0
    assert files[0].read_text(encoding="utf-8") == OLD
    assert "Another / NC4as T4 v3 0.56" in capsys.readouterr().out


def test_a_refresh_that_fails_halfway_changes_no_file_and_says_what_is_missing(
    server: RetailPricesServer, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    server.rows = [t4(0.55), *EAST_US_METERS]
    names = ("NC4as_T4_v3", "NC6s_v3", "NC12s_v3", "NC24s_v3", "NV36ads_A10_v5", "NC24ads_A100_v4", "ND96asr_v4")
    sizes = [word for name in names for word in ("--size", name)]
    server.faults = [(200, {}, '{"Items": [], "NextPageLink": null}'), (400, {}, "no"), (400, {}, "no")]
    assert refresh(server, files, *sizes) == 1
    assert (files[0].read_text(encoding="utf-8"), files[1].read_text(encoding="utf-8")) == (OLD, OLD_METERS)
    assert sorted(path.name for path in files[0].parent.iterdir()) == ["container_apps_prices.csv", "vm_prices.csv"]
    said = capsys.readouterr().err
    assert "prices: nothing was changed" in said
    assert "Standard_NC6s_v3" in said
    assert "HTTP 400" in said
    assert "Standard_NC12s_v3: not requested" in said
    assert "2 more: not requested" in said
    assert len(server.asked) == 2


def test_a_damaged_price_file_is_named_before_anything_is_asked(
    server: RetailPricesServer, files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    files[0].write_text(OLD + "Standard_NC6,eastus,0,,2026-01-01,api\n", encoding="utf-8")
    assert refresh(server, files) == 1
    assert "vm_prices.csv:6:21: usd_hour (USD per hour, on demand) is '0'" in capsys.readouterr().err
    assert server.asked == []


def test_the_shipped_meters_can_be_renewed(server: RetailPricesServer, files: tuple[Path, Path]) -> None:
    files[1].write_text(Path(container_apps.METER_PRICES).read_text(encoding="utf-8"), encoding="utf-8")
    server.rows = EAST_US_METERS
    assert refresh(server, files, "--region", "eastus") == 0
    rows = container_apps.read(files[1].read_text(encoding="utf-8"))
    assert {one.meter: str(one.usd_second) for one in rows if one.source == "api"}["A100"] == "0.000529"
