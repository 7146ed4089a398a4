"""`nvidia-smi` in containers: a folder for each container that sees GPUs, with the program in it, and what the program knows.

The folder is first on the container's PATH, with `gpus.json` beside it. On a machine with NVIDIA's own program and GPUs the
container gets that one, kept to its GPUs.
"""

import shlex
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from localazure.containers import machine
from localazure.folder import read_json, write_json
from localazure.kubernetes import node_gpus, nvidia_smi
from localazure.kubernetes.node_gpus import Visible

PROGRAM = "nvidia-smi"
CUDA = {"580": "13.0", "570": "12.8", "595": "13.2", "470": "11.4"}  # the newest CUDA that a branch of the driver runs
DRIVER = "580.159.04"  # where the record names none


class Programs:
    """Those of one node, in `folder`."""

    def __init__(self, folder: Path, node: Callable[[], Mapping[str, Any]]) -> None:
        self._node = node
        self._file = folder / "gpus.json"
        self.folder = folder / "programs"
        self._containers: dict[str, dict[str, Any]] = (read_json(self._file) or {}).get("containers", {})

    def note(self, pod_uid: str, container: str, visible: Visible, *, host_pid: bool, pod: str) -> None:
        """The container sees this."""
        key = f"{pod_uid}/{container}"
        if not visible.gpus:
            if self._containers.pop(key, None) is not None:
                self._save()
            return
        gpus = [gpu.uuid for gpu in visible.gpus]
        entry = {"pod": pod, "gpus": gpus, "ids": visible.ids, "host_pid": host_pid}
        target = self.folder / pod_uid / container
        if self._containers.get(key) != entry or not (target / PROGRAM).exists():
            self._containers[key] = entry
            self._save()
            target.mkdir(parents=True, exist_ok=True)
            program = target / PROGRAM
            program.write_text(self._script(key, visible), encoding="utf-8")
            program.chmod(0o755)

    def folder_of(self, pod_uid: str, container: str) -> Path | None:
        return self.folder / pod_uid / container if f"{pod_uid}/{container}" in self._containers else None

    def forget(self, pod_uid: str) -> None:
        """The pod is gone."""
        gone = [key for key in self._containers if key.partition("/")[0] == pod_uid]
        for key in gone:
            del self._containers[key]
        if gone:
            shutil.rmtree(self.folder / pod_uid, ignore_errors=True)
            self._save()

    def state(self) -> dict[str, Any]:
        """What `gpus.json` holds."""
        node = self._node()
        driver = str(node.get("driver_version") or DRIVER)
        return {
            "driver_version": driver,
            "cuda_version": CUDA.get(driver.partition(".")[0], "13.0"),
            "programs": str(self.folder),
            "gpus": [self._gpu(gpu) for gpu in node_gpus.gpus(node)],
            "containers": self._containers,
        }

    def _gpu(self, gpu: node_gpus.NodeGpu) -> dict[str, Any]:
        instances = [{**one._asdict(), "index": one.number} for one in gpu.instances]
        return {**gpu._asdict(), "index": gpu.number, "instances": instances}

    def _save(self) -> None:
        write_json(self._file, self.state(), durable=False)

    def _script(self, key: str, visible: Visible) -> str:
        real = shutil.which(PROGRAM)
        if real and machine.gpu_count():
            own = sorted({gpu.number % machine.gpu_count() for gpu in visible.gpus})
            return f'#!/bin/sh\nexec {shlex.quote(real)} -i {",".join(str(one) for one in own)} "$@"\n'
        words = [sys.executable, "-I", "-S", nvidia_smi.__file__, str(self._file), key]
        return f'#!/bin/sh\nexec {" ".join(shlex.quote(word) for word in words)} "$@"\n'
