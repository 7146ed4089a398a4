"""Prints the text of a release: the entry of CHANGELOG.md for its version.

    python3 .github/release_notes.py v0.2.0

Exit codes: 0 printed, 1 tag, package and CHANGELOG.md disagree, 2 the command line is wrong.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_TAG = re.compile(r"v(\d+\.\d+\.\d+)")
_ENTRY = re.compile(r"^## (\S+) - (\S+)\n", re.MULTILINE)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class ReleaseError(Exception):
    """The release can't be made; the text says why."""


def notes(tag: str, package: str, changelog: str) -> str:
    """The newest entry of `changelog`. `package`: the text of the package's pyproject.toml."""
    version = _TAG.fullmatch(tag)
    if version is None:
        raise ReleaseError(f"{tag!r} isn't a tag such as v0.2.0")
    of_package = tomllib.loads(package)["project"]["version"]
    if of_package != version[1]:
        raise ReleaseError(f"the tag is {tag}, but components/pyproject.toml has version {of_package}")
    newest = _ENTRY.search(changelog)
    if newest is None or newest[1] != version[1]:
        raise ReleaseError(f"the tag is {tag}, but the newest entry of CHANGELOG.md is {newest[1] if newest else 'missing'}")
    if not _DAY.fullmatch(newest[2]):
        raise ReleaseError(f"the entry {newest[1]} of CHANGELOG.md is {newest[2]!r}; write its date, such as 2026-12-01")
    following = _ENTRY.search(changelog, newest.end())
    return changelog[newest.end() : following.start() if following else None].strip() + "\n"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(f"usage: {Path(__file__).name} TAG", file=sys.stderr)
        return 2
    package = (ROOT / "components" / "pyproject.toml").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    try:
        print(notes(arguments[0], package, changelog), end="")
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
