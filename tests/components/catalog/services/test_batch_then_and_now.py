"""The tables of the third source document (2018-12-17), row by row: a pool of each size then, and what takes its place today."""

from datetime import date
from typing import Any

import pytest

from azure_gpu.catalog.problems import Code, errors
from azure_gpu.catalog.services.batch.methods import choose
from azure_gpu.catalog.services.batch.pools import problems
from azure_gpu.catalog.services.batch.request import Mpi, PoolRequest
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes import SIZES
from tests.support.batch_methods import DOCUMENT, TODAY
from tests.support.rows import each_row

LINUX, WINDOWS = "Linux", "Windows"
RDMA = ["H16r", "H16mr", "A8", "A9", "NC24r", "NC24rs_v2", "NC24rs_v3", "ND24rs"]
LINUX_GPU = ["NC6", "NC12", "NC24", "NC6s_v2", "NC24s_v2", "NC6s_v3", "NC24s_v3", "NV6", "NV24", "NV6s_v2"]
WINDOWS_GPU = [*LINUX_GPU, "ND6s", "ND24s"]
# Where no image of the Marketplace served, the document's way was an image of one's own.
AGENTS = {LINUX: "batch.node.ubuntu 16.04", WINDOWS: "batch.node.Windows amd64"}


def pool(size: str, system: OperatingSystem, **changed: Any) -> PoolRequest:
    return PoolRequest(path="pool", size=SIZES.find(size), operating_system=system, dedicated_nodes=2, **changed)


def of_rdma(size: str, system: OperatingSystem, flavour: Mpi = "intel_mpi") -> PoolRequest:
    return pool(size, system, mpi=flavour, rdma=True, inter_node=True)


def own(request: PoolRequest) -> PoolRequest:
    return request._replace(image_kind="managed image", node_agent=AGENTS[request.operating_system])


def against(request: PoolRequest, day: date) -> list[str]:
    way, refused = choose(request, day)
    assert way.kind != "nothing" or refused
    return [problem.message for problem in errors([*refused, *problems(way.applied(request), day)])]


ROWS = [
    *(pytest.param(of_rdma(size, LINUX), id=f"Linux RDMA {size}") for size in RDMA),
    *(pytest.param(pool(size, LINUX), id=f"Linux GPU {size}") for size in LINUX_GPU),
    *(pytest.param(of_rdma(size, WINDOWS, "microsoft_mpi"), id=f"Windows Microsoft MPI {size}") for size in RDMA),
    *(pytest.param(of_rdma(size, WINDOWS, "intel_mpi"), id=f"Windows Intel MPI {size}") for size in RDMA),
    *(pytest.param(pool(size, WINDOWS), id=f"Windows GPU {size}") for size in WINDOWS_GPU),
]  # fmt: skip


@each_row("request_", ROWS)
def test_every_row_of_the_tables_makes_a_pool_at_the_documents_day(request_: PoolRequest) -> None:
    assert against(own(request_), DOCUMENT) == []


@pytest.mark.parametrize("size", ["H16r", "H16mr", "A8"])
def test_intel_mpi_on_linux_came_with_the_documents_image(size: str) -> None:
    assert against(of_rdma(size, LINUX), DOCUMENT) == []


@pytest.mark.parametrize("size", ["H16r", "H16mr", "A8", "A9"])
def test_the_cloud_services_table_took_what_has_no_gpu(size: str) -> None:
    asked = pool(size, WINDOWS, cloud_services=True, inter_node=True, multi_instance=True, rdma=True)
    assert errors(problems(asked, DOCUMENT)) == []
    assert Code.RETIRED in {problem.code for problem in errors(problems(asked, TODAY))}


@pytest.mark.parametrize("size", ["NC6", "NV6", "NC24r", "ND6s"])
def test_the_cloud_services_table_never_took_the_n_series(size: str) -> None:
    (problem,) = errors(problems(pool(size, WINDOWS, cloud_services=True), DOCUMENT))
    assert (problem.path, problem.code) == ("pool.size", Code.IMPOSSIBLE)


UNKNOWN_END = "NV6s_v2"  # no source gives the end of NVv2
NOW = [
    *(pytest.param(of_rdma(size, LINUX, "hpcx"), id=f"Linux RDMA {size}") for size in RDMA),
    *(pytest.param(pool(size, LINUX), id=f"Linux GPU {size}") for size in LINUX_GPU if size != UNKNOWN_END),
    *(pytest.param(pool(size, WINDOWS), id=f"Windows GPU {size}") for size in WINDOWS_GPU if size != UNKNOWN_END),
]  # fmt: skip


@each_row("request_", NOW)
def test_every_size_is_answered_today_with_one_that_makes_a_pool(request_: PoolRequest) -> None:
    (retired,) = [
        problem for problem in problems(request_, TODAY) if problem.path == "pool.size" and problem.code is Code.RETIRED
    ]
    assert retired.instead
    assert against(request_._replace(size=SIZES.find(retired.instead[0])), TODAY) == []
