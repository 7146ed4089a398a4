"""From where tools may be taken: the variable AZURE_GPU_TOOLS, by which a user allows one way alone."""

import os

VARIABLE = "AZURE_GPU_TOOLS"
PATH, OFFICIAL, BUILD = "path", "official", "build"
WAYS = (PATH, OFFICIAL, BUILD)


def only() -> str | None:
    """The one way that is allowed; None: all of them, in that order."""
    return os.environ.get(VARIABLE) or None


def allows(way: str) -> bool:
    return only() in (None, way)
