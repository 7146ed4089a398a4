"""Pulumi's command line and Python language host: whether a folder holds them, where PATH has them, and how they are built.

The language host is of an older version of a module that the command line needs too, so it is pinned by itself; it
is built with the command line's versions. It lies behind one of our own: `pulumi/hosts/` says what that adds.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from engine import cache, go, official, pins, slim
from engine.answers import answer
from engine.progress import Progress

COMMAND_LINE = pins.read(Path(__file__).with_name("pulumi"))
FRONT = replace(COMMAND_LINE, tool="./hosts")  # our own part of a language host; it generates packages as the command line does
LANGUAGE_HOST = pins.read(Path(__file__).with_name("language-python"))
_SDK = "github.com/pulumi/pulumi/sdk/v3"
VERSION = COMMAND_LINE.requires["github.com/pulumi/pulumi/pkg/v3"]

# Pulumi's page of downloads, and its workflow that signs them (pulumi/pulumi .github/workflows/sign.yml).
_RELEASES = "https://get.pulumi.com/releases/sdk"
ARCHIVES = (
    official.Archive(
        f"{_RELEASES}/pulumi-{VERSION}-{{platform}}.tar.gz",
        f"{_RELEASES}/pulumi-{VERSION.removeprefix('v')}-checksums.txt",
        ("pulumi", "pulumi-language-python", "pulumi-language-python-exec", "pulumi-*"),
        {official.LINUX: "linux-x64", official.LINUX_ARM: "linux-arm64", official.MACOS_ARM: "darwin-arm64"},
    ),
)

_PROGRAM = "pulumi"
_HOST = "pulumi-language-python"
TAGS = "-tags=osusergo,grpcnotrace"  # of all programs: another tag has most packages compiled again
SERVED = "-served"  # ends the name of the host that is behind ours, which finds it by that
_HOST_EXEC = "pulumi-language-python-exec"  # what the host runs; a Python file, which it looks for beside itself


def problem(folder: Path) -> str | None:
    """What is wrong with `folder` as the home of the pinned tools; None where it is complete and the program answers."""
    if not folder.is_dir():
        return "it isn't there"
    for name in (_PROGRAM, _HOST, _HOST + SERVED, _HOST_EXEC):
        if not os.access(folder / name, os.X_OK):
            return f"{name} is missing or can't be executed"
    if not pins.made_of(folder, COMMAND_LINE, LANGUAGE_HOST):
        return "it was built out of other sources"
    return works(folder)


def on_path() -> tuple[Path | None, str]:
    """The folder of the `pulumi` on PATH where it can be used, else None; and a sentence that says why."""
    program = shutil.which(_PROGRAM)
    if program is None:
        return None, "pulumi is not on PATH"
    folder = Path(program).parent
    if cache.is_ours(folder):
        return None, f"{program} is a build of this project"
    version = _version(Path(program))
    if not _new_enough(version):
        return None, f"{program} is {version or 'of no known version'}, and {VERSION} or later is needed"
    if shutil.which(_HOST, path=str(folder)) is None and shutil.which(_HOST) is None:
        return None, f"{program} has no {_HOST} beside it or on PATH"
    return folder, f"using {program}, which is {version}"


def works(folder: Path) -> str | None:
    """What is wrong with a folder of the published programs; None where they run on this machine."""
    version = _version(folder / _PROGRAM)
    return None if version == VERSION else f"`pulumi version` answers {version or 'nothing'} instead of {VERSION}"


def builder(progress: Progress, log: Path) -> Callable[[Path, Path], None]:
    """What fills a folder with the pinned tools, as `cache.ensure` calls it.

    Raises `go.MissingGoError`; what it answers raises `go.BuildError`, with Go's output in `log`.
    """
    go_program = go.find_go(max(COMMAND_LINE.go, LANGUAGE_HOST.go), "Pulumi")

    def build(result: Path, scratch: Path) -> None:
        progress.say(
            f"building Pulumi {VERSION} and its Python language host, once: about 3 minutes on two cores "
            f"(this machine has {os.cpu_count()})\n"
            f"  kept in {log.parent} (95 MB), beside what Go keeps in its own caches (about 2 GB)"
        )
        options = [*slim.options(go_program, COMMAND_LINE, scratch, LANGUAGE_HOST), TAGS]
        programs = (
            (COMMAND_LINE, _PROGRAM, COMMAND_LINE),
            (FRONT, _HOST, COMMAND_LINE),
            (served(_HOST), _HOST + SERVED, LANGUAGE_HOST),
        )
        for module, name, versioned in programs:
            stamped = [*options, stamp(versioned)]
            go.build(go_program, module, result / name, stamped, scratch=scratch, log=log, progress=progress)
        # The host's own module has an older copy of this file; it must fit the version of the Python package.
        source = go.module_folder(go_program, COMMAND_LINE, _SDK) / "python" / "cmd" / _HOST_EXEC
        shutil.copyfile(source, result / _HOST_EXEC)
        (result / _HOST_EXEC).chmod(0o755)
        pins.note(result, COMMAND_LINE, LANGUAGE_HOST)
        wrong = problem(result)
        if wrong is not None:
            raise go.BuildError(f"the build ended, but {wrong}")
        progress.say(f"built Pulumi {VERSION} in {progress.elapsed()}")

    return build


def served(host: str) -> pins.GoModule:
    """The module that builds an old host with the command line's versions, where `slim` has laid its source into the copy."""
    return replace(COMMAND_LINE, tool=f"github.com/pulumi/pulumi/pkg/v3/cmd/{host}")


def stamp(module: pins.GoModule) -> str:
    """The linker's option that tells a program of Pulumi its version. Without it the command line prints an empty one, which the
    Automation API refuses."""
    return f"-ldflags=-s -w -X {_SDK}/go/common/version.Version={module.requires[_SDK]}"


def _new_enough(version: str | None) -> bool:
    """The same major version and the pinned minor version or a later one; patches don't matter."""
    if version is None:
        return False
    major, minor = _numbers(version)
    pinned_major, pinned_minor = _numbers(VERSION)
    return major == pinned_major and minor >= pinned_minor


def _numbers(version: str) -> tuple[int, int]:
    major, minor = version.removeprefix("v").split(".")[:2]
    return int(major), int(minor)


def _version(program: Path) -> str | None:
    """What `pulumi version` answers, such as v3.259.0; None where it gives no version, fails or takes too long."""
    with tempfile.TemporaryDirectory() as home:  # the program writes into its home, even for this question
        environment = os.environ | {"PULUMI_HOME": home, "PULUMI_SKIP_UPDATE_CHECK": "true"}
        said = answer([program, "version"], environment)
    version = re.match(r"v\d+\.\d+\.\d+\S*", said)
    return version[0] if version else None
