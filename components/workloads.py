"""The workloads that this repository holds, as components name them, and where their sources lie."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from catalog.problems import Problem

_FOLDER = Path(__file__).parents[1] / "workloads"


class Workload(StrEnum):
    """A folder of `workloads/` with a Dockerfile."""

    MNIST = "mnist"
    VECTOR_ADD = "vector_add"

    @property
    def folder(self) -> Path:
        return _FOLDER / self.value


def not_built(workload: Workload, built: Iterable[str], path: str) -> Problem:
    """The problem of a workload that isn't among those that the stack's registry has built."""
    return Problem(
        path=path,
        message="no registry has built this workload",
        value=workload.value,
        allowed=", ".join(built) or "none",
        fix="give the foundation a registry, and this workload to build",
    )
