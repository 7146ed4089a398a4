"""Removes parts with `enabled: false` from the sections of a stack file.

Only the keys and types of such a part are validated. A part that is on and requires one that is off is a problem.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict, cast, get_args, is_typeddict

import pulumi

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.shared.validation import below, form, is_map, key_hints

_SWITCH = "switches a part of a stack file"
_WORKSPACE = "ml_workspace"
_HELD = {"batch_account": "pools", _WORKSPACE: "ml_endpoints"}  # sections that require the other
Sections = Mapping[str, Any]


class Switched(TypedDict):
    """A part that can be switched off."""

    enabled: NotRequired[Annotated[bool, _SWITCH]]
    """False declares nothing of it: only its keys and types are validated. `pulumi up` deletes what was declared before. Default:
    true."""


class EnabledParts(NamedTuple):
    """The sections without the parts that are off."""

    sections: dict[str, Any]
    off: tuple[str, ...]  # paths, such as `clusters.shared`, in the order of the file, without paths below another


def without_off(sections: Sections, annotation: Any) -> EnabledParts:
    """Removes parts that are off, and the switches. `annotation`: the TypedDict of the sections."""
    off: list[str] = []
    left = _left(sections, annotation, "", off)
    for name, endpoint in left.get("ml_endpoints", {}).items():
        shares = {key: _shares(endpoint[key], name, off) for key in ("traffic", "mirror") if key in endpoint}
        left["ml_endpoints"][name] = {**endpoint, **shares}
    return EnabledParts(left, tuple(off))


def problems(left: EnabledParts, ended: Collection[str] = ()) -> Iterator[Problem]:
    """Yields a problem for each part that requires one that is off. `ended`: those that were taken down after their last day."""
    sections, off = left
    for key, section in _HELD.items():
        if key in off and sections.get(section):
            yield _holds_others(key, section, [f"{section}.{name}" for name in sections[section]])
    for reference in _references(sections, off):
        if reference.part in off:
            yield _needs_ended(reference) if reference.part in ended else _needs_another(reference)


def announce(off: Sequence[str]) -> None:
    """Logs the parts that are off in a preview."""
    if off and pulumi.runtime.is_dry_run():
        pulumi.log.info(f"switched off by enabled: false, not declared: {', '.join(off)}")


def _left(value: Any, annotation: Any, path: str, off: list[str]) -> Any:
    """Removes parts that are off from `value`, and adds their paths to `off`."""
    kind = form(annotation)
    by_name = is_map(annotation)
    if not isinstance(value, Mapping) or not (by_name or is_typeddict(kind)):
        return cast(Any, value)
    kept: dict[str, Any] = {}
    for key, entry in cast(Mapping[str, Any], value).items():
        inner, here = below(annotation, key), f"{path}.{key}" if path else key
        if not by_name and _is_switch(inner):
            continue
        if _is_off(entry, inner):
            off.append(here)
            continue
        kept[key] = _left(entry, inner, here, off)
        # A section whose parts are all off is removed, so that it has no effect on other parts.
        if is_map(inner) and entry and not kept[key] and not by_name and key not in kind.__required_keys__:
            del kept[key]
    return kept


def _is_switch(annotation: Any) -> bool:
    return _SWITCH in get_args(annotation)[1:]


def _is_off(value: Any, annotation: Any) -> bool:
    kind = form(annotation)
    if not isinstance(value, Mapping) or not is_typeddict(kind):
        return False
    part = cast(Mapping[str, Any], value)
    return part.get("enabled") is False and _is_switch(key_hints(kind).get("enabled"))


def _shares(shares: Mapping[str, int], endpoint: str, off: Sequence[str]) -> dict[str, int]:
    """Removes shares of 0 for deployments that are off."""
    return {name: share for name, share in shares.items() if share or _deployment(endpoint, name) not in off}


def _deployment(endpoint: str, name: str) -> str:
    return f"ml_endpoints.{endpoint}.deployments.{name}"


class _Reference(NamedTuple):
    """A reference by which one part requires another."""

    path: str
    value: object  # None: the reference is implicit
    part: str  # the path of the required part


def _references(sections: Sections, off: Sequence[str]) -> Iterator[_Reference]:
    for section in ("pools", "vms"):
        for name, part in sections.get(section, {}).items():
            if "gallery_image" in part:
                image = part["gallery_image"]
                yield _Reference(f"{section}.{name}.gallery_image", image, f"gallery_images.{image}")
    for name, part in sections.get(_WORKSPACE, {}).get("computes", {}).items():
        for key in ("cluster", "vm"):
            if key in part:
                yield _Reference(f"{_WORKSPACE}.computes.{name}.{key}", part[key], f"{key}s.{part[key]}")
    for name, part in sections.get("ml_endpoints", {}).items():
        if "compute" in part:
            yield _Reference(f"ml_endpoints.{name}.compute", part["compute"], f"{_WORKSPACE}.computes.{part['compute']}")
        for deployment, served in part.get("deployments", {}).items():
            if "environment" in served:
                environment = f"{_WORKSPACE}.environments.{served['environment']}"
                yield _Reference(f"{_deployment(name, deployment)}.environment", served["environment"], environment)
        for key in ("traffic", "mirror"):
            for deployment, share in part.get(key, {}).items():
                yield _Reference(f"ml_endpoints.{name}.{key}.{deployment}", share, _deployment(name, deployment))
    for name, part in sections.get("clusters", {}).items():
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
