"""Stacks that a change affects. Pure.

A stack is affected by changes of its file, of the file that it extends, of a workload or a file that either names, and of the
program and the library. Files that are only extended aren't stacks.
"""

import posixpath
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
    base_extends: str = ""  # the file that it extends, from the root of the repository; "": none
    head_extends: str = ""
    base_common: str | None = None  # that file's text
    head_common: str | None = None


def extended(text: str | None, project: str, folder: str) -> str:
    """The path of the file that a stack's text extends, from the root of the repository on; "" where it extends none."""
    try:
        configuration: Mapping[str, str] = stack_file.configuration(text or "")
    except stack_file.StackFileError:
        return ""
    name = configuration.get(config_key(EXTENDS, project))
    return posixpath.normpath(folder + name) if name else ""


def touched(files: Iterable[StackFiles], changed: Sequence[str], folder: str) -> list[StackFiles]:
    """`folder`: the project's, from the root of the repository on, "" or with a slash at its end."""
    listed = list(files)
    own = [each.removeprefix(folder) for each in changed if each.startswith(folder)]
    commons = {name for each in listed for name in (each.base_extends, each.head_extends)}
    stacks = [each for each in listed if each.file not in commons]
    if any(each in _PROGRAM or each.startswith(_LIBRARY) for each in own):
        return stacks
    words = {match[1] for each in own if (match := _WORKLOAD.match(each))}
    # Files that a stack may name: those that aren't stacks' own, and whose name is more than a word of a sentence.
    words |= {each for each in own if "." in each and not each.startswith("Pulumi.") and not each.endswith((".md", ".py"))}
    return [each for each in stacks if _is_touched(each, set(changed), words)]


def _is_touched(each: StackFiles, changed: set[str], words: set[str]) -> bool:
    if {each.file, each.base_extends, each.head_extends} & changed:
        return True
    texts = [text for text in (each.base, each.head, each.base_common, each.head_common) if text]
    return any(re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w/-])", text) for word in words for text in texts)
