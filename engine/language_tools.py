"""Pulumi's language hosts for TypeScript and YAML, which only programs in these languages need: whether a folder holds them,
where PATH has them, and how they are built. The one for Python is built with the command line, see `pulumi_tools.py`.

Each is pinned in a module of its own. The one for Node.js is an old one behind our own, and built as Python's is. YAML's is built
with the SDK that it was made for, since the current one is too new for it, and else with the command line's versions.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from engine import cache, go, pins, pulumi_tools, slim
from engine.progress import Progress

NODEJS = pins.read(Path(__file__).with_name("language-nodejs"))
YAML = pins.read(Path(__file__).with_name("language-yaml"))
VERSION = pulumi_tools.VERSION
ARCHIVES, works = pulumi_tools.ARCHIVES, pulumi_tools.works  # the published command line has all hosts beside it

_NODEJS, _YAML = "pulumi-language-nodejs", "pulumi-language-yaml"
_PROGRAMS = (_NODEJS, _NODEJS + pulumi_tools.SERVED, _YAML)
_SOURCES = (pulumi_tools.COMMAND_LINE, NODEJS, YAML)


def problem(folder: Path) -> str | None:
    """What is wrong with `folder` as the home of the hosts; None where it is complete and built out of these sources."""
    if not folder.is_dir():
        return "it isn't there"
    for name in _PROGRAMS:
        if not os.access(folder / name, os.X_OK):
            return f"{name} is missing or can't be executed"
    return None if pins.made_of(folder, *_SOURCES) else "it was built out of other sources"


def on_path() -> tuple[Path | None, str]:
    """The folder of the `pulumi` on PATH where both hosts are beside it or on PATH, else None; and a sentence that says why."""
    folder, reason = pulumi_tools.on_path()
    if folder is None:
        return None, reason
    for name in (_NODEJS, _YAML):
        found = shutil.which(name, path=str(folder)) or shutil.which(name)
        if found is None or cache.is_ours(Path(found).parent):
            return None, f"{folder / 'pulumi'} has no {name} beside it or on PATH"
    return folder, f"using {_NODEJS} and {_YAML} of {folder / 'pulumi'}"


def builder(progress: Progress, log: Path) -> Callable[[Path, Path], None]:
    """What fills a folder with the hosts, as `cache.ensure` calls it.

    Raises `go.MissingGoError`; what it answers raises `go.BuildError`, with Go's output in `log`.
    """
    go_program = go.find_go(max(module.go for module in _SOURCES), "Pulumi's language hosts")

    def build(result: Path, scratch: Path) -> None:
        progress.say(
            f"building Pulumi's language hosts for TypeScript and YAML, once: 2 to 3 minutes on two cores "
            f"(this machine has {os.cpu_count()})\n"
            f"  kept in {log.parent} (100 MB), beside what Go keeps in its own caches"
        )
        options = [*slim.options(go_program, pulumi_tools.COMMAND_LINE, scratch, NODEJS), pulumi_tools.TAGS]
        builds = (
            (pulumi_tools.FRONT, [*options, pulumi_tools.stamp(pulumi_tools.COMMAND_LINE)]),
            (pulumi_tools.served(_NODEJS), [*options, pulumi_tools.stamp(NODEJS)]),
            (YAML, [pulumi_tools.TAGS, pulumi_tools.stamp(YAML)]),
        )
        for name, (module, stamped) in zip(_PROGRAMS, builds, strict=True):
            go.build(go_program, module, result / name, stamped, scratch=scratch, log=log, progress=progress)
        pins.note(result, *_SOURCES)
        wrong = problem(result)
        if wrong is not None:
            raise go.BuildError(f"the build ended, but {wrong}")
        progress.say(f"built the language hosts in {progress.elapsed()}")

    return build
