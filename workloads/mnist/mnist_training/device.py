"""The device of a training: imports TensorFlow, finds a GPU or the CPU, describes it in the form of TensorFlow's log, and chooses
the type of the matrix products of a step, the shortest that the hardware multiplies faster than 32 bits. A CPU's is chosen before
TensorFlow is imported, because oneDNN, which multiplies bfloat16, can only be enabled by the environment.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from . import tensorflow_start
from .options import AUTO, BFLOAT16, FLOAT16, FLOAT32
from .refusal import ExitCode, RefusedError

UNKNOWN = "unknown"
_CPUINFO = Path("/proc/cpuinfo")
_FIELDS = ("clocks.max.memory", "pci.bus_id", "memory.total", "memory.free")  # MHz, and MiB
_SMI_TIMEOUT = 20  # seconds; a driver that has just been loaded takes several
_UNUSED = ("matplotlib", "scipy", "sklearn")  # packages that Keras imports where they are installed
# Linux' names (arch/x86/include/asm/cpufeatures.h) of the instructions that multiply bfloat16.
_CPU_FLAGS = frozenset({"avx512_bf16", "amx_bf16"})
# NVIDIA's tensor cores: float16 from compute capability 7.0 on, bfloat16 from 8.0 on (CUDA C++ Programming Guide, appendix on
# compute capabilities, table "Tensor core data types").
_GPU_FLOAT16, _GPU_BFLOAT16 = (7, 0), (8, 0)


def find(require_gpu: bool) -> tuple[dict[str, str], list]:
    """Finds the GPUs and describes them in the log. Returns their entries of the report, and TensorFlow's list."""
    with tensorflow_start.held_back() as shown:
        with _unused_packages_left_out():
            import tensorflow as tf

        gpus = tf.config.list_physical_devices("GPU")
        absence = None if gpus else tensorflow_start.gpu_absence(os.environ)
        if absence is not None and (require_gpu or not absence.is_expected):
            shown.set()
    if absence is None:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(len(gpus))))).split(",")
        name = UNKNOWN
        for index, gpu in enumerate(gpus):
            tf.config.experimental.set_memory_growth(gpu, True)  # a shared GPU has other users
            row = query_nvidia_smi(visible[index].strip()) if index < len(visible) else ""
            details = tf.config.experimental.get_device_details(gpu)
            print("\n".join(lines(details, row, index)), flush=True)
            name = details.get("device_name") or name
        return {"device": "gpu", "device_name": name}, gpus
    if require_gpu:
        fix = "check the NVIDIA driver and the CUDA packages"
        raise RefusedError([f"--require-gpu: TensorFlow finds no GPU: {absence.reason}; {fix}"], ExitCode.NO_GPU)
    print(absence.line("training"), flush=True)
    return {"device": "cpu", "device_name": _of_cpu("model name", _CPUINFO) or UNKNOWN}, []


@contextmanager
def _unused_packages_left_out() -> Iterator[None]:
    """Imports in the block raise ImportError for those packages that aren't imported yet; imports after it find them. TensorFlow
    imports Keras, which does without what it can't import: 2.9 s of CPU time in place of 4.8 (medians of four)."""
    absent = [name for name in _UNUSED if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # how Python marks a module that can't be imported
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


def lines(details: Mapping[str, object], smi_row: str, index: int = 0) -> list[str]:
    """The lines of the log, in the form of the TensorFlow of 2018. `details`: TensorFlow's `get_device_details`; `smi_row`: what
    `query_nvidia_smi` returns. Either may be empty."""
    cells = [cell.strip() for cell in smi_row.split(",")]
    clock, bus, total, free = cells if len(cells) == len(_FIELDS) else [""] * len(_FIELDS)
    capability = details.get("compute_capability")
    major, minor = capability if isinstance(capability, tuple) else (UNKNOWN, UNKNOWN)
    return [
        f"Found device {index} with properties:",
        f"name: {details.get('device_name') or UNKNOWN} major: {major} minor: {minor} "
        f"memoryClockRate(GHz): {_number(clock, 1000, '.4g')}",
        f"pciBusID: {bus.lower() if ':' in bus else UNKNOWN}",
        f"totalMemory: {_number(total, 1024, '.2f', 'GiB')} freeMemory: {_number(free, 1024, '.2f', 'GiB')}",
    ]


def query_nvidia_smi(device: str) -> str:
    """One row for `device`, an index or a UUID as in CUDA_VISIBLE_DEVICES; empty if nvidia-smi fails."""
    command = ["nvidia-smi", f"--id={device}", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def _of_cpu(key: str, cpuinfo: Path) -> str:
    """What Linux says of the first processor; "" if it says nothing."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def _number(text: str, divisor: int, form: str, unit: str = "") -> str:
    try:
        return f"{float(text) / divisor:{form}}{unit}"
    except ValueError:  # "[N/A]", "[Not Supported]"
        return UNKNOWN


def precision_of_cpu(chosen: str, cpuinfo: Path = _CPUINFO) -> str:
    if chosen != AUTO:
        return chosen
    return BFLOAT16 if _CPU_FLAGS & set(_of_cpu("flags", cpuinfo).split()) else FLOAT32


def precision_of_gpu(chosen: str, compute_capability: tuple[int, int] | None) -> str:
    if chosen != AUTO:
        return chosen
    if compute_capability is None or compute_capability < _GPU_FLOAT16:
        return FLOAT32
    return BFLOAT16 if compute_capability >= _GPU_BFLOAT16 else FLOAT16
