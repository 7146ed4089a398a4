"""Which tests go to one worker together, and which first: `--dist loadfile`, with two differences.

Tests of a file share what its fixtures bring up: a stack, a server, a cluster. Files that share a control plane of Kubernetes, a
TensorFlow that is imported or a set of models go to one worker too, so that it is made once. What takes longest begins first, so
that no worker is left with it at the end.
"""

from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

# The start of a file's path → what it shares with the others of the same name.
_SHARED = {
    "tests/localazure/kubernetes/": "control plane",
    "tests/localazure/kubernetes_plugin/": "control plane",
    "tests/operations/test_clusters_api.py": "control plane",
    "tests/workloads/test_mnist_": "trainings",
    "tests/workloads/test_scoring_": "models",
}
# Whose files take longest.
_FIRST = (
    "tests/stack/test_promised_commands.py",
    "tests/stack/",
    *_SHARED,
    "tests/upgrades/",
    "tests/workloads/",
    "tests/localazure/",
)


def unit_of(test: str) -> str:
    """What is given to a worker as a whole: the test's file, or the files that share more."""
    file = test.partition("::")[0]
    return next((shared for start, shared in _SHARED.items() if file.startswith(start)), file)


def place_of(test: str) -> int:
    """The place of a test in the run; those of the same place stay in their order."""
    return next((place for place, start in enumerate(_FIRST) if test.startswith(start)), len(_FIRST))


class Scheduling(LoadFileScheduling):
    """xdist's scheduling by files, with our units."""

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """None, with which xdist takes its own, for any other `--dist`."""
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False  # xdist begins with the files that have most tests, which are the quickest
    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place_of(item.nodeid))
