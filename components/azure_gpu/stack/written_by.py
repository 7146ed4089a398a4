"""Rejects a stack that was last updated by a newer version of the package.

The program exports its version. An older version would delete what a newer one has added, and rename what it has renamed, so it
stops before it reads anything else. Versions before 0.2.0 exported none.
"""

import re
from collections.abc import Mapping
from importlib.metadata import version

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.shared import own_state

OUTPUT = "azure_gpu_version"  # of the stack

_RELEASE = re.compile(r"\d+(?:\.\d+)*")


def own_version() -> str:
    """Returns the version of the running package."""
    return version("azure-gpu")


def newer() -> list[Problem]:
    """Returns a problem if a newer version updated the stack last; none where that isn't known."""
    return check(own_state.outputs() or {}, own_version())


def check(outputs: Mapping[str, object], own: str) -> list[Problem]:
    """The same by a stack's outputs. `own`: the running version."""
    written = outputs.get(OUTPUT)
    if not isinstance(written, str) or _release(written) <= _release(own):
        return []
    return [refused("stack.newer", "stack", written, own=own)]


def _release(text: str) -> tuple[int, ...]:
    """Returns the leading numbers of a version; empty for an invalid one."""
    found = _RELEASE.match(text)
    return tuple(int(each) for each in found[0].split(".")) if found else ()
