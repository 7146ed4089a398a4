"""Connections to an account that may be closed to public networks: a refusal of its network says so, in place of a missing role.

Storage answers 403 AuthorizationFailure (microsoft/AzureStorageExplorer issue 8504, 2025-03-03; a missing role is
AuthorizationPermissionMismatch). What Batch answers isn't shown anywhere; 403 is assumed, which a missing role is too.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from azure.core.exceptions import AzureError as AzureCoreError, ServiceRequestError
from azure.core.pipeline.transport import RequestsTransport

from azure_gpu.formats import azure_types
from azure_gpu.shared.polling import first_line
from azure_gpu_operations.azure import AzureError, session
from azure_gpu_operations.from_inside import BY_RULES, only, way_in

_NETWORK_VERSION = "2024-05-01"
_OF_NETWORK = "AuthorizationFailure"


class Reader(Protocol):
    """Lists of Resource Manager."""

    def values(self, path: str, api_version: str) -> Iterator[dict[str, Any]]: ...


class Transport(RequestsTransport):
    """`what`: the account in words. `role`: what a login needs there, for a service that refuses both with the same answer."""

    def __init__(self, reader: Reader, body: Mapping[str, Any], what: str, role: str = "") -> None:
        super().__init__(session=session(), session_owner=False)
        self._reader, self._id, self._what, self._role = reader, str(body.get("id") or ""), what, role
        self._only = only(body)

    def send(self, request: Any, **kwargs: Any) -> Any:
        try:
            answer = super().send(request, **kwargs)
        except ServiceRequestError as error:  # the same type, which is tried again
            if not self._only:
                raise
            raise ServiceRequestError(self._told(first_line(error)), error=error) from error
        code = str(answer.headers.get("x-ms-error-code") or "")
        if answer.status_code == 403 and self._only and (self._role or code == _OF_NETWORK):
            raise AzureError(self._told(code or "HTTP 403"), 403)
        return answer

    def _told(self, reason: str) -> str:
        role = f"; there, this login needs the role {self._role}" if self._role else ""
        fix = way_to(self._reader, self._id) + ("; or add this machine's address to the rules" if self._only == BY_RULES else "")
        return f"{self._what} answers only {self._only} ({reason}); fix: {fix}{role}"


def way_to(reader: Reader, resource_id: str) -> str:
    """The fix: with the subnet of a private endpoint in the resource's group, where one is found and may be read."""
    key, subnet = resource_id.lower(), ""
    path = f"{key.partition('/providers/')[0]}/providers/{azure_types.PRIVATE_ENDPOINT.arm_type}"
    try:
        for endpoint in reader.values(path, _NETWORK_VERSION):
            properties = endpoint.get("properties") or {}
            links = [each.get("properties") or {} for each in properties.get("privateLinkServiceConnections") or ()]
            if any(str(each.get("privateLinkServiceId")).lower() == key for each in links):
                subnet = str((properties.get("subnet") or {}).get("id") or "")
    except (AzureError, AzureCoreError):
        return way_in("")
    return way_in(subnet)
