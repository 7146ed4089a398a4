"""Parses a request's path as a resource, a list, an action, or something below a resource.

Letter case and doubled slashes don't matter, as in ARM: `az container export` doubles the slash before `containerGroups`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from azure_gpu.formats import arm_ids
from azure_gpu.formats.arm_ids import RESOURCE_GROUP_TYPE, ArmId
from localazure.arm.errors import arm_error, not_implemented
from localazure.arm.kind import Kind


@dataclass(frozen=True, slots=True)
class Target:
    """What a path means. Exactly one of: a list of `kind` below `scope`; the resource `id`; `tail` below the resource `id`."""

    kind: Kind
    id: ArmId | None = None
    scope: str = ""  # for a list: the id that the listed resources lie below
    tail: str = ""  # for an action or a read: what follows the id, "containers/main/logs"


def segments_of(path: str) -> list[str]:
    return [segment for segment in path.split("/") if segment]


def target_of(segments: list[str], kinds: Mapping[str, Kind]) -> Target:
    """The target of a path below a subscription. `kinds` by lower-case ARM type. ArmError 404 or 501 where there is none."""
    lower = [segment.lower() for segment in segments]
    if "providers" not in lower:
        return _group_target(segments, lower, kinds)
    start = len(lower) - 1 - lower[::-1].index("providers")
    if start + 2 >= len(segments):
        raise not_implemented(f"the path '/{'/'.join(segments)}'")
    scope, namespace, rest = segments[:start], segments[start + 1], segments[start + 2 :]
    known = _longest_known(namespace, rest, kinds)
    if known == 0:
        if len(rest) == 1 and (kind := kinds.get(f"{namespace}/{rest[0]}".lower())):
            return Target(kind, scope="/" + "/".join(scope))
        raise not_implemented(f"the resource type '{'/'.join([namespace, *rest[::2]])}'")
    id_segments, tail = segments[: start + 2 + 2 * known], rest[2 * known :]
    kind = kinds[_type_of(namespace, rest[: 2 * known])]
    resource_id = _parsed(id_segments)
    if len(tail) == 1 and (child := kinds.get(f"{kind.arm_type}/{tail[0]}".lower())):
        return Target(child, scope=resource_id.text)
    return Target(kind, id=resource_id, tail="/".join(tail))


def _group_target(segments: list[str], lower: list[str], kinds: Mapping[str, Kind]) -> Target:
    """`/subscriptions/S/resourceGroups[/G[/action]]`."""
    if len(segments) < 3 or lower[2] != "resourcegroups":
        raise not_implemented(f"the path '/{'/'.join(segments)}'")
    kind = kinds[RESOURCE_GROUP_TYPE.lower()]
    if len(segments) == 3:
        return Target(kind, scope="/" + "/".join(segments[:2]))
    return Target(kind, id=_parsed(segments[:4]), tail="/".join(segments[4:]))


def _longest_known(namespace: str, rest: list[str], kinds: Mapping[str, Kind]) -> int:
    """How many type/name pairs of `rest` name a resource of a known kind."""
    pairs = len(rest) // 2
    return next((count for count in range(pairs, 0, -1) if _type_of(namespace, rest[: 2 * count]) in kinds), 0)


def _type_of(namespace: str, pairs: list[str]) -> str:
    return "/".join([namespace, *pairs[::2]]).lower()


def _parsed(segments: list[str]) -> ArmId:
    parsed = arm_ids.parse("/" + "/".join(segments))
    if parsed is None:
        raise arm_error("InvalidRequestUri", path=f"/{'/'.join(segments)}")
    return parsed


def match(pattern: str, tail: str) -> dict[str, str] | None:
    """What `{names}` in the pattern stand for in `tail`, or None where it doesn't fit."""
    found = _expression(pattern).fullmatch(tail)
    return None if found is None else found.groupdict()


@lru_cache(maxsize=256)
def _expression(pattern: str) -> re.Pattern[str]:
    parts = [f"(?P<{part[1:-1]}>[^/]+)" if part.startswith("{") else re.escape(part) for part in pattern.split("/")]
    return re.compile("/".join(parts), re.IGNORECASE)
