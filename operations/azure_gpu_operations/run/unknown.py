"""A name that isn't there, with the one that was probably meant.

In: what was said, and what there is. Out: the problem.
"""

from collections.abc import Collection

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Code, Problem


def unknown(option: str, message: str, name: str, known: Collection[str]) -> Problem:
    """`option` of the command line says `name`, which none of `known` is."""
    close = spelling.nearest(name, known, 1)
    return Problem(
        path=option,
        message=message,
        value=name,
        allowed=", ".join(known),
        fix=f"did you mean {close[0]}?" if close else "",
        code=Code.NOT_FOUND,
    )
