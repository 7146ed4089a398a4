"""Names entries of a stack file, and writes them as YAML for `config:`, with comments. An inactive entry is a comment as a
whole.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from azure_gpu.formats import bounded_yaml
from azure_gpu_operations.project import key_of
from azure_gpu_operations.terminal import printable


def fitting(name: str) -> str:
    """The nearest name that Azure and stack files accept."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63].rstrip("-") or "group"


def distinct(names: list[str], default: str) -> list[str]:
    """A name for each, none of them twice. `default` is for those that are empty."""
    result: list[str] = []
    for name in names:
        first = fitting(name or default)
        result.append(next(each for each in _numbered(first) if each not in result))
    return result


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in range(2, 1_000_000):
        yield f"{name}-{number}"


_WRAPPER = textwrap.TextWrapper(118, break_long_words=False, break_on_hyphens=False)  # a comment, without its indentation


class Entry(NamedTuple):
    """One component of a stack file."""

    section: str  # container_groups, jobs, pools, foundation, …
    name: str  # in the section; "": the settings are the section's own value
    settings: Any  # a mapping, or for a key that takes one a word
    comments: list[str]
    secrets: list[str]  # keys inside of the settings
    active: bool  # False: shown, not used
    unless_there: bool = False  # a key that the stack file may have already, and then keeps

    @property
    def key(self) -> str:
        return key_of(self.section)


def block(entries: Iterable[Entry]) -> str:
    """All entries, each section once; those that aren't active behind the others."""
    by_section: dict[tuple[bool, str], list[Entry]] = {}
    for entry in entries:
        by_section.setdefault((entry.active, entry.section), []).append(entry)
    texts: list[str] = []
    for active in (True, False):
        for ours in (ours for (is_active, _), ours in by_section.items() if is_active is active):
            key = ours[0].key
            whole = [line for entry in ours if not entry.name for line in section_lines(entry, "")]
            lines = whole or [f"{key}:", *(line for entry in ours for line in entry_lines(entry, "  ", "  "))]
            texts.append("\n".join(lines if active else [f"# {line}".rstrip() for line in lines]))
    return "\n".join(texts) + "\n"


def entry_lines(entry: Entry, indent: str, step: str) -> list[str]:
    """One entry: its name, comments, settings. `indent` stands before the name, `step` more before what is in it."""
    inner = indent + step
    name = bounded_yaml.dump({entry.name: None}).partition(":")[0]
    if not isinstance(entry.settings, dict | list):
        comments = [line for comment in entry.comments for line in comment_lines(comment, indent)]
        text = bounded_yaml.dump({entry.name: entry.settings}).rstrip("\n")
        return [*comments, f"{indent}{text}"]
    text = bounded_yaml.dump(entry.settings, indent=len(step))
    comments = [line for comment in entry.comments for line in comment_lines(comment, inner)]
    return [f"{indent}{name}:", *comments, *(f"{inner}{line}" if line else "" for line in text.splitlines())]


def section_lines(entry: Entry, indent: str) -> list[str]:
    """An entry without a name: the section with a word as its value."""
    return [f"{indent}{entry.key}: {entry.settings}"]


def comment_lines(text: str, indent: str = "") -> Iterator[str]:
    """A comment, wrapped; what goes on is set in. Nothing of a file that was read can end it, or steer a terminal."""
    lines = _WRAPPER.wrap(printable(text)) or [""]
    yield f"{indent}# {lines[0]}".rstrip()
    for line in lines[1:]:
        yield f"{indent}#   {line}"
