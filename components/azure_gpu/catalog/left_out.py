"""Facts about GPUs on Azure that aren't in the catalog, each with the reason, from `left_out.csv`.

Prices that were left out are facts about `prices.left_out`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from azure_gpu.catalog import tables
from azure_gpu.catalog.tables import Listed, Table

TABLE = Table(
    tables.beside(__file__, "left_out.csv"),
    {"what": "a fact, or a kind of fact", "reason": "why the catalog doesn't have it"},
)


class LeftOut(NamedTuple):
    """One fact, or kind of fact."""

    what: str
    reason: str


LEFT_OUT: Sequence[LeftOut] = Listed(lambda: (LeftOut(row.filled("what"), row.filled("reason")) for row in tables.read(TABLE)))
