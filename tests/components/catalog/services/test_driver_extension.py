"""The driver extension. Expectations are literals from Azure/azhpc-extensions and from the third source document."""

from collections.abc import Mapping
from datetime import date

from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.driver_extension import ExtensionRequest, extension_problems
from azure_gpu.catalog.services.vm_images import Distribution
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Driver, Size

TODAY = date(2026, 11, 20)
LINUX = "NvidiaGpuDriverLinux"
WINDOWS = "NvidiaGpuDriverWindows"


def size(name: str) -> Size:
    found = SIZES.find(name)
    assert found is not None
    return found


def check(
    name: str,
    distribution: Distribution | None = Distribution.UBUNTU_22_04,
    *,
    kind: str = LINUX,
    settings: Mapping[str, object] | None = None,
    day: date = TODAY,
    needs: Driver | None = None,
    publisher: str = "Microsoft.HpcCompute",
    secure_boot: bool = False,
) -> list[Problem]:
    request = ExtensionRequest(
        publisher=publisher, type=kind, settings=settings or {}, secure_boot=secure_boot, path="pool.extensions.0"
    )
    return list(extension_problems(request, size(name), distribution, day, needs=needs))


@given(
    st.sampled_from([one.name for one in SIZES]),
    st.one_of(st.none(), st.sampled_from(list(Distribution))),
    st.sampled_from([LINUX, WINDOWS, "AmdGpuDriverWindows", "nonsense", ""]),
    st.dictionaries(st.sampled_from(["installGridNC", "installGridND", "driverVersion"]), st.one_of(st.booleans(), st.text())),
    st.dates(date(2016, 1, 1), date(2030, 1, 1)),
    st.one_of(st.none(), st.sampled_from(list(Driver))),
)
def test_nothing_raises_and_every_problem_has_a_source(
    name: str, distribution: Distribution | None, kind: str, settings: dict[str, object], day: date, needs: Driver | None
) -> None:
    for problem in check(name, distribution, kind=kind, settings=settings, day=day, needs=needs):
        assert problem.path == "pool.extensions.0"
        assert problem.message
