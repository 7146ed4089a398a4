"""Parts of a stack file that are switched off by `enabled: false`, of which only the keys and types are validated.

A part that is on and requires one that is off is a problem.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pulumi

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.stack.kinds import KINDS, Parts

_WORKSPACE = "ml_workspace"


def problems(parts: Parts, off: Sequence[str], ended: Collection[str]) -> Iterator[Problem]:
    """Yields a problem for each part that requires one that is off. `parts`: arguments of those that are on; `off`: paths of the
    others; `ended`: those of them that were taken down after their last day."""
    for kind in KINDS:
        if kind.requires in off and parts[kind.section]:
            yield _holds_others(kind.requires, kind.section, [kind.path(name) for name in parts[kind.section]])
    for reference in _references(parts, off) if off else ():
        if reference.part in off:
            yield _needs_ended(reference) if reference.part in ended else _needs_another(reference)


def announce(off: Sequence[str]) -> None:
    """Logs the parts that are off in a preview."""
    if off and pulumi.runtime.is_dry_run():
        pulumi.log.info(f"switched off by enabled: false, not declared: {', '.join(off)}")


class _Reference(NamedTuple):
    """A reference by which one part requires another."""

    path: str
    value: object  # None: the reference is implicit
    part: str  # the path of the required part


def _references(parts: Parts, off: Sequence[str]) -> Iterator[_Reference]:
    for section in ("pools", "vms"):
        for name, part in parts[section].items():
            if "gallery_image" in part:
                image = part["gallery_image"]
                yield _Reference(f"{section}.{name}.gallery_image", image, f"gallery_images.{image}")
    computes = [each for workspace in parts[_WORKSPACE].values() for each in workspace.get("computes", {}).items()]
    for name, part in computes:
        for key in ("cluster", "vm"):
            if key in part:
                yield _Reference(f"{_WORKSPACE}.computes.{name}.{key}", part[key], f"{key}s.{part[key]}")
    for name, part in parts["ml_endpoints"].items():
        path = f"ml_endpoints.{name}"
        if "compute" in part:
            yield _Reference(f"{path}.compute", part["compute"], f"{_WORKSPACE}.computes.{part['compute']}")
        for deployment, served in part.get("deployments", {}).items():
            if "environment" in served:
                environment = f"{_WORKSPACE}.environments.{served['environment']}"
                yield _Reference(f"{path}.deployments.{deployment}.environment", served["environment"], environment)
        for key in ("traffic", "mirror"):
            for deployment, share in part.get(key, {}).items():
                yield _Reference(f"{path}.{key}.{deployment}", share, f"{path}.deployments.{deployment}")
    for name, part in parts["clusters"].items():
        yield from _of_cluster(f"clusters.{name}", part, off)


def _of_cluster(path: str, part: Mapping[str, Any], off: Sequence[str]) -> Iterator[_Reference]:
    """Yields references of jobs and services to GPU pools. Without `pool` they run on the only pool."""
    only = [each for each in off if each.startswith(f"{path}.gpu_pools.")] if not part.get("gpu_pools") else []
    for key in ("jobs", "services"):
        for name, work in part.get(key, {}).items():
            here = f"{path}.{key}.{name}.pool"
            if "pool" in work:
                yield _Reference(here, work["pool"], f"{path}.gpu_pools.{work['pool']}")
            elif only and work.get("gpus") != 0:
                yield _Reference(here, None, only[0])


def _holds_others(key: str, section: str, others: Sequence[str]) -> Problem:
    return Problem(
        path=f"{key}.enabled",
        message=f"switched off, but required by {', '.join(others)}",
        value=False,
        allowed=f"true while any of {section} is on",
        fix=f"remove it, or write enabled: false for {' and '.join(others)} too",
    )


def _needs_ended(reference: _Reference) -> Problem:
    return Problem(
        path=reference.path,
        message=f"requires {reference.part}, which was taken down after its last day",
        value=reference.value,
        allowed="parts that are up",
        fix=f"set a later {reference.part}.expires_after, or remove what requires it",
        code=Code.NOT_FOUND,
    )


def _needs_another(reference: _Reference) -> Problem:
    return Problem(
        path=reference.path,
        message=f"requires {reference.part}, which is switched off",
        value=reference.value,
        allowed="parts that are on",
        fix=f"remove enabled: false from {reference.part}, or switch off what requires it",
        code=Code.NOT_FOUND,
    )
