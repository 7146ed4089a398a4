"""Responses as ARM writes them, and stored resources as GET shows them."""

import json
from collections.abc import Iterable
from typing import Any

from starlette.responses import Response

from localazure import shapes
from localazure.arm import requested_version
from localazure.arm.errors import ArmError
from localazure.arm.kind import Kind
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities
from localazure.services import Services


def document(kind: Kind, resource: Resource, services: Services) -> Body:
    """The resource with id, name and type, with its provisioning state where the type has one, and without secrets."""
    body = kind.view(resource, services)
    if "has_identity" in kind.row:
        body = attached_identities.shown(body, services)
    body = without_secrets(kind, body)
    if kind.shows_state:
        state = kind.states.get(resource.state, resource.state)
        body["properties"] = {"provisioningState": state, **body.get("properties", {})}
    if kind.has_system_data:
        body["systemData"] = _system_data(resource, services)
    version = requested_version.current()
    if version not in ("", shapes.default_api_version(kind.azure_type)):
        body = shapes.without_other_versions(shapes.arm_shape(kind.azure_type), body, version)
    return {"id": resource.id.text, "name": resource.id.name, "type": kind.arm_type, **body}


def _system_data(resource: Resource, services: Services) -> Body:
    """Who made it and changed it last, and when."""
    by = services.settings.client_id
    return {
        "createdAt": resource.created_at,
        "createdBy": by,
        "createdByType": "Application",  # the token's kind: a service principal's, as in Test_KeyVault_WhenPurgeSpecified
        "lastModifiedAt": resource.changed_at,
        "lastModifiedBy": by,
        "lastModifiedByType": "Application",
    }


def without_secrets(kind: Kind, body: Body) -> Body:
    return shapes.without_secrets(shapes.arm_shape(kind.azure_type), kind.hidden(body))


def respond(status: int, body: Any = None, headers: dict[str, str] | None = None) -> Response:
    """`body` as JSON; None is an empty answer."""
    if body is None:
        return Response(status_code=status, headers=headers)
    content = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode("utf-8", errors="backslashreplace")
    return Response(content, status, headers, media_type="application/json")


def listed(items: Iterable[Body]) -> Response:
    """A list; it is always one page."""
    return respond(200, {"value": list(items)})


def refused(error: ArmError) -> Response:
    return respond(error.status, error.body(), error.headers)
