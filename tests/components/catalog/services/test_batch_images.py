"""Node agents and images in Batch. Expectations are literals from the Batch team's notices and from the third source document."""

from datetime import date
from typing import Any

from hypothesis import given, strategies as st

from azure_gpu.catalog.lifecycle import Lifecycle
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.batch import node_agents
from azure_gpu.catalog.services.batch.image_drivers import misfit
from azure_gpu.catalog.services.batch.images import image_problems
from azure_gpu.catalog.services.batch.request import ImageKind, PoolRequest
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.services.vm_images import ImageReference
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sources import observed

HPC_2404 = ImageReference("microsoft-dsvm", "ubuntu-hpc", "2404")


def pool(size: str = "NC4as_T4_v3", **changed: Any) -> PoolRequest:
    return PoolRequest(path="pool", size=SIZES.find(size), **changed)


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
