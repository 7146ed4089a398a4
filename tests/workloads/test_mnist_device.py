"""The GPU's lines in the log. Without a GPU these tests show what is printed for one, not that TensorFlow uses it."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from workloads.mnist.mnist_training import __main__ as program, device, gpu_absence
from workloads.mnist.mnist_training.refusal import ExitCode, RefusedError


def test_a_gpu_is_described_in_the_articles_lines() -> None:
    details = {"device_name": "Tesla K80", "compute_capability": (3, 7)}
    assert device.describe(details, "823.5, CCB6:00:00.0, 12206.08, 12134.4").lines() == [
        "Found device 0 with properties:",
        "name: Tesla K80 major: 3 minor: 7 memoryClockRate(GHz): 0.8235",
        "pciBusID: ccb6:00:00.0",
        "totalMemory: 11.92GiB freeMemory: 11.85GiB",
    ]


@pytest.mark.parametrize("row", ["", "[N/A], [N/A], [N/A], [N/A]", "No devices were found"])
def test_what_nobody_knows_is_called_unknown(row: str) -> None:
    assert device.describe({}, row).lines() == [
        "Found device 0 with properties:",
        "name: unknown major: unknown minor: unknown memoryClockRate(GHz): unknown",
        "pciBusID: unknown",
        "totalMemory: unknown freeMemory: unknown",
    ]


def test_nvidia_smi_that_is_missing_leaves_the_row_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert device.query_nvidia_smi("0") == ""


class FakeTensorFlow(SimpleNamespace):
    """TensorFlow's answers on a machine with one GPU, or with none."""

    def __init__(self, gpus: list[str]) -> None:
        experimental = SimpleNamespace(
            set_memory_growth=lambda gpu, on: None,
            get_device_details=lambda gpu: {"device_name": "Tesla V100-PCIE-16GB", "compute_capability": (7, 0)},
        )
        super().__init__(config=SimpleNamespace(list_physical_devices=lambda kind: gpus, experimental=experimental))


def test_the_program_asks_nvidia_smi_for_the_gpu_that_it_sees(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text('#!/bin/sh\n[ "$1" = --id=GPU-7 ] && echo "877, 00000001:00:00.0, 16160, 16155"\n')
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-7,GPU-9")
    monkeypatch.setitem(program.sys.modules, "tensorflow", FakeTensorFlow(["gpu"]))
    assert program._device(require_gpu=True)[0] == {"device": "gpu", "device_name": "Tesla V100-PCIE-16GB"}
    assert capsys.readouterr().out.splitlines()[1:] == [
        "name: Tesla V100-PCIE-16GB major: 7 minor: 0 memoryClockRate(GHz): 0.877",
        "pciBusID: 00000001:00:00.0",
        "totalMemory: 15.78GiB freeMemory: 15.78GiB",
    ]


def test_a_required_gpu_that_is_missing_ends_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(program.sys.modules, "tensorflow", FakeTensorFlow([]))
    with pytest.raises(RefusedError) as refused:
        program._device(require_gpu=True)
    assert refused.value.code is ExitCode.NO_GPU
    assert int(ExitCode.NO_GPU) == 3


def test_a_machine_without_a_gpu_says_plainly_that_the_cpu_trains_and_why(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(program.sys.modules, "tensorflow", NoisyTensorFlow([]))
    monkeypatch.setattr(gpu_absence, "explain", lambda environment: gpu_absence.Absence(True, "a reason"))
    assert program._device(require_gpu=False)[0]["device"] == "cpu"
    said = capfd.readouterr()
    assert said.out == "No GPU found: training runs on the CPU (a reason)\n"
    assert said.err == ""


class NoisyTensorFlow(FakeTensorFlow):
    """One whose native code writes when it is asked for GPUs."""

    def __init__(self, gpus: list[str]) -> None:
        super().__init__(gpus)
        self.config.list_physical_devices = lambda kind: os.write(2, b"E0000 failed call to cuInit\n") and gpus


@pytest.mark.parametrize(("require_gpu", "expected"), [(True, True), (False, False)])
def test_what_the_driver_says_is_shown_where_a_gpu_is_there_or_required(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture, require_gpu: bool, expected: bool
) -> None:
    absence = gpu_absence.Absence(expected, "a reason")
    monkeypatch.setattr(gpu_absence, "explain", lambda environment: absence)
    monkeypatch.setitem(program.sys.modules, "tensorflow", NoisyTensorFlow([]))
    if require_gpu:
        with pytest.raises(RefusedError, match="--require-gpu: TensorFlow finds no GPU: a reason"):
            program._device(require_gpu=True)
    else:
        program._device(require_gpu=False)
    assert capfd.readouterr().err == "E0000 failed call to cuInit\n"


def test_what_native_code_says_of_a_gpu_that_works_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(program.sys.modules, "tensorflow", NoisyTensorFlow(["gpu"]))
    assert program._device(require_gpu=True)[0]["device"] == "gpu"
    assert capfd.readouterr().err == ""
