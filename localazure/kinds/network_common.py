"""What the resources of Microsoft.Network have in common: their looks, their names, who uses whom.

Networks are kept and shown, and carry nothing: every process of this machine reaches every other.
"""

from collections.abc import Iterator

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
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
