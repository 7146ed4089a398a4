"""What the resources of Microsoft.Network have in common: their looks, their names, who uses whom.

Networks are kept and shown, and carry nothing: every process of this machine reaches every other.
"""

from collections.abc import Iterator

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from azure_gpu.formats.azure_types import AzureType
from localazure import evidence
from localazure.arm.errors import refused
from localazure.arm.kind import Change, merged
from localazure.arm.store import Body, Resource
from localazure.arm.words import guid
from localazure.services import Services


def etag(resource: Resource) -> str:
    return f'W/"{guid(resource.key + resource.changed_at)}"'


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


def keep_members(change: Change, name: str, azure_type: AzureType) -> None:
    """Stores what a body lists under `name` as separate resources, in place of those there were. Without a list they stay."""
    given = change.body["properties"].pop(name, None)
    if given is None:
        return
    store, now = change.services.store, change.services.clock.stamp()
    defaults = evidence.types()[azure_type.arm_type]["defaults"]["properties"]
    with store.together():
        gone = {each.key: each for each in store.of_type(azure_type.arm_type, change.id.key)}
        for part in given:
            part_id = parse(f"{change.id.text}/{name}/{part['name']}")
            if part_id is None:
                raise refused("network: member name", type=azure_type.arm_type, path=f"properties.{name}")
            before = gone.pop(part_id.key, None)
            body = {"properties": merged(defaults, part.get("properties") or {})}
            created = before.created_at if before else now
            store.put(Resource(id=before.id if before else part_id, body=body, created_at=created, changed_at=now))
        for key in gone:
            store.delete(key)


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
