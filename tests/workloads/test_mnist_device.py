"""The GPU's lines in the log. Without a GPU these tests show what is printed for one, not that TensorFlow uses it."""

import subprocess
import sys
from contextlib import nullcontext
from threading import Event
from types import SimpleNamespace
from typing import NoReturn

import pytest

from workloads.mnist.mnist_training import __main__ as program, device, tensorflow_start
from workloads.mnist.mnist_training.refusal import ExitCode, RefusedError


def test_a_gpu_is_described_in_the_articles_lines() -> None:
    details = {"device_name": "Tesla K80", "compute_capability": (3, 7)}
    assert device.lines(details, "823.5, CCB6:00:00.0, 12206.08, 12134.4") == [
        "Found device 0 with properties:",
        "name: Tesla K80 major: 3 minor: 7 memoryClockRate(GHz): 0.8235",
        "pciBusID: ccb6:00:00.0",
        "totalMemory: 11.92GiB freeMemory: 11.85GiB",
    ]


@pytest.mark.parametrize("row", ["", "[N/A], [N/A], [N/A], [N/A]", "No devices were found"])
def test_what_nobody_knows_is_called_unknown(row: str) -> None:
    assert device.lines({}, row) == [
        "Found device 0 with properties:",
        "name: unknown major: unknown minor: unknown memoryClockRate(GHz): unknown",
        "pciBusID: unknown",
        "totalMemory: unknown freeMemory: unknown",
    ]


def test_nvidia_smi_that_is_missing_leaves_the_row_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> NoReturn:
        raise FileNotFoundError

    monkeypatch.setattr(device.subprocess, "run", missing)
    assert device.query_nvidia_smi("0") == ""


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Event:
    """What native code writes is held back, or shown; holding it back takes a process."""
    made = Event()
    monkeypatch.setattr(tensorflow_start, "held_back", lambda: nullcontext(made))
    return made


class FakeTensorFlow(SimpleNamespace):
    """TensorFlow's answers on a machine with one GPU, or with none."""

    def __init__(self, gpus: list[str]) -> None:
        experimental = SimpleNamespace(
            set_memory_growth=lambda gpu, on: None,
            get_device_details=lambda gpu: {"device_name": "Tesla V100-PCIE-16GB", "compute_capability": (7, 0)},
        )
        super().__init__(config=SimpleNamespace(list_physical_devices=lambda kind: gpus, experimental=experimental))


@pytest.mark.usefixtures("held")
def test_the_program_asks_nvidia_smi_for_the_gpu_that_it_sees(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def smi(command: list[str], **_: object) -> "subprocess.CompletedProcess[str]":
        row = "877, 00000001:00:00.0, 16160, 16155\n" if "--id=GPU-7" in command else ""
        return subprocess.CompletedProcess(command, 0, row, "")

    monkeypatch.setattr(device.subprocess, "run", smi)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-7,GPU-9")
    monkeypatch.setitem(program.sys.modules, "tensorflow", FakeTensorFlow(["gpu"]))
    assert device.find(require_gpu=True)[0] == {"device": "gpu", "device_name": "Tesla V100-PCIE-16GB"}
    assert capsys.readouterr().out.splitlines()[1:] == [
        "name: Tesla V100-PCIE-16GB major: 7 minor: 0 memoryClockRate(GHz): 0.877",
        "pciBusID: 00000001:00:00.0",
        "totalMemory: 15.78GiB freeMemory: 15.78GiB",
    ]


@pytest.mark.parametrize(
    ("gpus", "expected", "require_gpu", "shown"),
    [(["gpu"], True, True, False), ([], True, False, False), ([], False, False, True), ([], True, True, True)],
    ids=["a GPU", "none, as expected", "a driver that fails", "none, and one is required"],
)
def test_what_native_code_says_is_shown_where_a_gpu_fails_or_is_missing_though_required(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    held: Event,
    gpus: list[str],
    expected: bool,
    require_gpu: bool,
    shown: bool,
) -> None:
    monkeypatch.setattr(device.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess("", 0, "", ""))
    monkeypatch.setattr(tensorflow_start, "gpu_absence", lambda environment: tensorflow_start.Absence(expected, "a reason"))
    monkeypatch.setitem(program.sys.modules, "tensorflow", FakeTensorFlow(gpus))
    if require_gpu and not gpus:
        with pytest.raises(RefusedError, match="--require-gpu: TensorFlow finds no GPU: a reason") as refused:
            device.find(require_gpu=True)
        assert refused.value.code is ExitCode.NO_GPU
        assert int(ExitCode.NO_GPU) == 3
    else:
        assert device.find(require_gpu=require_gpu)[0]["device"] == ("gpu" if gpus else "cpu")
    assert held.is_set() is shown
    assert ("No GPU found: training runs on the CPU (a reason)\n" in capsys.readouterr().out) is (not gpus and not require_gpu)


def test_packages_that_nothing_uses_are_left_out_of_the_import_of_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_UNUSED", ("colorsys",))
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with device._unused_packages_left_out(), pytest.raises(ImportError):
        import colorsys
    import colorsys

    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
