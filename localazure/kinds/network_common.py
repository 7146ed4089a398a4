"""What the resources of Microsoft.Network have in common: how they look, how they name each other, and who uses whom.

Networks are kept and shown, and carry nothing: every process of this machine reaches every other.
"""

import hashlib
import uuid
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.kinds.network_refusals import missing_reference
from localazure.services import SUBSCRIPTION, Services

_NAMESPACE = uuid.UUID("5c1f7f3e-8f0e-5e0b-9f5b-0d8e6f3c2b11")  # of the ids below; chosen once
# azure-mgmt-network 30 and azure-cli 2.91, which ask at versions that the installed SDK doesn't have
LATER_VERSIONS = frozenset(
    {"2024-07-01", "2024-10-01", "2025-01-01", "2025-03-01", "2025-05-01", "2025-07-01", "2025-09-01", "2026-01-01"}
)


class NetworkKind(Kind):
    """A resource with an etag and a GUID. A PATCH changes tags.

    Made in the background and polled only by Azure-AsyncOperation, deleted with both addresses: networks, subnets, security
    groups and addresses in Test_MachineLearning_Workspaces_20240401_CRUD (2025-04-01) and Test_Compute_VM_20220301_CRUD
    (2024-12-13).
    """

    long_running = True
    long_running_delete = True
    states = MappingProxyType({"Creating": "Updating"})
    patches_tags_alone = True
    extra_api_versions = LATER_VERSIONS
    has_guid = True

    async def provision(self, change: Change) -> Body:  # noqa: ARG002
        return {}

    def live(self, resource: Resource, services: Services) -> Body:  # noqa: ARG002
        """What is shown beside what is stored, in the body's shape."""
        return {}

    def view(self, resource: Resource, services: Services) -> Body:
        body = merged(merged(resource.body, resource.service), self.live(resource, services))
        own: Body = {"provisioningState": self.states.get(resource.state, resource.state)}
        if self.has_guid:
            own["resourceGuid"] = guid(resource.id.key + resource.created_at)
        return {**body, "etag": etag(resource), "properties": {**body.get("properties", {}), **own}}


def etag(resource: Resource) -> str:
    return f'W/"{guid(resource.key + resource.changed_at)}"'


def guid(text: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, text))


def number(text: str, below: int) -> int:
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) % below


def check_reference(reference: Any, change: Change, arm_type: str) -> str:
    """The id in `{"id": …}`, whose resource has to be there; "" where nothing is given."""
    given = str((reference or {}).get("id") or "")
    if not given:
        return ""
    parsed = parse(given)
    if parsed is None or not parsed.is_type(arm_type) or parsed.subscription != SUBSCRIPTION:
        raise missing_reference(given, change.id.text)
    if change.services.store.get(parsed.key) is None:
        raise missing_reference(given, change.id.text)
    return given


def ids_in(value: object, name: str) -> Iterator[str]:
    """The ids of every `{name: {"id": …}}` in a body, in lower case."""
    if isinstance(value, list):
        for each in value:
            yield from ids_in(each, name)
    elif isinstance(value, dict):
        found = value.get(name)
        if isinstance(found, dict) and found.get("id"):
            yield str(found["id"]).lower()
        for each in value.values():
            yield from ids_in(each, name)


def users_of(key: str, name: str, services: Services, *, but: str = "") -> list[Resource]:
    """The network's resources that name the one with this key under `name`."""
    kinds = (
        azure_types.NETWORK_INTERFACE,
        azure_types.BASTION_HOST,
        azure_types.SUBNET,
        azure_types.PRIVATE_ENDPOINT,
    )
    return [
        resource
        for kind in kinds
        for resource in services.store.of_type(kind.arm_type)
        if resource.key != but and key in set(ids_in(resource.body, name))
    ]


def named(parts: list[Body], above: ArmId, kind: str) -> list[Body]:
    """Parts of a resource that have a name, with the id, the type and the state that the service gives them."""
    return [
        {
            **part,
            "id": f"{above.text}/{kind}/{part['name']}",
            "etag": f'W/"{guid(above.text + str(part["name"]))}"',
            "type": f"{above.type}/{kind}",
            "properties": {**part.get("properties", {}), "provisioningState": "Succeeded"},
        }
        for part in parts
    ]
