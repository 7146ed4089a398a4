"""A build's steps over the end of the process that runs them."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from localazure.containers.build_log import BuildFailedError, BuildLog
from localazure.process import start_time
from tests.support.embedded import CHECKOUT, until

pytestmark = pytest.mark.slow

BUILDING = """
import asyncio, sys
from pathlib import Path
{loop}
from localazure.containers.build_log import BuildLog
step = ["/bin/sh", "-c", "sleep 600 & echo $$ $!; wait"]
asyncio.run(BuildLog(Path(sys.argv[1])).run("RUN step", step, Path("/"), {{"PATH": "/usr/bin:/bin"}}))
"""


def processes(log: Path) -> list[int]:
    """The step's own and its child's, as the step printed them behind the time."""
    words = log.read_text().split() if log.exists() else []
    return [int(word) for word in words[1:3]]


@pytest.mark.parametrize("loop", ["", "import uvloop; uvloop.install()"], ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_step_ends_with_all_that_it_started_when_the_builder_is_gone(tmp_path: Path, loop: str, end: signal.Signals) -> None:
    log = tmp_path / "build.log"
    command = [sys.executable, "-c", BUILDING.format(loop=loop), str(log)]
    with subprocess.Popen(command, cwd=CHECKOUT, stderr=subprocess.DEVNULL) as builder:
        step, child = until(lambda: len(found := processes(log)) == 2 and found, "the step says its process ids")
        assert start_time(step)
        builder.send_signal(end)
    until(lambda: start_time(step) == start_time(child) == "", "the step is gone")


def test_a_steps_exit_code_and_last_words_are_its_failure(tmp_path: Path) -> None:
    log = BuildLog(tmp_path / "build.log")
    with pytest.raises(BuildFailedError) as failed:
        asyncio.run(log.run("RUN x", ["/bin/sh", "-c", "echo gone; exit 7"], tmp_path, {"PATH": "/usr/bin:/bin"}))
    assert failed.value.message == "sh ended with exit code 7. Its last output:\ngone"
