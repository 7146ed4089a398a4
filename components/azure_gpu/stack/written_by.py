"""Which version of the package wrote a stack's state, so that an older one doesn't change what it doesn't know.

The program exports its version. A program of an older version would plan to delete what a newer one has added, and rename what
that has renamed; so it stops before it reads anything else. Versions before 0.2.0 exported none, and can't tell.
"""

import re
from collections.abc import Mapping
from importlib.metadata import version

from azure_gpu.catalog.problems import Problem
from azure_gpu.shared import own_state

OUTPUT = "azure_gpu_version"  # of the stack

_RELEASE = re.compile(r"\d+(?:\.\d+)*")


def own_version() -> str:
    """Of the package that runs."""
    return version("azure-gpu")


def newer() -> list[Problem]:
    """The problem of a stack that a newer version has updated last; none where that isn't known."""
    return check(own_state.outputs() or {}, own_version())


def check(outputs: Mapping[str, object], own: str) -> list[Problem]:
    """The same of a stack's outputs. `own`: the version that runs."""
    written = outputs.get(OUTPUT)
    if not isinstance(written, str) or _release(written) <= _release(own):
        return []
    return [
        Problem(
            path="stack",
            message="a newer version of azure-gpu has updated this stack last, and may have added what this one would delete",
            value=written,
            allowed=f"{own}, which runs here, or an older one",
            fix=f"run azure-gpu {written} or a newer one",
        )
    ]


def _release(text: str) -> tuple[int, ...]:
    """The numbers of a version, without what follows them; none of a text that is no version."""
    found = _RELEASE.match(text)
    return tuple(int(each) for each in found[0].split(".")) if found else ()
