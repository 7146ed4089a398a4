"""The command: which folder has the tools of Pulumi, its other languages, Kubernetes, groups or actionlint, built where needed.

Exit codes: 0 the folder is on standard output; 1 the build failed, or with `--check` nothing is there yet; 2 a prerequisite or an
argument is wrong; 130 interrupted. Whatever else is said goes to standard error.
"""

import argparse
import signal
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from engine import actionlint_tool, cache, go, groups_tools, kubernetes_tools, language_tools, pulumi_tools
from engine.progress import Progress

# Each says whether a folder holds its programs (`problem`), where PATH has them (`on_path`) and how they are made (`builder`).
TOOLS = {
    "pulumi": pulumi_tools,
    "languages": language_tools,
    "kubernetes": kubernetes_tools,
    "groups": groups_tools,
    "actionlint": actionlint_tool,
}


def main(arguments: Sequence[str]) -> int:
    """Runs the command; the answer is the exit code."""
    parser = argparse.ArgumentParser(
        prog="build.py",
        description="Prints the folder that has Pulumi, its other language hosts, Kubernetes, JobSet and Kueue, or actionlint; "
        "builds it where it must.",
    )
    parser.add_argument("tool", nargs="?", choices=TOOLS, default="pulumi", help="whose programs; default: pulumi")
    parser.add_argument("--check", action="store_true", help="say what would be used, and build nothing")
    options = parser.parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # as Ctrl-C: the build is ended, its temporary folder removed
    progress = Progress()
    try:
        tools = TOOLS[options.tool]
        built = cache.cache_folder(f"{options.tool}-{tools.VERSION.removeprefix('v')}")
        folder = _check(tools, built, progress) if options.check else _ensure(tools, built, progress)
    except go.MissingGoError as error:
        progress.say(str(error))
        return 2
    except go.BuildError as error:
        progress.say(str(error))
        return 1
    except OSError as error:
        progress.say(f"{error.filename}: {error.strerror}")
        return 1
    except KeyboardInterrupt:
        progress.say("interrupted; nothing half built is left, and what was compiled is used the next time")
        return 130
    if folder is None:
        return 1
    print(folder)
    return 0


def _check(tools: ModuleType, built: Path, progress: Progress) -> Path | None:
    """The folder that is ready for use, or None."""
    found, reason = tools.on_path()
    if found is not None:
        return found
    wrong = tools.problem(built)
    if wrong is None:
        return built
    progress.say(f"{reason}; {built} can't be used: {wrong}")
    return None


def _ensure(tools: ModuleType, built: Path, progress: Progress) -> Path:
    """The folder that is ready for use, built first where it must be."""
    found, reason = tools.on_path()
    if found is not None:
        progress.say(reason)
        return found
    wrong = tools.problem(built)
    if wrong is not None:
        progress.say(f"{reason}; {built} can't be used: {wrong}")
        builder = tools.builder(progress, built.with_name(f"{built.name}.log"))
        cache.ensure(built, tools.problem, builder, progress)
    return built
