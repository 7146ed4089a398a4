"""Node agents and images in Batch. Expectations are literals from the Batch team's notices and from the third source document."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.problems import Code, Problem, Severity, errors
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.batch import node_agents
from azure_gpu.catalog.services.batch.image_drivers import misfit
from azure_gpu.catalog.services.batch.images import distribution_of, image_problems
from azure_gpu.catalog.services.batch.request import ContainerTasks, ImageKind, PoolRequest, StartTask, kind_of
from azure_gpu.catalog.services.driver_extension import ExtensionRequest
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.services.vm_images import Distribution, ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sources import observed
from tests.support.rows import each_row

TODAY = date(2026, 11, 20)
DOCUMENT = date(2018, 12, 17)
HPC_2404 = ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404")
PLAIN_2404 = ImageReference("canonical", "ubuntu-24_04-lts", "server")


def pool(size: str = "NC4as_T4_v3", **changed: Any) -> PoolRequest:
    return PoolRequest(path="pool", size=SIZES.find(size), **changed)


def check(day: date = TODAY, size: str = "NC4as_T4_v3", **changed: Any) -> list[Problem]:
    return list(image_problems(pool(size, **changed), day))


AGENT_ENDS = [
    ("batch.node.ubuntu 16.04", date(2021, 5, 21)),
    ("batch.node.ubuntu 18.04", date(2024, 12, 31)),
    ("batch.node.ubuntu 20.04", date(2025, 4, 23)),
    ("batch.node.ubuntu 22.04", date(2027, 6, 30)),
    ("batch.node.centos 7", date(2024, 6, 30)),
    ("batch.node.centos 8", date(2021, 12, 31)),
    ("batch.node.debian 10", date(2024, 12, 31)),
]


@pytest.mark.parametrize(("agent", "last"), AGENT_ENDS)
def test_a_node_agent_is_taken_until_its_last_day(agent: str, last: date) -> None:
    assert not errors(node_agents.agent_problems(agent, last, "pool.node_agent"))
    (problem,) = node_agents.agent_problems(agent, date.fromordinal(last.toordinal() + 1), "pool.node_agent")
    assert (problem.code, problem.path) == (Code.RETIRED, "pool.node_agent")
    for name in problem.instead:
        assert not errors(node_agents.agent_problems(name, date.fromordinal(last.toordinal() + 1), "x"))


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (TODAY, ("batch.node.ubuntu 24.04", "batch.node.ubuntu 22.04")),
        (date(2027, 7, 1), ("batch.node.ubuntu 24.04",)),
        (date(2022, 1, 1), ("batch.node.ubuntu 20.04", "batch.node.ubuntu 18.04")),
    ],
)
def test_what_is_proposed_is_taken_on_that_day(day: date, expected: tuple[str, ...]) -> None:
    (problem,) = node_agents.agent_problems("batch.node.ubuntu 16.04", day, "x")
    assert problem.instead == expected


def test_agents_are_compared_without_letter_case() -> None:
    assert node_agents.agent_problems("batch.node.Windows amd64", DOCUMENT, "x") == []
    found = node_agents.find("batch.node.Windows amd64")
    assert found is not None
    assert found.operating_system is OperatingSystem.WINDOWS


def test_a_misspelt_agent_is_a_warning_with_the_nearest() -> None:
    (problem,) = node_agents.agent_problems("batch.node.ubuntu 2404", TODAY, "x")
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)
    assert "batch.node.ubuntu 24.04" in problem.instead


@pytest.mark.parametrize(
    ("image", "agent"),
    [
        (HPC_2404, "batch.node.ubuntu 24.04"),
        (ImageReference("microsoft-dsvm", "ubuntu-hpc", "2204"), "batch.node.ubuntu 22.04"),
    ],
)
def test_ubuntu_hpc_is_taken_with_its_agent_and_no_other(image: ImageReference, agent: str) -> None:
    assert check(image=image, node_agent=agent) == []
    (problem,) = errors(check(image=image, node_agent="batch.node.el 8"))
    assert (problem.path, problem.allowed) == ("pool.node_agent", agent)


@pytest.mark.parametrize(
    ("sku", "agent", "other"),
    [("8_10-hpc-gen2", "batch.node.el 8", "batch.node.el 9"), ("9-hpc-gen2", "batch.node.el 9", "batch.node.el 8")],
)
def test_almalinux_hpc_takes_the_agent_of_its_version(sku: str, agent: str, other: str) -> None:
    image = ImageReference("almalinux", "almalinux-hpc", sku)
    assert not errors(check(image=image, node_agent=agent))
    (problem,) = errors(check(image=image, node_agent=other))
    assert (problem.path, problem.allowed) == ("pool.node_agent", agent)


def test_the_agent_has_to_match_the_operating_system_of_the_pool() -> None:
    problems = errors(check(image=HPC_2404, node_agent="batch.node.windows amd64"))
    assert {problem.path for problem in problems} == {"pool.node_agent"}
    assert len(problems) == 2


def test_an_image_has_to_match_the_operating_system_of_the_pool() -> None:
    (problem,) = errors(check(image=HPC_2404, operating_system=OperatingSystem.WINDOWS))
    assert (problem.path, problem.code) == ("pool.image", Code.IMPOSSIBLE)


def test_a_managed_image_is_taken_until_2026_03_31() -> None:
    agent = "batch.node.ubuntu 24.04"
    assert not errors(check(date(2026, 3, 31), image_kind=ImageKind.MANAGED, node_agent=agent))
    (problem,) = errors(check(date(2026, 4, 1), image_kind=ImageKind.MANAGED, node_agent=agent))
    assert problem.code is Code.RETIRED
    assert "Compute Gallery" in problem.fix
    assert not errors(check(image_kind=ImageKind.GALLERY, node_agent=agent))


def test_the_id_of_an_image_tells_its_kind() -> None:
    group = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute"
    assert kind_of(f"{group}/galleries/pictures/images/node/versions/1.0.0") is ImageKind.GALLERY
    assert kind_of(f"{group}/images/node") is ImageKind.MANAGED


def test_containers_need_an_image_that_runs_them() -> None:
    assert not errors(check(image=HPC_2404, containers=ContainerTasks()))
    (problem,) = errors(check(image=PLAIN_2404, containers=ContainerTasks(), extensions=(_extension(),)))
    assert problem.code is Code.IMPOSSIBLE
    assert "microsoft-dsvm/ubuntu-hpc/2404" in problem.fix


def _extension() -> ExtensionRequest:
    return ExtensionRequest(type="NvidiaGpuDriverLinux", settings={}, path="pool.extensions.0")


def test_one_of_the_four_ways_has_to_bring_a_driver() -> None:
    (problem,) = check(image=PLAIN_2404)
    assert (problem.code, problem.severity) == (Code.WRONG_DRIVER, Severity.WARNING)
    assert check(image=HPC_2404) == []
    assert check(image_kind=ImageKind.GALLERY, node_agent="batch.node.ubuntu 24.04") == []
    assert check(image=PLAIN_2404, extensions=(_extension(),)) == []
    assert check(image=PLAIN_2404, start_task=StartTask(command_line="sh -c install", installs_driver=True)) == []
    assert check(size="HB120rs_v3", image=PLAIN_2404) == []  # no GPU


def test_the_driver_has_to_be_that_of_the_gpus_maker() -> None:
    (problem,) = check(image=ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404-rocm"))
    assert problem.code is Code.WRONG_DRIVER


def test_the_rdma_container_images_knew_no_sr_iov() -> None:
    image = ImageReference("microsoft-azure-batch", "ubuntu-server-container-rdma", "16-04-lts")
    day = date(2020, 12, 1)
    assert not errors(check(day, size="NC24r", image=image, rdma=True))
    (problem,) = errors(check(day, size="HB120rs_v2", image=image, rdma=True))
    assert problem.code is Code.WRONG_DRIVER


def test_todays_infiniband_needs_its_drivers() -> None:
    assert check(size="HB120rs_v3", image=HPC_2404, rdma=True) == []
    (problem,) = check(size="HB120rs_v3", image=PLAIN_2404, rdma=True)
    assert (problem.code, problem.severity) == (Code.WRONG_DRIVER, Severity.WARNING)


# The document's tables, 2018-12-17: size, image, and whether it stands in them.
CENTOS_73 = ImageReference("OpenLogic", "CentOS", "7.3")
CENTOS_74 = ImageReference("OpenLogic", "CentOS", "7.4")
CENTOS_HPC = ImageReference("OpenLogic", "CentOS-HPC", "7.4")
UBUNTU_16 = ImageReference("Canonical", "UbuntuServer", "16.04-LTS")
WINDOWS_2016 = ImageReference("MicrosoftWindowsServer", "WindowsServer", "2016-Datacenter")
WINDOWS_2012_R2 = ImageReference("MicrosoftWindowsServer", "WindowsServer", "2012-R2-Datacenter")
WINDOWS_2012 = ImageReference("MicrosoftWindowsServer", "WindowsServer", "2012-Datacenter")
TABLES = [
    ("H16r", UBUNTU_16, True, True),
    ("H16r", CENTOS_HPC, True, True),
    ("H16r", CENTOS_74, True, False),
    ("NC24r", CENTOS_HPC, True, True),
    ("NC24r", CENTOS_73, True, False),
    ("NC24r", CENTOS_73, False, True),
    ("NC6", UBUNTU_16, False, True),
    ("NC6s_v2", CENTOS_74, False, True),
    ("NV6", CENTOS_73, False, True),
    ("NV6", CENTOS_74, False, False),
    ("H16mr", WINDOWS_2012, True, True),
    ("NC6", WINDOWS_2016, False, True),
    ("NC6", WINDOWS_2012_R2, False, True),
    ("NC6", WINDOWS_2012, False, False),
    ("ND6s", WINDOWS_2012_R2, False, True),
    ("NV6", WINDOWS_2012, False, False),
]


@each_row(("size", "image", "rdma", "taken"), TABLES)
def test_the_documents_tables_say_which_system_a_size_needs(size: str, image: ImageReference, rdma: bool, taken: bool) -> None:
    windows = image.publisher == "MicrosoftWindowsServer"
    system = OperatingSystem.WINDOWS if windows else OperatingSystem.LINUX
    problems = errors(check(DOCUMENT, size=size, image=image, rdma=rdma, operating_system=system))
    assert (not problems) is taken
    assert {problem.code for problem in problems} <= {Code.IMPOSSIBLE}


def test_after_the_article_its_tables_are_a_warning() -> None:
    assert errors(check(date(2019, 6, 13), size="NV6", image=CENTOS_74))
    problems = check(date(2019, 6, 14), size="NV6", image=CENTOS_74)
    assert not errors(problems)
    assert Code.UNKNOWN in {problem.code for problem in problems}


def test_the_distribution_of_a_custom_image_is_read_from_its_agent() -> None:
    custom = {"image_kind": ImageKind.GALLERY}
    assert distribution_of(pool(node_agent="batch.node.ubuntu 16.04", **custom)) is Distribution.UBUNTU_16_04
    assert distribution_of(pool(node_agent="batch.node.windows amd64", **custom)) is None
    assert distribution_of(pool(**custom)) is None


@given(
    st.sampled_from([one.name for one in SIZES]),
    st.one_of(st.none(), st.sampled_from([image.reference for image in IMAGES])),
    st.one_of(st.text(max_size=30), st.sampled_from([agent.sku for agent in node_agents.AGENTS])),
    st.sampled_from(list(ImageKind)),
    st.sampled_from(list(OperatingSystem)),
    st.booleans(),
    st.dates(date(2010, 1, 1), date(2040, 1, 1)),
)
def test_nothing_raises_and_every_problem_has_a_path_and_a_fix(
    size: str, image: ImageReference | None, agent: str, kind: ImageKind, system: OperatingSystem, flag: bool, day: date
) -> None:
    request = pool(size, image=image, node_agent=agent, image_kind=kind, operating_system=system, rdma=flag)
    for problem in image_problems(request, day):
        assert problem.path in {"pool.image", "pool.node_agent"}
        assert problem.message


def test_the_driver_of_an_hpc_image_knows_turing_and_later_whenever_its_row_was_read() -> None:
    hpc = vm_images.find(HPC_2404, IMAGES)
    assert hpc is not None
    newer = hpc._replace(reference=HPC_2404._replace(sku="2604"), lifecycle=Lifecycle(seen=observed("a newer page", 2027, 1, 30)))
    for image in (hpc, newer):
        known = {size: misfit(image, of_size) for size in ("NC6s_v3", "NC4as_T4_v3") if (of_size := SIZES.find(size))}
        assert known["NC4as_T4_v3"] is None
        assert known["NC6s_v3"] is not None
        assert "supports GPUs since Turing" in known["NC6s_v3"].why
