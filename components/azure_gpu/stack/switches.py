"""Parts of a stack file that are switched off: `enabled: false` keeps a part in the file, and nothing of it is declared.

In: the sections of a stack file, whose keys and types were checked. Out: the sections without what is off, the paths of what is
off, and a problem for each part that is on and needs one that is off. Dates, sizes, quotas and what parts need of each other are
judged by what is left, so a part that is off is refused for its keys and types alone.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, NotRequired, TypedDict, cast, get_args, is_typeddict

import pulumi

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.shared.validation import below, form, is_map, key_hints

_SWITCH = "switches a part of a stack file"
_WORKSPACE = "ml_workspace"
_HELD = {"batch_account": "pools", _WORKSPACE: "ml_endpoints"}  # what is in what
Sections = Mapping[str, Any]


class Switched(TypedDict):
    """A part of a stack file that can be switched off."""

    enabled: NotRequired[Annotated[bool, _SWITCH]]
    """False declares nothing of it: its keys and types are checked, its dates, sizes and quotas aren't. `pulumi up` deletes what
    was declared before. Default: true."""


class Left(NamedTuple):
    """What of a stack file is declared."""

    sections: dict[str, Any]
    off: tuple[str, ...]  # paths, such as `clusters.shared`, in the order of the file; none below another


def without_off(sections: Sections, annotation: Any) -> Left:
    """`sections` without what is off, and without the switches. `annotation`: the TypedDict that they were checked against."""
    off: list[str] = []
    left = _left(sections, annotation, "", off)
    for name, endpoint in left.get("ml_endpoints", {}).items():
        shares = {key: _shares(endpoint[key], name, off) for key in ("traffic", "mirror") if key in endpoint}
        left["ml_endpoints"][name] = {**endpoint, **shares}
    return Left(left, tuple(off))


def problems(left: Left, ended: Collection[str] = ()) -> Iterator[Problem]:
    """What is on and needs what is off. `ended`: which of that is off because it was taken down after its last day."""
    sections, off = left
    for key, section in _HELD.items():
        if key in off and sections.get(section):
            yield _holds_others(key, section, [f"{section}.{name}" for name in sections[section]])
    for reference in _references(sections, off):
        if reference.part in off:
            yield _needs_ended(reference) if reference.part in ended else _needs_another(reference)


def announce(off: Sequence[str]) -> None:
    """One line in a preview that names what is off."""
    if off and pulumi.runtime.is_dry_run():
        pulumi.log.info(f"switched off by enabled: false, not declared: {', '.join(off)}")


def _left(value: Any, annotation: Any, path: str, off: list[str]) -> Any:
    """`value` without what is off in it; the paths of that are added to `off`."""
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
        # A section whose parts are all off is as one that isn't written: what other parts do by it doesn't happen.
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
    """Without deployments that are off and get nothing anyway."""
    return {name: share for name, share in shares.items() if share or _deployment(endpoint, name) not in off}


def _deployment(endpoint: str, name: str) -> str:
    return f"ml_endpoints.{endpoint}.deployments.{name}"


class _Reference(NamedTuple):
    """A place at which one part needs another."""

    path: str
    value: object  # what is written there; None: nothing, and the part is meant nevertheless
    part: str  # the path of the other


def _references(sections: Sections, off: Sequence[str]) -> Iterator[_Reference]:
    for section in ("pools", "vms"):
        for name, said in sections.get(section, {}).items():
            if "gallery_image" in said:
                image = said["gallery_image"]
                yield _Reference(f"{section}.{name}.gallery_image", image, f"gallery_images.{image}")
    for name, said in sections.get(_WORKSPACE, {}).get("computes", {}).items():
        for key in ("cluster", "vm"):
            if key in said:
                yield _Reference(f"{_WORKSPACE}.computes.{name}.{key}", said[key], f"{key}s.{said[key]}")
    for name, said in sections.get("ml_endpoints", {}).items():
        if "compute" in said:
            yield _Reference(f"ml_endpoints.{name}.compute", said["compute"], f"{_WORKSPACE}.computes.{said['compute']}")
        for deployment, served in said.get("deployments", {}).items():
            if "environment" in served:
                environment = f"{_WORKSPACE}.environments.{served['environment']}"
                yield _Reference(f"{_deployment(name, deployment)}.environment", served["environment"], environment)
        for key in ("traffic", "mirror"):
            for deployment, share in said.get(key, {}).items():
                yield _Reference(f"ml_endpoints.{name}.{key}.{deployment}", share, _deployment(name, deployment))
    for name, said in sections.get("clusters", {}).items():
        yield from _of_cluster(f"clusters.{name}", said, off)


def _of_cluster(path: str, said: Mapping[str, Any], off: Sequence[str]) -> Iterator[_Reference]:
    """The GPU pools of jobs and services. Work that names none runs on the only one, which is off where none is left."""
    only = [each for each in off if each.startswith(f"{path}.gpu_pools.")] if not said.get("gpu_pools") else []
    for key in ("jobs", "services"):
        for name, work in said.get(key, {}).items():
            here = f"{path}.{key}.{name}.pool"
            if "pool" in work:
                yield _Reference(here, work["pool"], f"{path}.gpu_pools.{work['pool']}")
            elif only and work.get("gpus") != 0:
                yield _Reference(here, None, only[0])


def _holds_others(key: str, section: str, others: Sequence[str]) -> Problem:
    return Problem(
        path=f"{key}.enabled",
        message=f"{', '.join(others)} {'is' if len(others) == 1 else 'are'} in it, and it is switched off",
        value=False,
        allowed=f"true while one of {section} is on",
        fix=f"remove it, or write enabled: false for {' and '.join(others)} too",
    )


def _needs_ended(reference: _Reference) -> Problem:
    return Problem(
        path=reference.path,
        message=f"this needs {reference.part}, whose last day has passed and which was taken down",
        value=reference.value,
        allowed="parts that are up",
        fix=f"write a later {reference.part}.expires_after, or remove what needs it",
        code=Code.NOT_FOUND,
    )


def _needs_another(reference: _Reference) -> Problem:
    return Problem(
        path=reference.path,
        message=f"this needs {reference.part}, which is switched off",
        value=reference.value,
        allowed="parts that are on",
        fix=f"remove enabled: false from {reference.part}, or switch off what needs it",
        code=Code.NOT_FOUND,
    )
