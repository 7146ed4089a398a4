"""JobSet and Kueue, which admit and start groups of workers: their controllers, their charts, and what renders a chart.

Whether a folder holds them, and how it is made, out of their Go modules alone. `charts` is ours: Helm's own renderer
(`groups/main.go`). Built where a stack of the embedded Azure asks for groups.
"""

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from engine import go, pins
from engine.progress import Progress

GROUPS = pins.read(Path(__file__).with_name("groups"))
_CONTROLLERS = {
    "jobset": "sigs.k8s.io/jobset",
    "kueue": "sigs.k8s.io/kueue/cmd/kueue",
}  # by the chart's name: the program's package
_MODULES = {"jobset": "sigs.k8s.io/jobset", "kueue": "sigs.k8s.io/kueue"}
_RENDERER = "charts"
VERSION = "-".join(GROUPS.requires[module].removeprefix("v") for module in _MODULES.values())


def problem(folder: Path) -> str | None:
    """What is wrong with `folder` as the home of the programs and charts; None where all are there."""
    if not folder.is_dir():
        return "it isn't there"
    for name in (*(f"{each}-controller" for each in _CONTROLLERS), _RENDERER):
        if not os.access(folder / name, os.X_OK):
            return f"{name} is missing or can't be executed"
    for name, module in _MODULES.items():
        if not (folder / chart_name(name, GROUPS.requires[module]) / "Chart.yaml").exists():
            return f"the chart of {name} is missing"
    if not pins.made_of(folder, GROUPS):
        return "it was built out of other sources"
    return None


def chart_name(name: str, version: str) -> str:
    """The folder of a chart."""
    return f"{name}-{version.removeprefix('v')}"


def on_path() -> tuple[Path | None, str]:
    """Nothing on PATH has controllers: they run in clusters."""
    return None, "the controllers of JobSet and Kueue are on no PATH"


def builder(progress: Progress, log: Path) -> Callable[[Path, Path], None]:
    """What fills a folder with them, as `cache.ensure` calls it.

    Raises `go.MissingGoError`; what it answers raises `go.BuildError`, with Go's output in `log`.
    """
    go_program = go.find_go(GROUPS.go, "JobSet and Kueue")

    def build(result: Path, scratch: Path) -> None:
        shown = " and ".join(f"{name} {GROUPS.requires[module]}" for name, module in _MODULES.items())
        progress.say(
            f"building {shown}, once: 4 to 8 minutes on two cores (this machine has {os.cpu_count()})\n"
            f"  kept in {log.parent} (210 MB), beside what Go keeps in its own caches (about 2 GB)"
        )
        for name, package in (*((f"{name}-controller", each) for name, each in _CONTROLLERS.items()), (_RENDERER, ".")):
            module = dataclasses.replace(GROUPS, tool=package)
            go.build(go_program, module, result / name, ["-ldflags=-s -w"], scratch=scratch, log=log, progress=progress)
        for name, path in _MODULES.items():
            chart = go.module_folder(go_program, GROUPS, path) / "charts" / name
            shutil.copytree(chart, result / chart_name(name, GROUPS.requires[path]), copy_function=shutil.copyfile)
        pins.note(result, GROUPS)
        for folder in result.rglob("*/"):
            folder.chmod(0o755)  # Go's own are read-only
        wrong = problem(result)
        if wrong is not None:
            raise go.BuildError(f"the build ended, but {wrong}")
        progress.say(f"built {shown} in {progress.elapsed()}")

    return build
