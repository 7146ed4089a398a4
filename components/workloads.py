"""The workloads that this repository holds, as components name them, and where their sources lie."""

from enum import StrEnum
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "workloads"


class Workload(StrEnum):
    """A folder of `workloads/` with a Dockerfile."""

    MNIST = "mnist"
    VECTOR_ADD = "vector_add"

    @property
    def folder(self) -> Path:
        return _FOLDER / self.value
