"""The parts of a stack and their end dates, read from an exported deployment. Pure.

A part is a component that can expire, or another resource with the tag `expires-at`, such as a compute of a workspace.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import instant
from azure_gpu.formats.tags import EXPIRES_AT

_ROOT = "pulumi:pulumi:Stack"
_COMPUTE_PREFIX = "ml-compute-"  # of its logical name in the program
Resource = Mapping[str, Any]


class Part(NamedTuple):
    """One part with all its resources."""

    urn: str
    path: str
    """Its path in a stack file, such as `pools.train`; in a custom program component and name."""
    kind: str
    """Its type without namespace, such as `BatchPool`."""
    end: datetime | None
    """None: it doesn't expire."""
    resources: tuple[Resource, ...]
    """In the order of the state, parents first."""

    @property
    def name(self) -> str:
        """Its name in outputs and other commands."""
        return self.path.rsplit(".", 1)[-1]

    @property
    def urns(self) -> tuple[str, ...]:
        return tuple(str(each["urn"]) for each in self.resources)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ARM ids of its resources."""
        return tuple(str(each["id"]) for each in self.resources if str(each.get("id") or "").startswith("/subscriptions/"))

    def is_past(self, now: datetime) -> bool:
        return self.end is not None and self.end <= now


def parts(deployment: Mapping[str, Any]) -> list[Part]:
    """In the order of the state."""
    from azure_gpu.stack.kinds import KINDS  # here, as it loads what resolves the library's components

    resources: Sequence[Resource] = deployment.get("resources") or []
    ends: Mapping[str, Any] = _exported(resources).get("expires_at") or {}
    sections = {kind.token: kind.section for kind in KINDS if kind.ends}
    found: list[Part] = []
    taken: set[str] = set()
    for each in resources:
        section = sections.get(str(each["type"]))
        if section is None:
            continue
        name = _name(each)
        own: Mapping[str, Any] = each.get("outputs") or {}
        end = instant(own.get("expires_at")) or instant(ends.get(name))
        found.append(_part(each, f"{section}.{name}", end, resources))
        taken |= set(found[-1].urns)
    for each in resources:
        end = instant(_tags(each).get(EXPIRES_AT))
        if end is not None and each["urn"] not in taken and each.get("custom") and not each.get("external"):
            found.append(_part(each, _path(each), end, resources))
            taken |= set(found[-1].urns)
    return found


def references(resource: Resource) -> Iterator[str]:
    """The URNs that a resource depends on."""
    yield from (str(each) for each in resource.get("dependencies") or [])
    for urns in (resource.get("propertyDependencies") or {}).values():
        yield from (str(each) for each in urns or [])
    if resource.get("provider"):
        yield str(resource["provider"]).rpartition("::")[0]
    if resource.get("parent"):
        yield str(resource["parent"])


def is_root(resource: Resource) -> bool:
    """Whether it is the stack itself."""
    return resource["type"] == _ROOT


def _part(top: Resource, path: str, end: datetime | None, resources: Sequence[Resource]) -> Part:
    urns = {str(top["urn"])}
    within: list[Resource] = []
    for each in resources:
        if each["urn"] in urns or each.get("parent") in urns:
            urns.add(str(each["urn"]))
            within.append(each)
    return Part(str(top["urn"]), path, str(top["type"]).rsplit(":", 1)[-1], end, tuple(within))


def _path(resource: Resource) -> str:
    name = _name(resource)
    if resource["type"] == azure_types.ML_COMPUTE.token and name.startswith(_COMPUTE_PREFIX):
        return f"ml_workspace.computes.{name.removeprefix(_COMPUTE_PREFIX)}"
    return name


def _exported(resources: Sequence[Resource]) -> Mapping[str, Any]:
    return next((each.get("outputs") or {} for each in resources if is_root(each)), {})


def _tags(resource: Resource) -> Mapping[str, Any]:
    tags = (resource.get("inputs") or {}).get("tags")
    return tags if isinstance(tags, Mapping) else {}


def _name(resource: Resource) -> str:
    return str(resource["urn"]).rsplit("::", 1)[-1]
