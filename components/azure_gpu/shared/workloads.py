"""The workloads of this repository, with the paths of their sources."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import image_reference
from azure_gpu.formats.build_context import context_hash
from azure_gpu.shared.installation import CHECKOUT, WORKLOAD_TAGS, WORKLOADS

if TYPE_CHECKING:
    import pulumi


Workload = Literal["mnist", "vector_add", "scoring", "digits"]
"""A folder of `workloads/` with a Dockerfile."""
NAMES: tuple[Workload, ...] = get_args(Workload)
_OF_SEVERAL = ("digits",)  # built from the code of other workloads too; workloads/.dockerignore lists the files


def context(workload: Workload) -> Path:
    """The build context of its image, whose hash is the image's tag."""
    return WORKLOADS if workload in _OF_SEVERAL else WORKLOADS / workload


def tag(workload: Workload) -> str:
    """The tag of its image. Raises BuildContextError for a folder that can't be sent along; a package has no sources."""
    return context_hash(context(workload)) if CHECKOUT else json.loads(WORKLOAD_TAGS.read_text(encoding="utf-8"))[workload]


def source(workload: Workload) -> str:
    """The path of the build context in the repository."""
    return "workloads" if workload in _OF_SEVERAL else f"workloads/{workload}"


def dockerfile(workload: Workload) -> str:
    """Its path in the context."""
    # Not named Dockerfile, as its folder isn't the whole context.
    return f"{workload}/image.Dockerfile" if workload in _OF_SEVERAL else "Dockerfile"


def image_problems(image: pulumi.Input[str] | None, workload: Workload | None, path: str) -> list[Problem]:
    """Checks the image of the container at `path`, which is set by `image` or `workload`; None: not set."""
    if (image is None) == (workload is None):
        why, value = "image.none_set" if image is None else "image.both_set", image if isinstance(image, str) else None
        return [refused(why, f"{path}.image", value, workloads=", ".join(NAMES))]
    return image_reference.check(image, f"{path}.image") if isinstance(image, str) else []


def not_built(workload: Workload, built: Iterable[str], path: str) -> Problem:
    """A problem for a workload that no registry of the stack builds."""
    return refused("image.workload_not_built", path, workload, allowed=", ".join(built) or "none")
