"""The workloads that this repository holds, as components name them, and where their sources lie."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import image_reference
from azure_gpu.shared.installation import WORKLOADS


class Workload(StrEnum):
    """A folder of `workloads/` with a Dockerfile."""

    MNIST = "mnist"
    VECTOR_ADD = "vector_add"
    SCORING = "scoring"

    @property
    def folder(self) -> Path:
        return WORKLOADS / self.value


def image_problems(image: str | None, workload: Workload | None, path: str) -> list[Problem]:
    """What is wrong with the image of a container at `path`, which is said itself or as a workload; None: not said."""
    if (image is None) == (workload is None):
        return [
            Problem(
                path=f"{path}.image",
                message="exactly one of image and workload has to be said",
                value=image,
                allowed=f"an image reference, or one of the workloads {', '.join(Workload)}",
                fix="remove one of the two" if image is not None else "add image: <reference> or workload: <name>",
            )
        ]
    return image_reference.check(image, f"{path}.image") if image is not None else []


def not_built(workload: Workload, built: Iterable[str], path: str) -> Problem:
    """The problem of a workload that isn't among those that the stack's registry has built."""
    return Problem(
        path=path,
        message="no registry has built this workload",
        value=workload.value,
        allowed=", ".join(built) or "none",
        fix="give the foundation a registry, and this workload to build",
    )
