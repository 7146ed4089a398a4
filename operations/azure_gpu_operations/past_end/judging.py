"""Decides which expired parts of a stack are destroyed, and why the others are kept.

A part is a component that can expire, or another resource with the tag `expires-at`, such as a compute of a workspace; its end
is in the exported deployment. A management lock of Azure protects its scope and everything below it.

Source of locks: Azure/azure-rest-api-specs,
specification/resources/resource-manager/Microsoft.Authorization/locks/stable/2020-05-01, and Microsoft Learn,
azure-resource-manager/management/lock-resources.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import instant
from azure_gpu.formats.parts import PARTS
from azure_gpu.formats.tags import EXPIRES_AT
from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.guard.foreign_resources import created
from azure_gpu_operations.guard.held import held, protected
from azure_gpu_operations.stack_view import Resource, below, name_of, references
from azure_gpu_operations.terminal import some

_API_VERSION = "2020-05-01"
_PROVIDER = "/providers/microsoft.authorization/locks/"


class Lock(NamedTuple):
    """One lock."""

    name: str
    scope: str
    """The locked ARM id."""
    level: str
    """CanNotDelete, ReadOnly."""

    def keeps(self, resource_id: str) -> bool:
        """Whether it protects the resource, or something within it."""
        here, there = self.scope.lower().rstrip("/"), resource_id.lower().rstrip("/")
        return here == there or there.startswith(f"{here}/") or here.startswith(f"{there}/")

    @property
    def words(self) -> str:
        return f"the lock {self.name} ({self.level}) on {self.scope.rsplit('/', 1)[-1]}"


def of_subscription(arm: Arm, subscription_id: str) -> Iterator[Lock]:
    """Locks of the subscription, its groups and resources. AzureError if they can't be read."""
    for body in arm.values(f"/subscriptions/{subscription_id}/providers/Microsoft.Authorization/locks", _API_VERSION):
        resource_id = str(body["id"])
        at = resource_id.lower().rfind(_PROVIDER)
        level = str((body.get("properties") or {}).get("level") or "")
        if at >= 0 and level != "NotSpecified":
            yield Lock(str(body.get("name") or ""), resource_id[:at], level)


_ROOT = "pulumi:pulumi:Stack"
_COMPUTE_PREFIX = "ml-compute-"  # of its logical name in the program


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
    resources: Sequence[Resource] = deployment.get("resources") or []
    exported: Mapping[str, Any] = next((each.get("outputs") or {} for each in resources if is_root(each)), {})
    ends: Mapping[str, Any] = exported.get("expires_at") or {}
    sections = {kind.token: kind.section for kind in PARTS if kind.ends}
    found: list[Part] = []
    taken: set[str] = set()
    for each in resources:
        section = sections.get(str(each["type"]))
        if section is None:
            continue
        name = name_of(each["urn"])
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


def is_root(resource: Resource) -> bool:
    """Whether it is the stack itself."""
    return resource["type"] == _ROOT


def _part(top: Resource, path: str, end: datetime | None, resources: Sequence[Resource]) -> Part:
    urn = str(top["urn"])
    return Part(urn, path, str(top["type"]).rsplit(":", 1)[-1], end, tuple(below(resources, urn)))


def _path(resource: Resource) -> str:
    name = name_of(resource["urn"])
    if resource["type"] == azure_types.ML_COMPUTE.token and name.startswith(_COMPUTE_PREFIX):
        return f"ml_workspace.computes.{name.removeprefix(_COMPUTE_PREFIX)}"
    return name


def _tags(resource: Resource) -> Mapping[str, Any]:
    tags = (resource.get("inputs") or {}).get("tags")
    return tags if isinstance(tags, Mapping) else {}


class Past(NamedTuple):
    """An expired part."""

    part: Part
    stays: str = ""
    """Why it isn't destroyed, and the fix; "" if it is."""


class Judged(NamedTuple):
    """The expired parts of a stack."""

    past: tuple[Past, ...]
    is_whole: bool
    """Whether every part that can expire has expired."""

    @property
    def going(self) -> list[Part]:
        return [each.part for each in self.past if not each.stays]


def judge(deployment: Mapping[str, Any], locks: Sequence[Lock], now: datetime) -> Judged:
    """The expired parts, in the order of the state."""
    every = parts(deployment)
    past = [each for each in every if each.is_past(now)]
    stays = {each.urn: why for each in past if (why := _own_reason(deployment, each, locks))}
    while True:  # a kept part keeps its dependencies in turn
        going = {urn for each in past if each.urn not in stays for urn in each.urns}
        more = {each.urn: why for each in past if each.urn not in stays and (why := _used(deployment, each, going))}
        if not more:
            break
        stays |= more
    found = tuple(Past(each, stays.get(each.urn, "")) for each in past)
    return Judged(found, is_whole=bool(past) and len(past) == len(every))


def keeps_whole(deployment: Mapping[str, Any], locks: Sequence[Lock]) -> str:
    """Why a short-lived stack isn't destroyed as a whole; "" if it is."""
    if urns := protected(deployment):
        return f"{some(sorted(map(name_of, urns)))} is protected"
    for each in created(deployment):
        for lock in locks:
            if lock.keeps(str(each["id"])):
                return f"{lock.words} protects {name_of(each['urn'])}"
    return ""


def _own_reason(deployment: Mapping[str, Any], part: Part, locks: Sequence[Lock]) -> str:
    kept = set(protected(deployment)) & set(part.urns)
    if kept:
        stack = _stack_of(part.urn)
        return f"{some(sorted(map(name_of, kept)))} is protected; fix: {COMMAND} pulumi state unprotect URN --stack {stack}"
    data = [each for each in held(deployment) if each.urn in part.urns and each.holds_data]
    if data:
        lost = data[0].lost.removeprefix("its ")
        return f"the {data[0].what} {data[0].azure_name} holds {lost}; fix: remove it from the stack file"
    for lock in locks:
        if any(lock.keeps(each) for each in part.ids):
            return f"{lock.words} in Azure protects it; fix: delete the lock, if it is yours"
    return ""


def _used(deployment: Mapping[str, Any], part: Part, going: set[str]) -> str:
    """The resources that stay and depend on the part."""
    own = set(part.urns)
    others = [each for each in deployment.get("resources") or [] if each["urn"] not in going and not is_root(each)]
    users = sorted({name_of(each["urn"]) for each in others if own & set(references(each))})
    return f"{some(users)} of the stack depends on it; fix: remove that from the stack file and run `up` first" if users else ""


def _stack_of(urn: str) -> str:
    return urn.split("::", 1)[0].rsplit(":", 1)[-1]
