"""A cited page is read whole: each row of its tables is in the catalog, or is left out with a reason.

The rows are in `tests/data/pages`, with page, commit and day; `operations catalog refresh --from pages` reads the pages again.
"""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

from azure_gpu.catalog.services.aks import kubernetes_versions
from azure_gpu.catalog.sizes import SIZES, cpu_series
from tests.components.tables import rows_of

PAGES = Path(__file__).parents[2] / "data" / "pages"
LEFT_OUT = {
    "NCv3-NC24rs Series": "the sizes of NCv3 have it: Standard_NC24rs_v3 has an end of its own",
    "Dsv3-Type1, Dsv3-Type2, Esv3-Type1, Esv3-Type2": "dedicated hosts, which nothing here declares",
}


def rows(name: str) -> Iterator[list[str]]:
    for line in (PAGES / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            yield line.split("\t")


def month(day: date) -> str:
    return f"{day:%b %Y}"


def test_every_version_of_the_page_of_aks_is_in_the_table_with_its_dates() -> None:
    known = {version.name: version for version in kubernetes_versions.VERSIONS}
    wrong = list[str]()
    for name, _, _, general, end, last in rows("aks_versions.tsv"):
        version = known[name]
        if (month(version.general.day), end) not in {
            (general, month(version.end.day)),
            (general, f"{version.end.day:%b} {version.end.day.day}, {version.end.day.year}"),
        }:
            wrong.append(f"{name}: {version.general.day} to {version.end.day}")
        if not last.startswith("Until ") and (version.lts_end is None or month(version.lts_end.day) != last):
            wrong.append(f"{name}: LTS until {version.lts_end}")
    assert wrong == []


def test_every_series_of_the_page_of_ends_is_in_a_table_with_its_days_or_left_out_with_a_reason() -> None:
    of_cpu = {each.name: each for each in cpu_series.SERIES}
    of_gpu = {size.series.name: size for size in SIZES}
    wrong = list[str]()
    for _, name, announced, end in rows("ends.tsv"):
        last = datetime.strptime(end, "%m/%d/%y").date()
        series = name.removesuffix("-series").removesuffix("-Series")
        if name in of_cpu:
            on = [f"{datetime.strptime(announced, form):%Y-%m-%d}" for form in ("%m/%d/%y", "%m/%d/%Y") if fits(announced, form)]
            found, told = of_cpu[name].lifecycle.end, of_cpu[name].announced
            if found is None or found.day != last or told != "".join(on):
                wrong.append(f"{name}: {found}, announced {told}")
        elif series in of_gpu:
            found = of_gpu[series].lifecycle.end
            if found is None or found.day != last:
                wrong.append(f"{name}: {found}")
        elif name not in LEFT_OUT:
            wrong.append(f"{name}: not there")
    assert wrong == []


def fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def test_every_size_of_the_page_of_rtx_pro_has_its_figures_and_what_took_its_place() -> None:
    wrong = list[str]()
    for name, vcpus, memory, gpus, instead in rows("rtx_pro.tsv"):
        size = SIZES.find(name)
        if (
            size is None
            or (str(size.vcpus), str(size.memory_gib), str(size.gpu_count)) != (vcpus, memory, gpus)
            or instead not in size.successors
            or SIZES.find(instead) is None
        ):
            wrong.append(f"{name}: {size}")
    assert wrong == []


def test_a_pattern_of_a_series_matches_no_size_of_another_or_with_a_gpu() -> None:
    rows = rows_of(__file__, "series_of_sizes")
    assert [(each.name if (each := cpu_series.find(name)) else "") for name, _ in rows] == [series for _, series in rows]
    assert [each.name for each in cpu_series.SERIES] == [series for _, series in rows]
    assert [size.name for size in SIZES if cpu_series.find(size.name)] == []
    assert cpu_series.find("Standard_D4s_v5") is None
