"""A deployment and its operations as ARM answers them. Values of secure parameters and outputs are in no answer.

Form: REST reference of Microsoft.Resources 2025-04-01, "Deployments" and their operations.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_template import Expanded, Output, hashes
from localazure.arm.errors import not_implemented
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.services import Services

TYPE = azure_types.DEPLOYMENT.arm_type
ACTIVE = ("Accepted", "Running")

_TYPES = {"string": "String", "securestring": "SecureString", "int": "Int", "bool": "Bool", "object": "Object",
          "secureobject": "SecureObject", "array": "Array"}  # fmt: skip


class Deployments(Kind):
    """A record of a deployment, of which the resources that it has made know nothing. It goes with its resource group.

    `routes` answers for it: its requests hold a template that is not always JSON, and its answers are not what was sent.
    """

    azure_type = azure_types.DEPLOYMENT
    location = "none"
    patchable = False

    def __init__(self, resume: Callable[[Resource], Awaitable[None]]) -> None:
        self._resume = resume

    def check(self, change: Change) -> None:  # noqa: ARG002
        raise not_implemented("a deployment as a resource in a request of another type")

    async def resume_action(self, action: str, resource: Resource, services: Services) -> None:  # noqa: ARG002
        await self._resume(resource)

    def view(self, resource: Resource, services: Services) -> Body:  # noqa: ARG002
        tags = {"tags": resource.tags} if resource.tags else {}
        return {**tags, "properties": resource.service.get("properties", {})}


def described(expanded: Expanded, template: Any, mode: str) -> Body:
    """What is known of a deployment as soon as its template is: the beginning of its properties."""
    return {
        "templateHash": hashes.template_hash(template),
        "parameters": {
            name: _value(expanded.parameter_types[name], value, name in expanded.secure_parameters)
            for name, value in expanded.parameters.items()
        },
        "mode": mode,
        "debugSetting": None,
        "providers": _providers(expanded),
        "dependencies": _dependencies(expanded),
    }


def outputs(given: Mapping[str, Output]) -> Body:
    return {name: _value(output.type, output.value, output.secure) for name, output in given.items()}


def _value(kind: str, value: Any, secure: bool) -> Body:
    shown = {"type": _TYPES.get(kind.lower(), kind)}
    return shown if secure else {**shown, "value": value}


def _providers(expanded: Expanded) -> list[Body]:
    by_namespace: dict[str, dict[str, str | None]] = {}
    for resource in expanded.resources:
        namespace, _, kind = resource.type.partition("/")
        location = resource.body.get("location")
        by_namespace.setdefault(namespace, {})[kind] = location if isinstance(location, str) else None
    return [
        {
            "namespace": namespace,
            "resourceTypes": [{"resourceType": kind, "locations": [location]} for kind, location in kinds.items()],
        }
        for namespace, kinds in by_namespace.items()
    ]


def _dependencies(expanded: Expanded) -> list[Body]:
    by_key = {resource.key: _target(resource.id, resource.type, resource.name) for resource in expanded.resources}
    return [
        {"dependsOn": [by_key[key] for key in resource.depends_on], **by_key[resource.key]}
        for resource in expanded.resources
        if resource.depends_on
    ]


def _target(resource_id: str, kind: str, name: str) -> Body:
    return {"id": resource_id, "resourceType": kind, "resourceName": name}


# Operations


def operation(deployment: Resource, step: Body) -> Body:
    """One operation, as the list of a deployment's operations shows it."""
    parsed = arm_ids.parse(step["resource"]) if step["resource"] else None
    target = {"targetResource": _target(parsed.text, parsed.type, parsed.name)} if parsed else {}
    ended = {"statusCode": step["status_code"]} if "status_code" in step else {}
    message = {"statusMessage": {"status": "Failed", "error": step["error"]}} if "error" in step else {}
    return {
        "id": f"{deployment.id.text}/operations/{step['id']}",
        "operationId": step["id"],
        "properties": {
            "provisioningOperation": step["what"],
            "provisioningState": step["state"],
            "timestamp": step["timestamp"],
            "duration": step.get("duration", "PT0S"),
            "trackingId": step["id"],
            **ended,
            **message,
            **target,
        },
    }
