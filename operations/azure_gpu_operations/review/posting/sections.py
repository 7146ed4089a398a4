"""Keeps one comment with a section per workflow: each replaces its section and leaves the others.

The comment is never longer than the hosting service allows.
"""

import re

from azure_gpu_operations.review.posting.untrusted import MARKER, closed

MOST = 65_000  # characters; GitHub takes 65,536
_NAME = re.compile(r"[a-z0-9-]{1,60}")
_SECTION = re.compile(r"<!-- azure-gpu-section ([a-z0-9-]+) -->\n(.*?)\n<!-- end of azure-gpu-section -->", re.DOTALL)
_LAST = ("live", "embedded")  # what pull requests write themselves stands below what is known to be true
_CLOSING = 200  # characters that ending what is open may take
_CUT = "\n\n*Cut here: the whole is in the artifact of the run.*"


def with_section(comment: str, name: str, text: str) -> str:
    """`comment`: "" where there is none yet. `text`: "" takes the section away."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} isn't a valid section name: a to z, 0 to 9, -")
    sections = dict(_SECTION.findall(comment))
    sections.pop(name, None)
    if text.strip():
        sections[name] = text.strip("\n")
    return _written(_fitting(dict(sorted(sections.items(), key=_place))))


def _place(section: tuple[str, str]) -> tuple[int, str]:
    return (1 + _LAST.index(section[0]) if section[0] in _LAST else 0, section[0])


def _written(sections: dict[str, str]) -> str:
    written = [f"<!-- azure-gpu-section {name} -->\n{text}\n<!-- end of azure-gpu-section -->" for name, text in sections.items()]
    return "\n\n".join([MARKER, *written])


def _fitting(sections: dict[str, str]) -> dict[str, str]:
    """Sections longer than their share are cut at the end of a line: the first lines matter most."""
    left, share = MOST - len(_written(dict.fromkeys(sections, ""))), MOST
    for place, text in enumerate(sorted(sections.values(), key=len)):
        share = left // (len(sections) - place)
        left -= min(len(text), share)
    return {name: text if len(text) <= share else _cut(text, share) for name, text in sections.items()}


def _cut(text: str, most: int) -> str:
    kept = text.removesuffix(_CUT)[: max(most - len(_CUT) - _CLOSING, 0)].rpartition("\n")[0]
    return closed(kept)[: most - len(_CUT)] + _CUT
