"""Go modules without what a local engine never calls, for one build: copies of the pinned sources with the edits of a slim.toml.

In: the folder of one of this project's Go modules that has such a file beside its go.mod. Out: the options that have Go build
with the copies in the place of what is pinned. They lie in the build's scratch folder and are gone with it; since their paths are
trimmed, Go finds again what it has compiled of earlier ones.

slim.toml has a table for each module that is edited:

  removed         files
  replaced        files, with the text in their place
  edits           files, with what is changed in each: `new` (without it: nothing) in the place of `old`, which the file has
                  once, or `times`, and where there is a `before`, of what follows it as far as that
  folders, into   only these folders are taken, and laid into these of another module's copy
"""

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine import go
from engine.pins import GoModule

EDITS = "slim.toml"


class _EditError(Exception):
    """What an edit looks for isn't there, or not once."""


def options(go_program: str, module: GoModule, scratch: Path, *others: GoModule) -> list[str]:
    """The options of `go build` in `module`; `others` have more to lay into its copies.

    Raises `go.BuildError`, one line where an edit doesn't fit what is pinned.
    """
    copies: dict[str, Path] = {}
    for each in (module, *others):
        for path, edits in tomllib.loads((each.folder / EDITS).read_text(encoding="utf-8")).items():
            copy = copies.setdefault(edits.get("into", path), scratch / f"slim-{len(copies)}")
            try:
                _lay(go.module_folder(go_program, each, path), copy, edits)
            except _EditError as error:
                raise go.BuildError(f"{each.folder / EDITS} doesn't fit {path} {each.requires[path]}: {error}") from None
    lines = (f"replace {path} {module.requires[path]} => {copy}\n" for path, copy in copies.items())
    modfile = scratch / "go.mod"
    modfile.write_text("".join([(module.folder / "go.mod").read_text(encoding="utf-8"), "\n", *lines]), encoding="utf-8")
    shutil.copyfile(module.folder / "go.sum", scratch / "go.sum")
    return [f"-modfile={modfile}"]


def _lay(source: Path, copy: Path, edits: Mapping[str, Any]) -> None:
    """Lays a module's source into the copy, and edits it there."""
    for folder, place in edits.get("folders", {"": ""}).items():
        for file in _sources(source / folder, deep=not folder):
            target = copy / place / file.relative_to(source / folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)  # Go's own are read-only
    for name in edits.get("removed", ()):
        _existing(copy, name).unlink()
    for name, text in edits.get("replaced", {}).items():
        _existing(copy, name).write_text(text, encoding="utf-8")
    for name, changes in edits.get("edits", {}).items():
        file = _existing(copy, name)
        text = file.read_text(encoding="utf-8")
        for change in changes:
            text = _changed(text, name, **change)
        file.write_text(text, encoding="utf-8")


def _sources(folder: Path, *, deep: bool) -> Sequence[Path]:
    """What Go compiles or embeds."""
    found = (file for file in folder.glob("**/*" if deep else "*.go") if file.is_file() and not file.name.endswith("_test.go"))
    return [file for file in found if "testdata" not in file.relative_to(folder).parts]


def _existing(copy: Path, name: str) -> Path:
    if not (copy / name).is_file():
        raise _EditError(f"it has no {name}")
    return copy / name


def _changed(text: str, name: str, old: str, before: str = "", new: str = "", times: int = 1) -> str:
    if (count := text.count(old)) != times:
        raise _EditError(f"{name} has {old.strip()!r} {count} times, not {times}")
    if not before:
        return text.replace(old, new)
    start = text.index(old)
    end = text.find(before, start + len(old))
    if end < 0:
        raise _EditError(f"{name} has no {before.strip()!r} after {old.strip()!r}")
    return text[:start] + new + text[end:]
