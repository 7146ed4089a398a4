"""Pulumi's own Kubernetes provider, built out of its Go module: whether a folder holds it, and how it is made.

A nightly test judges the embedded Azure's stand-in by it. Nothing else asks for it: the proxy of Go modules has no version that
fits the installed SDK, which needs the published plugin (`provider_tools.py`).
"""

import os
from collections.abc import Callable
from pathlib import Path

from engine import go, pins
from engine.progress import Progress

MODULE = pins.read(Path(__file__).with_name("kubernetes-provider"))
VERSION = "v4.25.0"  # the tag of the commit that go.mod names
PROGRAM = "pulumi-resource-kubernetes"


def problem(folder: Path) -> str | None:
    """What is wrong with `folder` as the home of the provider; None where it is there."""
    if not os.access(folder / PROGRAM, os.X_OK):
        return f"{PROGRAM} is missing or can't be executed"
    return None if pins.made_of(folder, MODULE) else "it was built out of other sources"


def on_path() -> tuple[Path | None, str]:
    """One on PATH is of any version, and the differences that are known are this one's."""
    return None, ""


def builder(progress: Progress, log: Path) -> Callable[[Path, Path], None]:
    """What fills a folder with it, as `cache.ensure` calls it.

    Raises `go.MissingGoError`; what it answers raises `go.BuildError`, with Go's output in `log`.
    """
    go_program = go.find_go(MODULE.go, PROGRAM)

    def build(result: Path, scratch: Path) -> None:
        progress.say(f"building {PROGRAM} {VERSION}, once: 5 to 10 minutes on two cores; kept in {log.parent}")
        package = "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
        stamp = f"-ldflags=-s -w -X {package}.Version={VERSION.removeprefix('v')}"
        go.build(go_program, MODULE, result / PROGRAM, [stamp], scratch=scratch, log=log, progress=progress)
        pins.note(result, MODULE)

    return build
