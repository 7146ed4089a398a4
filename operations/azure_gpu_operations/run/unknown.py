"""The problem for an unknown name, with the closest known one."""

from collections.abc import Collection

from azure_gpu.catalog import spelling
from azure_gpu.catalog.problems import Code, Problem


def unknown(option: str, message: str, name: str, known: Collection[str]) -> Problem:
    """`option` has the value `name`, which isn't in `known`."""
    close = spelling.nearest(name, known, 1)
    return Problem(
        path=option,
        message=message,
        value=name,
        allowed=", ".join(known),
        fix=f"did you mean {close[0]}?" if close else "",
        code=Code.NOT_FOUND,
    )
