"""The command: which folder has the tools of Pulumi, its other languages, Kubernetes, groups or actionlint, or a provider plugin.

A tool is taken from PATH where it is new enough; else from its publisher's archives, where these can be had; else it is built.

Exit codes: 0 the folder is on standard output; 1 it can't be had, or with `--check` nothing is there yet; 2 a prerequisite or an
argument is wrong; 130 interrupted. Of several tools, the folders that can be had are on standard output, and the exit code is
that of the first one that can't. Whatever else is said goes to standard error.
"""

import argparse
import io
import signal
from collections.abc import Callable, Sequence
from errno import EACCES, ENOSPC, EPERM, EROFS
from functools import partial
from pathlib import Path
from typing import Any

from engine import (
    actionlint_tool,
    cache,
    choice,
    download,
    go,
    groups_tools,
    judge_tool,
    kubernetes_tools,
    language_tools,
    official,
    pinning,
    provider_tools,
    pulumi_tools,
)
from engine.progress import Progress

# Each says whether a folder holds its programs (`problem`), where PATH has them (`on_path`) and how they are made (`builder`; a
# provider plugin has None). Of what is published it has the ARCHIVES too, says whether they run here (`works`), and adds what
# nobody publishes (`unpublished`).
TOOLS: dict[str, Any] = {
    "pulumi": pulumi_tools,
    "languages": language_tools,
    "kubernetes": kubernetes_tools,
    "groups": groups_tools,
    "actionlint": actionlint_tool,
    "judge": judge_tool,
    "azure-native": provider_tools.AZURE_NATIVE,
    "kubernetes-provider": provider_tools.KUBERNETES,
}
_PUBLISHED_WITH = {"languages": "pulumi"}
_WHAT_TO_DO = {
    ENOSPC: "free some space, or set XDG_CACHE_HOME to a folder of another disk",
    **dict.fromkeys((EACCES, EPERM, EROFS), "set XDG_CACHE_HOME to a folder that you can write to"),
}


class _NotThisWayError(Exception):
    """A tool can't be had in the one way that was asked for."""


def main(arguments: Sequence[str]) -> int:
    """Runs the command; the answer is the exit code."""
    parser = argparse.ArgumentParser(
        prog="build.py",
        description="Prints the folder that has Pulumi, its other language hosts, Kubernetes, JobSet and Kueue, actionlint or a "
        "provider plugin; downloads or builds it where it must.",
        epilog=f"{choice.VARIABLE}=path, official or build takes a tool from nowhere else. {download.MIRROR}=https://HOST/PATH: "
        "where a mirror has the publishers' archives.",
    )
    parser.add_argument("tools", nargs="*", metavar="tool", help=f"{', '.join(TOOLS)}; default: pulumi")
    parser.add_argument("--check", action="store_true", help="say what would be used, and make nothing")
    parser.add_argument("--used", action="store_true", help="print what would be used of each tool, and make nothing")
    parser.add_argument("--pin", action="store_true", help="write the publishers' checksums of all archives into official.tsv")
    options = parser.parse_args(arguments)
    if unknown := set(options.tools) - set(TOOLS):  # `choices` would refuse that none is named, in some versions of Python
        parser.error(f"no such tool: {', '.join(sorted(unknown))}")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)  # as Ctrl-C: the build is ended, its temporary folder removed
    progress = Progress()
    if choice.only() not in (None, *choice.WAYS):
        progress.say(f"{choice.VARIABLE} is {choice.only()!r}; it takes {', '.join(choice.WAYS)}, or nothing")
        return 2
    try:
        if options.pin:
            return _exit_code(lambda: pinning.pin(TOOLS, official.PINS, progress), progress)
        if options.used:
            return _exit_code(_print_used, progress)
        codes = [
            _exit_code(partial(_print_folder, tool, progress, check=options.check), progress)
            for tool in options.tools or ["pulumi"]
        ]
    except KeyboardInterrupt:
        progress.say("interrupted; nothing half made is left, and what was downloaded or compiled is used the next time")
        return 130
    return next(filter(None, codes), 0)


def _exit_code(do: Callable[[], int], progress: Progress) -> int:
    """The exit code of what is done. What went wrong is told in a line."""
    try:
        return do()
    except go.MissingGoError as error:
        progress.say(str(error))
        return 2
    except (go.BuildError, download.WrongSumError, _NotThisWayError) as error:
        progress.say(str(error))
    except OSError as error:
        what_to_do = _WHAT_TO_DO.get(error.errno or 0)
        progress.say(f"{error.filename or cache.cache_folder('')}: {error.strerror}{f'; {what_to_do}' if what_to_do else ''}")
    return 1


def _print_used() -> int:
    print("\n".join(_used(tool) for tool, tools in TOOLS.items() if tools.builder is not None))
    return 0


def _print_folder(tool: str, progress: Progress, *, check: bool) -> int:
    folder = _found(tool, progress)
    if folder is None and not check and _can_be_made(tool):
        folder = _made(tool, progress)
    if folder is None:
        return 1
    print(folder, flush=True)
    return 0


def _found(tool: str, progress: Progress) -> Path | None:
    """The folder that is ready for use, or None."""
    tools = TOOLS[tool]
    reason = ""
    if choice.allows(choice.PATH):
        found, reason = tools.on_path()
        if found is not None:
            progress.say(reason)
            return found
    if choice.allows(choice.OFFICIAL):
        pinned = _pinned(tool)
        if not isinstance(pinned, str) and _problem_of_official(tool, _official(tool), pinned) is None:
            return _official(tool)
    built = _built(tool)
    if choice.allows(choice.BUILD) or _is_all_on_path(tools):
        wrong = tools.problem(built)
        if wrong is None:
            return built
        if tools.builder is not None:
            reason = "; ".join(each for each in (reason, f"{built} can't be used: {wrong}") if each)
    if reason:
        progress.say(reason)
    return None


def _can_be_made(tool: str) -> bool:
    """A provider plugin without checksums isn't looked for, unless nothing else will do."""
    return TOOLS[tool].builder is not None or choice.only() == choice.OFFICIAL or not isinstance(_pinned(tool), str)


def _used(tool: str) -> str:
    """A line for a tool: where it is, and from whom."""
    folder = _found(tool, Progress(io.StringIO()))
    if folder is None:
        return f"{tool}: not made yet"
    whose = {_official(tool): "its publisher's", _built(tool): "built here"}.get(folder, "of this machine")
    return f"{tool}: {whose}, {folder}"


def _is_all_on_path(tools: Any) -> bool:
    """Whether PATH has all that is published of a tool of which this project adds a part."""
    return choice.only() == choice.PATH and hasattr(tools, "is_all_on_path") and tools.is_all_on_path()


def _made(tool: str, progress: Progress) -> Path:
    """The folder, downloaded or built."""
    if choice.only() == choice.PATH and not _is_all_on_path(TOOLS[tool]):
        raise _NotThisWayError(f"{choice.VARIABLE} is path, so {tool} is neither downloaded nor built")
    if choice.allows(choice.OFFICIAL):
        try:
            return _downloaded(tool, progress)
        except download.NotThereError as error:
            if choice.only() or TOOLS[tool].builder is None:
                raise _NotThisWayError(str(error)) from None
            progress.say(f"{error}; building it")
    if TOOLS[tool].builder is None:
        raise _NotThisWayError(f"{tool} can't be built")
    built = _built(tool)
    cache.ensure(built, TOOLS[tool].problem, TOOLS[tool].builder(progress, built.with_name(f"{built.name}.log")), progress)
    return built


def _downloaded(tool: str, progress: Progress) -> Path:
    """The folder of the publishers' programs. Raises `download.NotThereError` where they can't be had."""
    tools, folder, pinned = TOOLS[tool], _official(tool), _pinned(tool)
    if isinstance(pinned, str):
        raise download.NotThereError(pinned)

    def fill(result: Path, scratch: Path) -> None:
        for each in pinned:
            archive = download.fetched(each, cache.cache_folder("downloads"), progress)
            download.unpack(each, archive, result)
        if hasattr(tools, "unpublished"):
            tools.unpublished(result, scratch, folder.with_name(f"{folder.name}.log"), progress)
        if wrong := tools.works(result):
            raise download.NotThereError(f"the published {tool} doesn't run here: {wrong}")
        official.note(result, pinned, _own(tools))
        for each in pinned:
            download.forget(each, cache.cache_folder("downloads"))

    progress.say(f"downloading {tool} {tools.VERSION}: {', '.join(dict.fromkeys(each.host for each in pinned))}")
    cache.ensure(folder, lambda there: _problem_of_official(tool, there, pinned), fill, progress)
    progress.say(f"{tool} {tools.VERSION} is its publisher's, here in {progress.elapsed()}")
    return folder


def _problem_of_official(tool: str, folder: Path, pinned: Sequence[official.Pinned]) -> str | None:
    """What is wrong with a folder of published programs; None where it is of these archives and they run."""
    if not official.made_of(folder, pinned, _own(TOOLS[tool])):
        return "it is of other archives"
    return TOOLS[tool].works(folder)


def _pinned(tool: str) -> tuple[official.Pinned, ...] | str:
    """The archives that are wanted of a tool, or why they can't be had."""
    tools = TOOLS[tool]
    archives = tools.wanted() if hasattr(tools, "wanted") else getattr(tools, "ARCHIVES", ())
    return official.pinned(archives, official.platform_name(), official.PINS)


def _official(tool: str) -> Path:
    return cache.cache_folder(f"official-{_PUBLISHED_WITH.get(tool, tool)}-{TOOLS[tool].VERSION.removeprefix('v')}")


def _built(tool: str) -> Path:
    return cache.cache_folder(f"{tool}-{TOOLS[tool].VERSION.removeprefix('v')}")


def _own(tools: Any) -> str:
    """A digest of what this project adds to published programs."""
    return tools.own() if hasattr(tools, "own") else ""
