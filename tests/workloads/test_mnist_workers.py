"""Several workers: they train what one does, end when one is lost, and go on from the checkpoint.

All of it on this machine. The disturbances are drawn from a seed; `python -m tests.workloads.disturbances` makes
more of them.
"""

import json
import random
import re
import shutil
import socket
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.embedded import until
from tests.workloads.mnist_workers import LOST, Trainings, Worker, at_step, difference, free_ports, kill, same_arrays
from tests.workloads.workload_runs import MNIST, run, write_data

STEPS = 60
# How far weights may be apart that the same batches made, added up in another order: two orders of magnitude more than what is
# seen.
TOLERANCE = 1e-5
# Writes a checkpoint anew, all of its weights NaN.
SPOIL = """
import sys
import numpy as np
arrays = dict(np.load(sys.argv[1]))
kept = ("header", "curve")
np.savez(sys.argv[2], **{name: array if name in kept else array * np.float32("nan") for name, array in arrays.items()})
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> tuple[str | Path, ...]:
    data = write_data(tmp_path_factory.mktemp("data"), train=400, test=40, side=12)
    return ("--data-dir", data, "--steps", str(STEPS), "--batch-size", "40", "--checkpoint-every", "20", "--group-timeout", "120")


@pytest.fixture(scope="module")
def undisturbed(
    trainings: Trainings, options: tuple[str | Path, ...], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], Path]:
    """The checkpoint of as many workers as are asked for."""
    folder = tmp_path_factory.mktemp("undisturbed")

    @cache
    def checkpoint(size: int) -> Path:
        workers = (
            [trainings.start(folder / "1" / "0", *options)] if size == 1 else trainings.group(folder / str(size), size, *options)
        )
        ended = trainings.wait(workers)
        assert [each.code for each in ended] == [0] * size, [each.stderr for each in ended]
        assert [each.stderr for each in ended] == [""] * size
        assert {each.report["accuracy"] for each in ended} == {ended[0].report["accuracy"]}
        assert [each.report["worker"] for each in ended] == list(range(size))
        assert [each.report["model"] is not None for each in ended] == [True] + [False] * (size - 1)
        return folder / str(size) / "0" / "checkpoint.npz"

    return checkpoint


def test_two_workers_end_with_the_weights_of_one(mnist_python: Path, undisturbed: Callable[[int], Path]) -> None:
    assert difference(mnist_python, undisturbed(1), undisturbed(2)) < TOLERANCE


def test_a_group_that_loses_a_worker_ends_with_the_weights_of_one_that_does_not(
    mnist_python: Path, tmp_path: Path, trainings: Trainings, options: tuple[str | Path, ...], undisturbed: Callable[[int], Path]
) -> None:
    """The others end with it, so that the group resumes as one that was killed as a whole."""
    drawn = random.Random(20190417)
    workers = trainings.group(tmp_path, 2, *options)
    step = drawn.choice([20, 30, 40])
    until(at_step(workers[0], step), f"step {step}")
    victim = drawn.choice(workers)
    kill([victim])
    ended = trainings.wait(workers)
    [left] = [finished for worker, finished in zip(workers, ended, strict=True) if worker is not victim]
    assert sorted(finished.code for finished in ended) == [-9, LOST]
    assert left.code == LOST
    (line,) = left.stderr.splitlines()
    assert line.startswith(f"mnist_training: worker {workers.index(victim)} (127.0.0.1:")
    assert re.search(r" was lost, and the group can't continue without it; restart all workers with --resume", line)
    assert left.report["problems"] == [line.removeprefix("mnist_training: ")]

    again = trainings.wait(trainings.group(tmp_path, 2, *options, "--resume"))
    assert [each.code for each in again] == [0, 0], [each.stderr for each in again]
    assert again[0].report["resumed_from"] == again[1].report["resumed_from"] >= 20
    assert same_arrays(mnist_python, undisturbed(2), tmp_path / "0" / "checkpoint.npz")


def test_every_worker_names_the_checkpoint_that_the_first_one_resumed_from(
    mnist_python: Path, tmp_path: Path, trainings: Trainings, options: tuple[str | Path, ...], undisturbed: Callable[[int], Path]
) -> None:
    (tmp_path / "0").mkdir()
    # With weights that no loss comes from, so that the first step ends the run.
    spoiled = run([mnist_python, "-c", SPOIL, undisturbed(2), tmp_path / "0" / "checkpoint.npz"], tmp_path)
    assert spoiled.code == 0, spoiled.stderr
    ended = trainings.wait(trainings.group(tmp_path, 2, *options, "--steps", str(STEPS + 10), "--resume"))
    assert [each.code for each in ended] == [1, 1], [each.stderr for each in ended]
    for finished in ended:
        assert f"the last good checkpoint is that of step {STEPS}, " in finished.stderr


def test_workers_that_differ_or_miss_one_are_told_so(
    tmp_path: Path, trainings: Trainings, options: tuple[str | Path, ...]
) -> None:
    addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]

    def worker(index: int, *more: str) -> Worker:
        config = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}})
        return trainings.start(tmp_path / str(index), *options, *more, config=config)

    ended = trainings.wait([worker(0), worker(1, "--seed", "7")])
    expected = f"TF_CONFIG: worker 1 ({addresses[1]}) has different options than worker 0 ({addresses[0]}); use the same for all"
    assert [(each.code, each.report["problems"]) for each in ended] == [(2, [expected])] * 2

    (alone,) = trainings.wait([worker(0, "--group-timeout", "1")])
    assert alone.code == LOST
    assert alone.report["problems"] == [
        f"the group is incomplete after 1 s (--group-timeout): nothing listens at worker 1 ({addresses[1]})"
    ]


def test_a_worker_that_waits_in_tensorflow_for_one_that_never_joins_ends_with_the_code_that_it_tells(
    tmp_path: Path, trainings: Trainings, options: tuple[str | Path, ...]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # listens as a worker does, and never says a word
        addresses = [f"127.0.0.1:{port}" for port in (*free_ports(1), silent.getsockname()[1])]
        config = json.dumps({"cluster": {"worker": addresses}, "task": {"type": "worker", "index": 0}})
        (ended,) = trainings.wait([trainings.start(tmp_path, *options, "--group-timeout", "3", config=config)])
    problem = "another worker was lost while the group was forming, or --group-timeout (3 s) is too short"
    assert (ended.code, ended.report["exit_code"], ended.report["problems"]) == (LOST, LOST, [problem])
    assert ended.stderr == f"mnist_training: {problem}\n"


def test_so_does_one_that_is_the_first_process_of_a_container(mnist_python: Path, tmp_path: Path) -> None:
    namespace = [shutil.which("unshare") or "unshare", "--map-root-user", "--pid", "--fork", "--kill-child"]
    if not shutil.which("unshare") or run([*namespace, "true"], tmp_path).code:
        pytest.skip("needs unshare and leave to make a namespace of processes")
    program = """
import ctypes, os
from mnist_training import distribution
from mnist_training.group import Group
assert os.getpid() == 1
with distribution.bounded(Group(("a:1", "b:1")), 0.1):
    ctypes.PyDLL(None).sleep(100)  # and no other thread of Python runs
"""
    assert run([*namespace, mnist_python, "-c", program], MNIST).code == LOST
