"""Images for GPU machines. Expectations are literals from the images' repositories, Batch's notices and the documents."""

from datetime import date

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services.vm_images import IMAGES, Distribution, ImageReference, VmImage, find, image_problems
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import Size, VmGeneration

TODAY = date(2026, 11, 20)


def reference(text: str) -> ImageReference:
    publisher, offer, sku = text.split("/")
    return ImageReference(publisher, offer, sku)


def row(text: str) -> VmImage:
    found = find(reference(text), IMAGES)
    assert found is not None
    return found


def check(
    text: str, day: date = TODAY, *, size: Size | None = None, in_batch: bool = False, trusted: bool = False
) -> list[Problem]:
    return list(image_problems(reference(text), day, "vm.image", IMAGES, size=size, in_batch=in_batch, trusted_launch=trusted))


def size(name: str, *generations: VmGeneration) -> Size:
    found = SIZES.find(name)
    assert found is not None
    return found._replace(series=found.series._replace(generations=generations)) if generations else found


@pytest.mark.parametrize(
    ("text", "distribution", "newest"),
    [
        ("microsoft-dsvm/ubuntu-hpc/2404", "Ubuntu 24.04 LTS", ""),
        ("microsoft-dsvm/ubuntu-hpc/2204", "Ubuntu 22.04 LTS", ""),
        ("microsoft-dsvm/ubuntu-2204/2204-gen2", "Ubuntu 22.04 LTS", "25.06.18"),
        ("microsoft-dsvm/dsvm-win-2022/winserver-2022", "Windows Server 2022", "25.05.10"),
    ],
)
def test_todays_images_are_taken_and_bring_a_driver(text: str, distribution: Distribution, newest: str) -> None:
    assert check(text) == []
    found = row(text)
    assert (found.distribution, found.newest) == (distribution, newest)
    assert "NVIDIA driver" in found.has
    assert found.plan is None


def test_an_image_is_found_in_any_letter_case_and_by_its_offer() -> None:
    assert row("MICROSOFT-DSVM/Ubuntu-HPC/2404") is row("microsoft-dsvm/ubuntu-hpc/2404")
    assert row("microsoft-azure-batch/centos-container-rdma/7-7").reference.offer == "centos-container-rdma"


def test_the_dsvm_of_2017_needs_its_plan() -> None:
    plan = row("microsoft-ads/linux-data-science-vm-ubuntu/linuxdsvmubuntu").plan
    assert plan is not None
    assert (plan.name, plan.product, plan.publisher) == ("linuxdsvmubuntu", "linux-data-science-vm-ubuntu", "microsoft-ads")
    assert check("microsoft-ads/linux-data-science-vm-ubuntu/linuxdsvmubuntu", date(2017, 9, 14), size=size("NC6")) == []


def test_the_dsvm_of_2017_is_doubted_today_with_what_works() -> None:
    (problem,) = check("microsoft-ads/linux-data-science-vm-ubuntu/linuxdsvmubuntu")
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert problem.instead[0] == "microsoft-dsvm/ubuntu-hpc/2404"


def test_windows_server_2012_left_the_marketplace() -> None:
    sku = "MicrosoftWindowsServer/WindowsServer/2012-R2-Datacenter"
    assert not errors(check(sku, date(2024, 12, 5)))
    (problem,) = check(sku, date(2024, 12, 6))
    assert problem.code is Code.RETIRED
    assert "2024-12-05" in problem.message
    assert problem.instead == ("MicrosoftWindowsServer/WindowsServer/2016-Datacenter",)
    (today,) = check(sku)
    assert today.instead == (
        "MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2",
        "MicrosoftWindowsServer/WindowsServer/2022-datacenter",
    )


def test_windows_server_2016_ends_in_53_days() -> None:
    sku = "MicrosoftWindowsServer/WindowsServer/2016-Datacenter"
    assert check(sku, date(2018, 12, 17)) == []
    (problem,) = check(sku, TODAY)
    assert (problem.code, problem.severity) == (Code.RETIRING, Severity.WARNING)
    assert "2027-01-12, 53 days" in problem.message
    assert errors(check(sku, date(2027, 1, 13)))


def test_a_generation_1_image_does_not_boot_on_a_generation_2_size() -> None:
    gen2_only = size("NC40ads_H100_v5", "Gen2")
    (problem,) = check("MicrosoftWindowsServer/WindowsServer/2022-datacenter", size=gen2_only)
    assert (problem.code, problem.path) == (Code.IMPOSSIBLE, "vm.image")
    assert check("MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2", size=gen2_only) == []
    assert check("microsoft-dsvm/ubuntu-hpc/2404", size=gen2_only) == []
    gen1_only = size("NC6", "Gen1")
    assert errors(check("microsoft-dsvm/ubuntu-hpc/2404", size=gen1_only))


def test_images_for_x64_do_not_boot_on_arm64() -> None:
    assert errors(check("MicrosoftWindowsServer/WindowsServer/2022-datacenter-g2", size=size("ND128isr_NDR_GB200_v6")))
    [refused] = errors(check("microsoft-dsvm/ubuntu-hpc/2404", size=size("ND128isr_NDR_GB200_v6")))
    assert "an x64 image" in refused.message
    assert "ubuntu-hpc:2404-gb" in refused.fix
    assert not errors(check("microsoft-dsvm/ubuntu-hpc/2404-gb", size=size("ND128isr_NDR_GB200_v6")))


def test_ubuntu_hpc_under_trusted_launch_is_a_warning() -> None:
    (problem,) = check("microsoft-dsvm/ubuntu-hpc/2404", trusted=True)
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "Standard" in problem.fix
    assert check("microsoft-dsvm/ubuntu-2204/2204-gen2", trusted=True) == []


def test_the_container_images_of_batch_work_in_batch_alone() -> None:
    text = "microsoft-azure-batch/ubuntu-server-container/16-04-lts"
    day = date(2018, 12, 17)
    assert check(text, day, in_batch=True) == []
    (problem,) = check(text, day)
    assert problem.code is Code.IMPOSSIBLE


def test_an_unknown_image_is_a_warning_with_the_nearest_names() -> None:
    (problem,) = check("microsoft-dsvm/ubuntu-hcp/2404")
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "microsoft-dsvm/ubuntu-hpc/2404" in problem.instead


def test_docker_keeps_its_data_where_the_documentation_says() -> None:
    assert row("microsoft-dsvm/ubuntu-hpc/2204").docker_root == "/var/lib/docker"
    assert row("microsoft-azure-batch/centos-container/x").docker_root == "/mnt/batch/docker"


def test_every_row_has_a_name_of_its_own() -> None:
    names = [str(image.reference).lower() for image in IMAGES]
    assert len(names) == len(set(names))


@given(
    st.one_of(st.sampled_from([image.reference for image in IMAGES]), st.builds(ImageReference, st.text(), st.text(), st.text())),
    st.sampled_from(list(SIZES)),
    st.dates(date(2010, 1, 1), date(2040, 1, 1)),
    st.booleans(),
)
def test_nothing_raises_and_what_is_proposed_is_known(image: ImageReference, on: Size, day: date, flag: bool) -> None:
    for problem in image_problems(image, day, "vm.image", IMAGES, size=on, in_batch=flag, trusted_launch=flag):
        assert problem.path == "vm.image"
        for name in problem.instead:
            other = find(reference(name), IMAGES)
            assert other is not None
            if problem.code is not Code.UNKNOWN:
                assert not errors(image_problems(other.reference, day, "vm.image", IMAGES, in_batch=True))
