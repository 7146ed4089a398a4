"""Batch pools for tests of the ways to get software onto their nodes.

In: a size and what else is asked. Out: the way that is chosen, and everything against the pool in it.
"""

from datetime import date
from typing import Any

from azure_gpu.catalog.services.batch.ways import Wanted, Way, choose

from azure_gpu.catalog.problems import Problem, errors
from azure_gpu.catalog.services.batch.pools import problems
from azure_gpu.catalog.services.batch.request import Mpi, PoolRequest
from azure_gpu.catalog.sizes import SIZES

TODAY = date(2026, 11, 20)
DOCUMENT = date(2018, 12, 17)


def pool(size: str, **changed: Any) -> PoolRequest:
    return PoolRequest(path="pools.train", size=SIZES.find(size), **{"dedicated_nodes": 1, "auto_storage": True, **changed})


def mpi(size: str, flavour: Mpi, **changed: Any) -> PoolRequest:
    return pool(size, mpi=flavour, rdma=True, inter_node=True, **changed)


def found(request: PoolRequest, day: date = TODAY, wanted: Wanted = Wanted.AUTO, **said: str) -> tuple[Way, list[Problem]]:
    """The way, and everything against the pool in it."""
    way, refused = choose(request, day, wanted, **said)
    return way, [*refused, *problems(way.applied(request), day)]


def refused(request: PoolRequest, day: date = TODAY, wanted: Wanted = Wanted.AUTO, **said: str) -> list[Problem]:
    return errors(found(request, day, wanted, **said)[1])
