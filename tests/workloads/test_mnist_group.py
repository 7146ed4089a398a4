"""TF_CONFIG: which group it describes, and each mistake in it by the member's name; how a worker is found that is gone."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.workloads.mnist_workers import Trainings
from tests.workloads.workload_runs import Finished
from workloads.mnist.mnist_training import group
from workloads.mnist.mnist_training.refusal import RefusedError

HOST_AND_PORT = "expected host:port with a port from 1 to 65535"
TWO = {"worker": ["10.0.0.4:2222", "10.0.0.5:2222"]}


def config(cluster: object = TWO, task: object = None) -> str:
    return json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 0} if task is None else task})


def test_without_a_cluster_there_is_one_worker() -> None:
    for text in (None, "", " ", "{}", '{"cluster": {}, "task": {}}'):
        read = group.read(text)
        assert (read.size, read.index, read.is_chief) == (1, 0, True)


def test_workers_come_in_the_order_of_the_list() -> None:
    read = group.read(config(task={"type": "worker", "index": 1}))
    assert (read.addresses, read.index, read.is_chief) == (("10.0.0.4:2222", "10.0.0.5:2222"), 1, False)
    assert read.name(1) == "worker 1 (10.0.0.5:2222)"


@pytest.mark.parametrize(("task", "index"), [({"type": "chief", "index": 0}, 0), ({"type": "worker", "index": 1}, 2)])
def test_a_chief_comes_before_the_workers(task: dict, index: int) -> None:
    read = group.read(config({"worker": TWO["worker"], "chief": ["[fd00::1]:2222"]}, task))
    assert read.addresses == ("[fd00::1]:2222", "10.0.0.4:2222", "10.0.0.5:2222")
    assert (read.index, read.is_chief) == (index, index == 0)


WRONG = [
    ("{", "not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ("[]", "[]; expected an object with the members cluster and task"),
    (config([]), "cluster: []; expected an object with the member worker"),
    (config({"worker": "a:1"}), 'cluster.worker: "a:1"; expected a list of addresses such as "10.0.0.4:2222"'),
    (config({"worker": ["a:1", "b"]}), 'cluster.worker[1]: "b"; expected host:port with a port from 1 to 65535'),
    (config({"worker": ["a:1", "b:0"]}), 'cluster.worker[1]: "b:0"; expected host:port with a port from 1 to 65535'),
    (config({"worker": ["a:1", 7]}), "cluster.worker[1]: 7; expected host:port with a port from 1 to 65535"),
    *[
        (config({"worker": [address]}), f"cluster.worker[0]: {json.dumps(address, ensure_ascii=False)}; {HOST_AND_PORT}")
        for address in ("a..b:1", f"{'a' * 64}:1", f"{'é' * 60}:1", "a\0b:1")
    ],
    (
        config({"chief": ["a:1"], "worker": ["b:1", "a:1"]}),
        "cluster.worker[1]: 'a:1' is also the address of cluster.chief[0]; each worker needs its own",
    ),
    (config({**TWO, "chief": ["a:1", "b:1"]}), "cluster.chief: 2 addresses; at most one chief is allowed"),
    (config({**TWO, "ps": ["a:1"]}), "cluster.ps: unknown role; allowed: worker, chief"),
    (config(task="worker"), 'task: "worker"; expected an object with the members type and index'),
    (config(task={"index": 0}), "task.type: is missing; allowed: worker, chief"),
    (config(task={"type": "evaluator", "index": 0}), 'task.type: "evaluator"; allowed: worker, chief'),
    (config(task={"type": "chief", "index": 0}), "task.type: 'chief', but cluster has no chief"),
    (config(task={"type": "worker"}), "task.index: is missing; allowed: 0 to 1, the positions in cluster.worker"),
    (config(task={"type": "worker", "index": 2}), "task.index: 2; allowed: 0 to 1, the positions in cluster.worker"),
    (config(task={"type": "worker", "index": "0"}), 'task.index: "0"; allowed: 0 to 1, the positions in cluster.worker'),
    (config(task={"type": "worker", "index": True}), "task.index: true; allowed: 0 to 1, the positions in cluster.worker"),
    (json.dumps({"task": {"type": "worker", "index": 0}}), "task.type: 'worker', but cluster has no worker"),
]


def test_what_is_wrong_is_told_by_the_members_name() -> None:
    def told(text: str) -> list[str]:
        with pytest.raises(RefusedError) as refused:
            group.read(text)
        assert refused.value.code == 2
        return refused.value.problems

    assert [told(text) for text, _ in WRONG] == [[f"TF_CONFIG: {problem}"] for _, problem in WRONG]


def test_a_port_of_thousands_of_digits_is_no_port() -> None:
    with pytest.raises(RefusedError, match="expected host:port with a port from 1 to 65535"):
        group.read(config({"worker": [f"a:{'9' * 5000}"]}))


def test_the_problems_of_options_and_tf_config_are_told_together(
    refuse: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CONFIG", config({"worker": ["a", "b"]}, {"type": "worker", "index": 3}))
    finished = refuse("--steps", "0")
    assert finished.code == 2
    assert finished.stderr.splitlines() == [
        "mnist_training: --steps: '0' can't be used; allowed: a whole number from 1 to 1000000",
        'mnist_training: TF_CONFIG: cluster.worker[0]: "a"; expected host:port with a port from 1 to 65535',
        'mnist_training: TF_CONFIG: cluster.worker[1]: "b"; expected host:port with a port from 1 to 65535',
        "mnist_training: TF_CONFIG: task.index: 3; allowed: 0 to 1, the positions in cluster.worker",
    ]


@pytest.mark.slow
def test_a_worker_that_listens_is_told_from_one_that_is_gone() -> None:
    with socket.socket() as here, socket.socket() as gone:
        for each in (here, gone):
            each.bind(("127.0.0.1", 0))
        here.listen()
        addresses = tuple(f"127.0.0.1:{each.getsockname()[1]}" for each in (here, gone, here))
        assert group.Group(addresses, index=0).unreachable() == [f"worker 1 ({addresses[1]})"]


@pytest.mark.slow
def test_each_failure_of_tensorflow_has_a_name_and_a_code(trainings: Trainings, tmp_path: Path) -> None:
    program = """
import tensorflow as tf
from mnist_training import distribution
from mnist_training.group import Group
last = "the last good checkpoint is that of step 100"
for error in (
    tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor with shape[4096,500] on /device:GPU:0"),
    MemoryError(),
    tf.errors.ResourceExhaustedError(None, None, "/output/tensorboard/events; No space left on device"),
    tf.errors.ResourceExhaustedError(
        None, None, "{{function_node __wrapped__SaveV2_dtypes_10_device_/job:localhost/device:CPU:0}} "
        "/output/part-00000-of-00001; No space left on device [Op:SaveV2]"
    ),
    tf.errors.PermissionDeniedError(None, None, "/output/tensorboard/events; Permission denied"),
    tf.errors.InternalError(None, None, "CUDA error: all CUDA-capable devices are busy or unavailable"),
    tf.errors.InternalError(None, None, "Failed call to cuCtxCreate: CUDA_ERROR_DEVICE_UNAVAILABLE"),
    tf.errors.InternalError(None, None, "\\nCUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered\\nmore"),
    tf.errors.UnknownError(None, None, "something else"),
):
    refusal = distribution.refusal(error, Group(), 4096, last)
    print(int(refusal.code), *refusal.problems)
group = Group(("127.0.0.1:9", "127.0.0.1:1"), 0)
try:
    tf.io.TFRecordWriter("/dev/null/events")
except tf.errors.OpError as error:
    refusal = distribution.refusal(error, group, 100, last)
    print(int(refusal.code), *refusal.problems)
refusal = distribution.refusal(tf.errors.UnavailableError(None, None, "Socket closed"), group, 100, last)
print(int(refusal.code), *refusal.problems)
"""
    finished = trainings.run(tmp_path, program)
    last = "the last good checkpoint is that of step 100"
    room = f"free some space or choose another --output-dir; {last}"
    held = (
        "3 the GPU can't be used: it is in exclusive mode and another process holds it, or it is in prohibited mode "
        "(see `nvidia-smi -q -d COMPUTE`); CUDA says: "
    )
    assert finished.lines == [
        f"2 out of memory for an array of [4096,500]: a step of --batch-size 4096 doesn't fit; choose a smaller one; {last}",
        f"2 out of memory: a step of --batch-size 4096 doesn't fit; choose a smaller one; {last}",
        f"2 /output/tensorboard/events: can't be used: No space left on device; {room}",
        f"2 /output/part-00000-of-00001: can't be used: No space left on device; {room}",
        f"2 /output/tensorboard/events: can't be used: Permission denied; {room}",
        f"{held}CUDA error: all CUDA-capable devices are busy or unavailable",
        f"{held}Failed call to cuCtxCreate: CUDA_ERROR_DEVICE_UNAVAILABLE",
        f"4 the GPU was lost: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered; {last}",
        f"4 TensorFlow failed: something else; {last}",
        f"2 /dev/null/events: can't be used: Not a directory; {room}",
        "4 worker 1 (127.0.0.1:1) was lost, and the group can't continue without it; restart all workers with --resume; " + last,
    ], finished.stderr
