"""Parts of a stack file that are switched off by `enabled: false`, of which only the keys and types are validated.

A part that is on and requires one that is off is a problem.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

import pulumi

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.stack.kinds import KINDS, Parts

# The parts that others require, by the keys that name them: `{0}` and the like are the names in the key's path.
_REQUIRED = {
    "pools.{}.gallery_image": "gallery_images.{value}",
    "vms.{}.gallery_image": "gallery_images.{value}",
    "ml_workspace.computes.{}.cluster": "clusters.{value}",
    "ml_workspace.computes.{}.vm": "vms.{value}",
    "ml_endpoints.{}.compute": "ml_workspace.computes.{value}",
    "ml_endpoints.{}.deployments.{}.environment": "ml_workspace.environments.{value}",
    "ml_endpoints.{}.traffic.{}": "ml_endpoints.{0}.deployments.{1}",
    "ml_endpoints.{}.mirror.{}": "ml_endpoints.{0}.deployments.{1}",
    "clusters.{}.jobs.{}.pool": "clusters.{0}.gpu_pools.{value}",
    "clusters.{}.services.{}.pool": "clusters.{0}.gpu_pools.{value}",
}


def problems(parts: Parts, off: Sequence[str], ended: Collection[str]) -> Iterator[Problem]:
    """Yields a problem for each part that requires one that is off. `parts`: arguments of those that are on; `off`: paths of the
    others; `ended`: those of them that were taken down after their last day."""
    for kind in KINDS:
        if kind.requires in off and parts[kind.section]:
            others = [kind.path(name) for name in parts[kind.section]]
            names, every = ", ".join(others), " and ".join(others)
            path = f"{kind.requires}.enabled"
            yield refused("stack.off_but_required", path, False, names=names, section=kind.section, every=every)
    whole = {kind.section: parts[kind.section] if kind.by_name else _only(parts[kind.section]) for kind in KINDS}
    references = [
        (key.format(*names), value, part.format(*names, value=value))
        for key, part in _REQUIRED.items()
        for names, value in _at(whole, key.split("."))
    ]
    for path, value, part in [*references, *_on_only_pool(parts["clusters"], off)]:
        if part in off:
            yield refused("stack.needs_ended" if part in ended else "stack.needs_another", path, value, part=part)


def _only(parts: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(iter(parts.values()), {})


def _at(value: Any, steps: Sequence[str], names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yields the values at these steps, with the names on the way; a step `{}` is every name."""
    if not steps:
        yield names, value
    elif steps[0] == "{}":
        for name, inner in cast(Mapping[str, Any], value).items():
            yield from _at(inner, steps[1:], (*names, name))
    elif steps[0] in value:
        yield from _at(value[steps[0]], steps[1:], names)


def _on_only_pool(clusters: Mapping[str, Any], off: Sequence[str]) -> Iterator[tuple[str, None, str]]:
    """Yields jobs and services without `pool`, which run on the only GPU pool."""
    for cluster, part in clusters.items():
        path = f"clusters.{cluster}"
        only = [each for each in off if each.startswith(f"{path}.gpu_pools.")] if not part.get("gpu_pools") else []
        for key in ("jobs", "services") if only else ():
            for name, work in part.get(key, {}).items():
                if "pool" not in work and work.get("gpus") != 0:
                    yield f"{path}.{key}.{name}.pool", None, only[0]


def announce(off: Sequence[str]) -> None:
    """Logs the parts that are off in a preview."""
    if off and pulumi.runtime.is_dry_run():
        pulumi.log.info(f"switched off by enabled: false, not declared: {', '.join(off)}")
