"""A cited page is read whole: each row of its tables is in the catalog, or is left out with a reason.

The rows are in `tests/data/pages`, with page, commit and day; `operations catalog refresh --from pages` reads the pages again.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pytest

from azure_gpu.catalog import regions
from azure_gpu.catalog.services import container_apps, driver_extension, vm_images
from azure_gpu.catalog.services.aks import kubernetes_versions, sizes as aks
from azure_gpu.catalog.services.batch import sizes as batch
from azure_gpu.catalog.services.machine_learning import compute, endpoints
from azure_gpu.catalog.sizes import SIZES, cpu_series
from azure_gpu.catalog.sizes.model import Driver, Size
from tests.support.tables import rows_of

PAGES = Path(__file__).parents[2] / "data" / "pages"
SERIES = {size.series.name: size.series for size in SIZES}
# By page: how rows begin that the catalog doesn't have as they are, each with the reason.
LEFT_OUT: dict[str, dict[str, str]] = {
    "ends": {
        "GPU accelerated, NCv3-NC24rs Series": "the sizes of NCv3 have it: Standard_NC24rs_v3 has an end of its own",
        "ADH": "dedicated hosts, which nothing here declares",
    },
    "batch_sizes": {
        **dict.fromkeys(
            ("Basic A", "A,", "Av2", "B,", "D", "E", "F", "G, Gs", "Ls", "M", "SAP"),
            "without a GPU: Batch's own list is asked, as the page is of 2021",
        ),
        "NDv2": "the article of 2018 has it, and the page says `not yet`: a doubt in the table",
    },
    "ml_compute": dict.fromkeys(
        ("DDSv4", "Dv", "DSv", "EAv4", "Ev3", "ESv3", "FSv2", "FX", "LSv2", "M,"),
        "without a GPU: computes on them are judged by the series' ends",
    ),
    "aks_gpus": {"standard_nd40s_v3": "NDv3, whose GPU no source names"},
}


def rows(name: str) -> Iterator[list[str]]:
    for line in (PAGES / name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            yield line.split("\t")


def sized(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None, name
    return found


def month(day: date) -> str:
    return f"{day:%b %Y}"


def fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def aks_version(name: str, _upstream: str, _preview: str, general: str, end: str, last: str) -> str:
    version = {each.name: each for each in kubernetes_versions.VERSIONS}[name]
    ends = {month(version.end.day), f"{version.end.day:%b} {version.end.day.day}, {version.end.day.year}"}
    if month(version.general.day) != general or end not in ends:
        return f"{version.general.day} to {version.end.day}"
    of_lts = last if version.lts_end is None else month(version.lts_end.day)
    return "" if last.startswith("Until ") or (version.lts_end and of_lts == last) else f"LTS until {version.lts_end}"


def end_of_series(_section: str, name: str, announced: str, end: str) -> str:
    last, series = datetime.strptime(end, "%m/%d/%y").date(), re.sub("-[sS]eries$", "", name)
    of_cpu = {each.name: each for each in cpu_series.SERIES}.get(name)
    if of_cpu is not None:
        on = [f"{datetime.strptime(announced, form):%Y-%m-%d}" for form in ("%m/%d/%y", "%m/%d/%Y") if fits(announced, form)]
        found = of_cpu.lifecycle.end
        return "" if found and found.day == last and of_cpu.announced == "".join(on) else f"{found}, {of_cpu.announced}"
    own = SERIES[series].lifecycle.end if series in SERIES else None
    return "" if own is not None and own.day == last else f"{own}"


def rtx_pro_size(name: str, vcpus: str, memory: str, gpus: str, instead: str) -> str:
    size = sized(name)
    has = (str(size.vcpus), str(size.memory_gib), str(size.gpu_count)) == (vcpus, memory, gpus)
    return "" if has and instead in size.successors and SIZES.find(instead) else f"{size}"


def batch_series(name: str, sizes: str) -> str:
    listed = batch.SERIES.get({"NDv4": "NDasrA100_v4"}.get(name, name))
    return "" if listed is not None and sizes == "All sizes" else f"{listed}"


def ml_series(name: str, _category: str, by: str) -> str:
    return "" if name in compute.COMPUTE_SERIES and by == "Compute clusters and instance" else "not there"


def endpoint_size(family: str, name: str, gpus: str, vcpus: str, skips: str) -> str:
    size = name.replace("STANDARD", "Standard")
    if gpus == "0":
        cpu = endpoints.managed_cpu(size)
        return "" if cpu is not None and (cpu.quota_family, str(cpu.vcpus), skips) == (family, vcpus, "-") else f"{cpu}"
    known = sized(size)
    listed = endpoints.managed(known)
    has = (str(known.gpu_count), str(known.vcpus)) == (gpus, vcpus)
    same = listed is not None and (listed.quota_family, listed.reserves) == (family, skips == "-")
    return "" if has and same else f"{listed}, {known.gpu_count} GPUs, {known.vcpus} vCPU"


def profile_region(region: str, a100: str, t4: str) -> str:
    has = [regions.normalise(region) in container_apps.PROFILES[name].regions for name in PROFILES]
    return "" if all(one or said == "No" for one, said in zip(has, (a100, t4), strict=True)) else f"A100 and T4: {has}"


def aks_gpu(name: str, systems: str) -> str:
    size = SIZES.find(name)
    row = aks.listing(size) if size is not None else None
    said = {AKS_SYSTEMS[each] for each in systems.split(", ")}
    return "" if row is not None and row.systems == said else f"{size.series.name if size else size}: {row and row.systems}"


def mig_profile(name: str, _sms: str, _memory: str, instances: str) -> str:
    gpu = sized("Standard_ND96asr_v4").gpu
    found = gpu.mig.get(f"MIG{name.partition('.')[0]}") if gpu is not None else None
    return "" if found is not None and (found.name, str(found.instances)) == (name, instances) else f"{found}"


def hpc_image(name: str) -> str:
    known = {str(each.reference).replace("/", ":") for each in vm_images.IMAGES}
    return "" if name in known else "not there"


def driver_row(part: str, driver: str, series: str, _version: str, systems: str) -> str:
    names = [re.sub(" ([sS]eries|sizes)$", "", each) for each in series.split("; ")]
    if part == "default":
        return "" if driver_extension.DEFAULTS.get(names[0]) == driver else f"{driver_extension.DEFAULTS.get(names[0])}"
    missing = [each for each in names if each not in driver_extension.TAKES[Driver(driver)]]
    known = {str(one) for entry in driver_extension.ENTRIES if entry.driver == driver for one in entry.distributions}
    spelt = {
        each: re.sub(r"\.x LTS", ".04 LTS", each).replace("RHEL/CentOS", "Red Hat Enterprise Linux")
        for each in systems.split("; ")
    }
    return ", ".join([*missing, *(each for each, name in spelt.items() if re.sub(r"(Linux \d)\..*", r"\1", name) not in known)])


def amd_driver_row(system: str, _category: str, series: str, systems: str) -> str:
    driver = driver_extension.AMD_DEFAULTS["Windows" if system == "Windows" else "Linux"].get(series.removesuffix(" Series"))
    known = {
        str(one).removesuffix(" LTS")
        for entry in driver_extension.ENTRIES
        if entry.driver is driver
        for one in entry.distributions
    }
    return ", ".join(sorted({*systems.split("; ")} - known))


PROFILES = ("Consumption-GPU-NC24-A100", "Consumption-GPU-NC8as-T4")
AKS_SYSTEMS = {
    "ubuntu": "Ubuntu",
    "windows": "Windows",
    "azurelinux": "Azure Linux 2",
    "azurelinux3": "Azure Linux 3",
}
PAGES_READ = {
    "aks_versions": aks_version,
    "ends": end_of_series,
    "rtx_pro": rtx_pro_size,
    "batch_sizes": batch_series,
    "ml_compute": ml_series,
    "ml_endpoints": endpoint_size,
    "container_apps": profile_region,
    "aks_gpus": aks_gpu,
    "mig": mig_profile,
    "hpc_images": hpc_image,
    "driver_extension": driver_row,
    "amd_extension": amd_driver_row,
}


@pytest.mark.parametrize("page", PAGES_READ)
def test_each_row_of_a_page_is_in_the_catalog_or_left_out_with_a_reason(page: str) -> None:
    wrong = {f"{page}: {', '.join(row)}": found for row in rows(f"{page}.tsv") if (found := PAGES_READ[page](*row))}
    left_out = LEFT_OUT.get(page, {})
    assert {row: found for row, found in wrong.items() if not any(row.startswith(f"{page}: {each}") for each in left_out)} == {}
    assert [each for each in left_out if not any(row.startswith(f"{page}: {each}") for row in wrong)] == []


def test_a_pattern_of_a_series_matches_no_size_of_another_or_with_a_gpu() -> None:
    rows = rows_of(__file__, "series_of_sizes")
    assert [(each.name if (each := cpu_series.find(name)) else "") for name, _ in rows] == [series for _, series in rows]
    assert [each.name for each in cpu_series.SERIES] == [series for _, series in rows]
    assert [size.name for size in SIZES if cpu_series.find(size.name)] == []
    assert cpu_series.find("Standard_D4s_v5") is None
