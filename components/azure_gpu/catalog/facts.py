"""A fact that no rule decides by: kept with its source, so that the documentation shows it and the parts that need it find it.

`Fact`. What a rule decides by stands in the rule's own tables instead.
"""

from typing import NamedTuple

from azure_gpu.catalog.sources import Source


class Fact(NamedTuple):
    """One row of a table of facts."""

    name: str  # what it is about, unique within its table
    value: str  # what the source says, in our words, with units
    source: Source
