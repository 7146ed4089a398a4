"""The project's own program on the day of the cases, whatever the day is and however the workloads' sources change.

The engine runs this in place of the checkout's `__main__.py`, in a project folder made by `stacks.py`. Variables of the
environment say how: CHECKOUT is the project's folder, TODAY the day, OFFLINE is there where no Azure is. The tag of a workload's
image is the hash of its sources; without an Azure, which builds from them, it is a hash of the workload's name. Where no Azure
is, no cluster is either: each at the edge answers to its kubeconfig. Relative paths of a stack file start at the checkout.
"""

import contextlib
import datetime
import hashlib
import os
import runpy
import sys
from pathlib import Path
from unittest import mock

import pulumi
import yaml


class DayOfTheCases(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> "DayOfTheCases":
        return cls.fromisoformat(f"{os.environ['TODAY']}T12:00:00").replace(tzinfo=tz)


class HookOfPlans(pulumi.ResourceHook):
    """A hook of the program, which is called where it judges plans: one that waits for what was created would wait for ever."""

    def __init__(self, name: str, callback: pulumi.ResourceHookFunction, opts: pulumi.ResourceHookOptions | None = None) -> None:
        judges_plans = opts is not None and bool(opts.on_dry_run)
        super().__init__(name, callback if judges_plans else _nothing, opts)


def _nothing(_: pulumi.ResourceHookArgs) -> None:
    pass


def answers(*_: str) -> None:
    """The problem that a cluster doesn't answer: there is none."""


def tag_of(folder: Path) -> str:
    return hashlib.sha256(folder.name.encode()).hexdigest()[:16]


def main() -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "azure_gpu"]:
        del sys.modules[name]  # a warm Python has loaded them, with what is replaced below
    checkout = Path(os.environ["CHECKOUT"])
    project = yaml.safe_load((checkout / "Pulumi.yaml").read_text())
    folder = checkout / project.get("main", "")
    sys.path.insert(0, str(folder))
    if os.environ.get("OFFLINE"):
        from azure_gpu.formats import build_context
        from azure_gpu.kubernetes import api_server

        build_context.context_hash = tag_of
        api_server.answer_problem = answers
        pulumi.ResourceHook = HookOfPlans
    with mock.patch.object(datetime, "datetime", DayOfTheCases), contextlib.chdir(folder):
        runpy.run_path(str(folder / "__main__.py"), run_name="__main__")


if __name__ == "__main__":
    main()
