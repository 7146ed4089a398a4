"""Which stacks a change touches.

In: the paths that it changes, and the stack files of both commits. Out: the stacks, in order. Pure.

A stack is touched by its own file, by the one that it extends, by a workload that it names, and by the program and the library,
which touch all of them. The extended files themselves are no stacks.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from azure_gpu.formats import stack_file
from azure_gpu.stack.common_file import EXTENDS
from azure_gpu.stack.keys import config_key

_PROGRAM = ("__main__.py", "Pulumi.yaml", "requirements.txt", "requirements-deploy.txt")
_LIBRARY = "components/"
_WORKLOAD = re.compile(r"^workloads/([^/]+)/")


class StackFiles(NamedTuple):
    """The texts of one stack's file: at the base, and now. None where it isn't there."""

    stack: str
    file: str  # from the root of the repository
    base: str | None
    head: str | None


def touched(files: Iterable[StackFiles], changed: Sequence[str], project: str, folder: str) -> list[StackFiles]:
    """`project`: its name. `folder`: the project's, from the root of the repository on, "" or with a slash at its end."""
    listed = list(files)
    own = [each.removeprefix(folder) for each in changed if each.startswith(folder)]
    extended = {name for each in listed for text in (each.base, each.head) if text for name in _extended(text, project)}
    stacks = [each for each in listed if each.file.removeprefix(folder) not in extended]
    if any(each in _PROGRAM or each.startswith(_LIBRARY) for each in own):
        return stacks
    workloads = {match[1] for each in own if (match := _WORKLOAD.match(each))}
    names = set(own)
    return [each for each in stacks if _is_touched(each, names, workloads, project, folder)]


def _is_touched(each: StackFiles, names: set[str], workloads: set[str], project: str, folder: str) -> bool:
    if each.file.removeprefix(folder) in names:
        return True
    texts = [text for text in (each.base, each.head) if text]
    if any(name in names for text in texts for name in _extended(text, project)):
        return True
    return any(re.search(rf"\b{re.escape(workload)}\b", text) for workload in workloads for text in texts)


def _extended(text: str, project: str) -> Sequence[str]:
    try:
        configuration: Mapping[str, str] = stack_file.configuration(text)
    except stack_file.StackFileError:
        return ()
    name = configuration.get(config_key(EXTENDS, project))
    return (name,) if name else ()
