"""What Azure makes by itself beside a resource that somebody creates, and when it goes: known by whom it was seen, and when.

It is nobody else's. What doesn't go with the resource is deleted with it by `down`, in a resource group that stays.
"""

from datetime import date
from enum import Enum
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from azure_gpu.catalog import tables
from azure_gpu.catalog.tables import Table

TABLE = Table(
    tables.beside(__file__, "made_by_azure.csv"),
    {
        "beside": "the ARM type of the resource that makes Azure do it",
        "type": "the ARM type of what Azure makes; a resource group stands beside the resource's own",
        "name": "its name, of the other's `{name}`, a `{guid}` and anything (`*`)",
        "goes": "when Azure deletes it: with it, never, or with the last resource of the type in its group",
        "api_version": "in which it is deleted; empty: it goes by itself",
        "seen": "the day on which it was seen",
        "source": "by whom",
    },
)
_GUID = "-".join("?" * length for length in (8, 4, 4, 4, 12))


class Goes(Enum):
    WITH_IT = "with it"
    NEVER = "never"
    WITH_THE_LAST = "with the last"


class Made(NamedTuple):
    """One row."""

    beside: str
    type: str
    name: str
    goes: Goes
    api_version: str
    seen: date
    source: str

    @property
    def is_left(self) -> bool:
        """Whether it stays when the resource is deleted."""
        return self.goes is not Goes.WITH_IT

    def is_it(self, type_: str, name: str, of: str) -> bool:
        """Whether a resource of this type and name is what Azure makes beside one that is called `of`."""
        form = self.name.format(name=of, guid=_GUID)
        return type_.lower() == self.type.lower() and fnmatchcase(name.lower(), form.lower())


@cache
def beside(arm_type: str) -> tuple[Made, ...]:
    """What Azure makes beside a resource of this type. The file is read at the first call."""
    return tuple(each for each in everything() if each.beside.lower() == arm_type.lower())


@cache
def everything() -> tuple[Made, ...]:
    goes = {each.value: each for each in Goes}
    return tuple(
        Made(
            beside=row.filled("beside"),
            type=row.filled("type"),
            name=row.filled("name"),
            goes=row.one_of("goes", goes),
            api_version=row["api_version"],
            seen=row.day("seen"),
            source=row.filled("source"),
        )
        for row in tables.read(TABLE)
    )
