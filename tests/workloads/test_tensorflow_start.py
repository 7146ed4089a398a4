"""What TensorFlow's native code writes while it starts: held back where all is well, shown where somebody needs it. And the words
for why there is no GPU."""

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

import pytest

from tests.workloads.workload_runs import MNIST, SCORING, Finished, run
from workloads.mnist.mnist_training import tensorflow_start

# Writes as native code does, past Python; then what the test gives.
PROGRAM = """
import os, signal, sys
from mnist_training.tensorflow_start import held_back
try:
    with held_back() as shown:
        os.write(2, b"E0000 00:00:1 cuda_platform.cc:51] failed call to cuInit: UNKNOWN ERROR (303)\\n")
        {inside}
except ValueError as error:
    print("raised", error)
os.write(2, b"after\\n")
"""
NOISE = "E0000 00:00:1 cuda_platform.cc:51] failed call to cuInit: UNKNOWN ERROR (303)\n"


def program(inside: str) -> Finished:
    return run([sys.executable, "-c", PROGRAM.format(inside=inside)], MNIST)


def test_two_workloads_that_are_built_apart_have_the_same_file() -> None:
    name = "tensorflow_start.py"
    assert (MNIST / "mnist_training" / name).read_text() == (SCORING / "image_scoring" / name).read_text()


class Reader:
    """Takes the place of the process that reads the pipe."""

    def __init__(self, *_: object, **__: object) -> None:
        self._read, write = os.pipe()
        self.stdin = os.fdopen(write, "wb")
        self.killed, self.held = False, b""

    def kill(self) -> None:
        self.killed = True

    def wait(self, _: float) -> None:
        with os.fdopen(self._read, "rb") as held:
            self.held = held.read()


@pytest.mark.parametrize("end", ["pass", "show", "raise"])
def test_what_native_code_writes_is_held_back_unless_the_block_shows_it_or_raises(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], end: str
) -> None:
    reader = Reader()
    monkeypatch.setattr(tensorflow_start.subprocess, "Popen", lambda *_, **__: reader)
    with pytest.raises(ValueError, match="no") if end == "raise" else nullcontext(), tensorflow_start.held_back() as shown:
        os.write(2, b"failed call to cuInit\n")
        if end == "show":
            shown.set()
        if end == "raise":
            raise ValueError("no")
    os.write(2, b"after\n")
    assert (reader.held, reader.killed) == (b"failed call to cuInit\n", end == "pass")
    assert capfd.readouterr().err == "after\n"


def test_where_no_further_process_can_be_started_nothing_is_held_back(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> NoReturn:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(tensorflow_start.subprocess, "Popen", full)
    with tensorflow_start.held_back():
        os.write(2, b"failed call to cuInit\n")
    assert capfd.readouterr().err == "failed call to cuInit\n"


@pytest.mark.slow
def test_a_real_reader_writes_what_it_has_when_the_block_says_so_raises_or_dies_and_is_gone_with_it() -> None:
    children = "import subprocess; print(open(f'/proc/self/task/{os.getpid()}/children').read().split())"
    quiet = run([sys.executable, "-c", PROGRAM.format(inside="pass") + children], MNIST)
    assert (quiet.code, quiet.stdout, quiet.stderr) == (0, "[]\n", "after\n")
    assert program("shown.set()").stderr == f"{NOISE}after\n"
    raised = program("raise ValueError('no')")
    assert (raised.stdout, raised.stderr) == ("raised no\n", f"{NOISE}after\n")
    much = program("os.write(2, b'x' * 300_000); shown.set()")  # more than a pipe holds
    assert much.stderr == f"{NOISE}{'x' * 300_000}after\n"
    for end in ("os.abort()", "os.kill(os.getpid(), signal.SIGKILL)", "os._exit(4)"):
        died = program(end)  # ends when everybody who has its standard error has
        assert died.code != 0
        assert died.stderr == NOISE


# Why there is no GPU


def smi(monkeypatch: pytest.MonkeyPatch, code: int | None, output: str = "") -> None:
    """What nvidia-smi says; None: there is none."""

    def answer(command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        if code is None:
            raise FileNotFoundError
        return subprocess.CompletedProcess(command, code, output, "")

    monkeypatch.setattr(tensorflow_start.subprocess, "run", answer)


CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\nGCC version: 12.3.0\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  565.57.01  Release Build  Thu Oct 10\nGCC version: 12.3.0\n"


def with_driver(root: Path, text: str = CLOSED) -> Path:
    file = root / "proc" / "driver" / "nvidia" / "version"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return root


def test_a_machine_without_a_driver_is_no_failure(tmp_path: Path) -> None:
    found = tensorflow_start.gpu_absence({}, tmp_path)
    assert found == tensorflow_start.gpu_absence({"CUDA_VISIBLE_DEVICES": ""}, tmp_path), "there is nothing to hide"
    assert found == (True, "no NVIDIA driver: neither /proc/driver/nvidia/version nor /dev/nvidia0 exists")
    assert found.line("training") == f"No GPU found: training runs on the CPU ({found.reason})"


@pytest.mark.parametrize("value", ["", "-1", "-1,0"])
def test_hidden_gpus_are_no_failure_even_with_a_driver(tmp_path: Path, value: str) -> None:
    found = tensorflow_start.gpu_absence({"CUDA_VISIBLE_DEVICES": value}, with_driver(tmp_path))
    assert found == (True, f"CUDA_VISIBLE_DEVICES={value!r} hides every GPU")


def test_a_driver_that_fails_is_a_failure_in_its_own_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    smi(monkeypatch, 9, f"{words}\n")
    found = tensorflow_start.gpu_absence({"CUDA_VISIBLE_DEVICES": "0"}, with_driver(tmp_path))
    assert found == (False, f"the NVIDIA driver 550.54.15 is there, and TensorFlow can't use it; nvidia-smi says: {words}")


@pytest.mark.parametrize(("text", "said"), [(CLOSED, " 550.54.15"), (OPEN, " 565.57.01"), ("something else", "")])
def test_the_driver_is_named_with_its_version_where_that_can_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, said: str
) -> None:
    smi(monkeypatch, 3)
    found = tensorflow_start.gpu_absence({}, with_driver(tmp_path, text))
    assert found.reason == (
        f"the NVIDIA driver{said} is there, and TensorFlow can't use it; nvidia-smi says: nothing, and ends with exit code 3"
    )


def test_a_device_without_a_driver_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    smi(monkeypatch, None)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "nvidiactl").touch()
    assert tensorflow_start.gpu_absence({}, tmp_path).is_expected
    (tmp_path / "dev" / "nvidia0").touch()
    found = tensorflow_start.gpu_absence({}, tmp_path)
    assert found == (False, "/dev/nvidia0 is there, but no NVIDIA driver, and TensorFlow can't use it; nvidia-smi not found")


# The scoring server, with a TensorFlow that says what a test lets it say

SERVER = """
import os, sys
from unittest.mock import MagicMock
tf = sys.modules["tensorflow"] = MagicMock()
tf.io.encode_jpeg.return_value.numpy.return_value = b""
tf.config.list_physical_devices.side_effect = lambda kind: os.write(2, b"cuInit failed\\n") and {gpus}
from image_scoring import tensorflow_start
tensorflow_start.gpu_absence = lambda environment: tensorflow_start.Absence({expected}, "a reason")
from image_scoring.model import log_cpu_use
log_cpu_use({environment})
print([name for name, _, _ in tf.mock_calls if name in ("config.experimental.set_memory_growth", "zeros")])
"""
LINE = "No GPU found: the model runs on the CPU (a reason)\n"


def started(python: Path, gpus: list[str], *, expected: bool = True, **environment: str) -> Finished:
    finished = run([python, "-c", SERVER.format(gpus=gpus, expected=expected, environment=environment)], SCORING)
    assert finished.code == 0, finished.stderr
    return finished


@pytest.mark.slow
def test_memory_growth_is_set_before_anything_runs_on_a_gpu(scoring_python: Path) -> None:
    finished = started(scoring_python, ["gpu"])
    assert finished.stdout == "['config.experimental.set_memory_growth', 'zeros']\n"
    assert finished.stderr == ""


@pytest.mark.slow
def test_each_worker_shows_a_driver_that_fails_and_leaves_a_machine_without_one_to_who_started_it(scoring_python: Path) -> None:
    assert started(scoring_python, [], expected=False, SCORING_GPUS="0").stderr == f"cuInit failed\n{LINE}"
    assert started(scoring_python, [], expected=False, SCORING_GPUS="").stderr == f"cuInit failed\n{LINE}"
    assert started(scoring_python, [], SCORING_GPUS="").stderr == ""
    assert started(scoring_python, []).stderr == LINE, "the server's script without serve.py"


# TensorFlow itself

STARTS = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"  # all that there is
from image_scoring import tensorflow_start
with tensorflow_start.held_back() as shown:
    import tensorflow as tf
    tf.config.list_physical_devices("GPU")
    shown.set()
"""


@pytest.mark.slow
def test_what_tensorflow_says_while_it_starts_is_shown_where_it_is_to_be(scoring_python: Path) -> None:
    shown = run([scoring_python, "-c", STARTS], SCORING)
    assert "TensorFlow binary is optimized" in shown.stderr, "else the test below shows nothing"


@pytest.mark.slow
def test_the_command_line_says_once_that_the_cpu_runs_and_nothing_else(scoring_python: Path, scoring_models: Path) -> None:
    if not tensorflow_start.gpu_absence({}).is_expected:
        pytest.skip("this machine has an NVIDIA driver or device")
    (scoring_models / "row.json").write_text("[[1, 2, 3]]")
    command = [scoring_python, "score.py", "--model", scoring_models / "rows", scoring_models / "row.json"]
    finished = run(command, SCORING, TF_CPP_MIN_LOG_LEVEL="0")
    assert finished.lines == ['{"scores":[[2.0,4.0,6.0]],"output":"scores"}']
    assert finished.stderr == f"{tensorflow_start.gpu_absence({}).line('the model')}\n"
