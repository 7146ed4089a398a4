"""Batch pools for tests of the ways to get software onto their nodes.

In: a size and what else is asked. Out: the method that is chosen, and everything against the pool in it.
"""

from datetime import date
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.batch.methods import DriverMethod, RequestedMethod, choose
from azure_gpu.catalog.services.batch.pools import problems
from azure_gpu.catalog.services.batch.request import Mpi, PoolRequest
from azure_gpu.catalog.sizes import SIZES

TODAY = date(2026, 11, 20)
DOCUMENT = date(2018, 12, 17)


def pool(size: str, **changed: Any) -> PoolRequest:
    return PoolRequest(path="pools.train", size=SIZES.find(size), **{"dedicated_nodes": 1, "auto_storage": True, **changed})


def mpi(size: str, flavour: Mpi, **changed: Any) -> PoolRequest:
    return pool(size, mpi=flavour, rdma=True, inter_node=True, **changed)


def found(
    request: PoolRequest,
    day: date = TODAY,
    requested: RequestedMethod = "auto",
    *,
    driver_version: str = "",
    package: str = "",
) -> tuple[DriverMethod, list[Problem]]:
    """The method, and everything against the pool in it."""
    method, refused = choose(request, day, requested, driver_version=driver_version, package=package)
    return method, [*refused, *problems(method.applied(request), day)]


def against(
    request: PoolRequest,
    day: date = TODAY,
    requested: RequestedMethod = "auto",
    *,
    driver_version: str = "",
    package: str = "",
) -> list[Problem]:
    """Everything against the pool in the method that is chosen."""
    return found(request, day, requested, driver_version=driver_version, package=package)[1]
