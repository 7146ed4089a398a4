"""Pools of Batch without nodes. The target of a pool, by numbers or a formula, is shown."""

from localazure.arm.store import Body
from localazure.batch.pool import Pool
from localazure.batch.pools import Pools


class EmptyPool(Pool):
    """Its resizes end at once, without nodes and without an error."""

    def _grow(self, count: int, *, dedicated: bool) -> list[Body]:  # noqa: ARG002
        return []


class EmptyPools(Pools):
    pool = EmptyPool
