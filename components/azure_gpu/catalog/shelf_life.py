"""How long each kind of knowledge holds after the day on which it was read.

Past its shelf life a list proves nothing: what it lacks and what it ends is "not listed since", which refuses nothing. A price is
shown with its day at any age. `operations catalog age` shows what is due.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Literal

from azure_gpu.catalog.sources import FACTS_DAY

Kind = Literal[
    "prices",
    "lists",  # of what a service takes, and where
    "ends",
]
"""The kinds of knowledge, by how fast they change."""


DAYS: Mapping[Kind, int] = {"prices": 60, "lists": 90, "ends": 365}


def holds(kind: Kind, read: date, as_of: date) -> bool:
    """Whether what was read on the day `read` still tells what isn't there. Of earlier days it tells as much as of its own."""
    return as_of <= read + timedelta(days=DAYS[kind])


def end_holds(end: date, as_of: date) -> bool:
    """Whether an end that has passed is certain: it had passed when the ends were read, or they were read lately."""
    return end <= FACTS_DAY or holds("ends", FACTS_DAY, as_of)
