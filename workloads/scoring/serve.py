"""The image's entry point: configures Azure Machine Learning's inference server for the machine, and replaces itself by it."""

import math
import os
import sys
from collections.abc import MutableMapping, Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_WORKER_BYTES = 1024**3  # TensorFlow, a model of middling size, and some large requests
_CGROUP = Path("/sys/fs/cgroup")
PORT = "5001"


def main(arguments: Sequence[str], environment: MutableMapping[str, str]) -> None:
    from image_scoring import options, tensorflow_start  # of this folder, which is on the path where this file is the program

    gpu_names = gpus(Path("/dev"), environment)
    settings(environment, gpu_names, cores(_CGROUP), memory(_CGROUP, Path("/proc/meminfo")))
    absence = tensorflow_start.gpu_absence(environment) if not gpu_names else None
    if absence is not None and absence.is_expected:  # otherwise each worker logs what TensorFlow found
        print(absence.line("the model"), file=sys.stderr, flush=True)
    if options.MODEL_IN_IMAGE.is_dir():
        environment[options.MODEL_VARIABLE] = str(options.model_folder(environment))  # so that the server's log names it
    script = environment.get("AZUREML_ENTRY_SCRIPT") or str(_HERE / "score.py")
    command = [sys.executable, "-m", "azureml_inference_server_http", "--entry_script", script, "--port", PORT]
    os.execve(sys.executable, [*command, *arguments], dict(environment))  # noqa: S606  # this process becomes the server


def settings(environment: MutableMapping[str, str], gpu_names: Sequence[str], cores: float, memory: int) -> None:
    """Sets unset variables. Two workers per GPU: one prepares while the other computes. Without a GPU one worker per core, with
    the cores divided among them, since TensorFlow's threads would compete for them. At least two intra-op threads: with one,
    some answers take ten times as long on a busy machine."""
    by_processor = 2 * len(gpu_names) or math.ceil(cores)
    environment.setdefault("WORKER_COUNT", str(max(1, min(by_processor, memory // _WORKER_BYTES))))
    if not gpu_names and environment["WORKER_COUNT"].isdigit():
        share = max(1, round(cores / max(1, int(environment["WORKER_COUNT"]))))
        environment.setdefault("TF_NUM_INTRAOP_THREADS", str(max(2, share)))
        environment.setdefault("TF_NUM_INTEROP_THREADS", str(share))
    environment.setdefault("GUNICORN_CMD_ARGS", f"--config {_HERE / 'gunicorn_settings.py'}")
    environment.setdefault("AML_APP_ROOT", str(_HERE))
    environment.setdefault("SCORING_GPUS", ",".join(gpu_names))
    environment.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    paths = [str(_HERE), *environment.get("PYTHONPATH", "").split(os.pathsep)]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)  # for gunicorn's settings


def gpus(devices: Path, environment: MutableMapping[str, str]) -> list[str]:
    """CUDA's names of the GPUs: those in CUDA_VISIBLE_DEVICES, else all with device files."""
    if "CUDA_VISIBLE_DEVICES" in environment:
        return [name.strip() for name in environment["CUDA_VISIBLE_DEVICES"].split(",") if name.strip() not in ("", "-1")]
    found = [file for file in devices.glob("nvidia[0-9]*") if file.name.removeprefix("nvidia").isdigit()]
    return [str(number) for number in range(len(found))]


def cores(cgroup: Path) -> float:
    """The processor time of this container, in cores."""
    here = float(len(os.sched_getaffinity(0)))
    limit, period = (_text(cgroup / "cpu.max").split() or ["max", ""])[:2]
    return here if limit == "max" else min(here, int(limit) / int(period))


def memory(cgroup: Path, machine: Path) -> int:
    """The memory of this container, in bytes."""
    whole = next(int(line.split()[1]) * 1024 for line in _text(machine).splitlines() if line.startswith("MemTotal:"))
    limit = _text(cgroup / "memory.max").strip()
    return min(whole, int(limit)) if limit.isdigit() else whole


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    main(sys.argv[1:], os.environ)
