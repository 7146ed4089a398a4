"""Containers as resources of ARM and of the data plane. ARM's store has all of them, created by either."""

import uuid
from collections.abc import Mapping

from azure_gpu.formats import arm_ids, azure_types
from localazure.arm.store import Body, Resource
from localazure.services import Services

_PUBLIC = {"container": "Container", "blob": "Blob"}  # x-ms-blob-public-access -> ARM's publicAccess
PUBLIC = "x-ms-blob-public-access"
_METADATA = "x-ms-meta-"


def container_key(account: Resource, container: str) -> str:
    """The key of a container's ARM id."""
    return f"{account.key}/blobservices/default/containers/{container}"


def after(operation: str, account: Resource, container: str, headers: Mapping[str, str], services: Services) -> None:
    """Records what an operation of the data plane that succeeded has changed of a container."""
    match operation:
        case "CreateContainer":
            made = {"publicAccess": _public(headers), "metadata": _metadata(headers)}
            record(account, container, {name: value for name, value in made.items() if value}, services)
        case "DeleteContainer":
            services.store.delete(container_key(account, container))
        case "SetContainerACL":
            _change(account, container, {"publicAccess": _public(headers)}, services)
        case "SetContainerMetadata":
            _change(account, container, {"metadata": _metadata(headers)}, services)


def record(account: Resource, container: str, properties: Body, services: Services) -> Resource:
    """Puts a container into ARM's store."""
    now = services.clock.stamp()
    parsed = arm_ids.parse(f"{account.id.text}/blobServices/default/containers/{container}")
    if parsed is None:
        raise ValueError(f"the account's id is none: {account.id.text!r}")
    service = created(now)
    resource = Resource(id=parsed, body={"properties": properties}, service=service, created_at=now, changed_at=now)
    services.store.put(resource)
    return resource


def created(now: str) -> Body:
    """What the service sets of a container. `now` as `Clock.stamp` spells it."""
    return {
        "etag": f'"{uuid.uuid4().hex[:16].upper()}"',
        "properties": {
            "lastModifiedTime": now,
            "leaseStatus": "Unlocked",
            "leaseState": "Available",
            "hasImmutabilityPolicy": False,
            "hasLegalHold": False,
            "legalHold": {"hasLegalHold": False, "tags": []},
            "deleted": False,
            "remainingRetentionDays": 0,
        },
    }


def headers_of(properties: Mapping[str, object]) -> dict[str, str]:
    """The data plane's headers for what ARM's body says of a container."""
    headers: dict[str, str] = {}
    public = str(properties.get("publicAccess") or "None")
    if public != "None":
        headers[PUBLIC] = public.lower()
    metadata = properties.get("metadata")
    if isinstance(metadata, dict):
        headers |= {f"{_METADATA}{name.lower()}": str(value) for name, value in metadata.items()}
    return headers


def of_account(account: Resource, services: Services) -> list[Resource]:
    return services.store.of_type(azure_types.BLOB_CONTAINER.arm_type, account.key)


def _change(account: Resource, container: str, properties: Body, services: Services) -> None:
    resource = services.store.get(container_key(account, container))
    if resource is None:
        record(account, container, properties, services)
        return
    resource.body["properties"] = {**resource.properties, **properties}
    resource.changed_at = services.clock.stamp()
    resource.service["properties"]["lastModifiedTime"] = resource.changed_at
    services.store.put(resource)


def _public(headers: Mapping[str, str]) -> str:
    return _PUBLIC.get(headers.get(PUBLIC, ""), "None")


def _metadata(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(_METADATA): value for name, value in headers.items() if name.startswith(_METADATA)}
