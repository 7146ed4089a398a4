"""Authorizes requests for blobs: tokens with roles, account keys, shared access signatures, and public access where it is open.

The result is a `Grant`, or a BlobError in the service's words. Codes: Microsoft Learn,
rest/api/storageservices/authorize-with-azure-active-directory and common-rest-api-error-codes; which of them answers a request
without any authorization: storage/blobs/anonymous-read-access-prevent.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import NamedTuple

from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError
from localazure.arm.store import Resource
from localazure.blobs import sas, shared_key
from localazure.blobs.addresses import Address
from localazure.blobs.containers import container_key
from localazure.blobs.errors import BlobError, blob_error
from localazure.blobs.operations import GRANTING, RBAC, Operation
from localazure.kinds.roles import has_role
from localazure.services import Services
from localazure.weather import reach

AUDIENCE = "https://storage.azure.com"
_OLDEST_WITH_TOKENS = "2017-11-09"
_OLDEST_WITH_CHALLENGE = "2019-12-12"


class Incoming(NamedTuple):
    """A request as far as it matters for who may."""

    method: str
    raw_path: str
    raw_query: str
    headers: Mapping[str, str]  # by lower-case name
    address: Address
    query: Mapping[str, str]
    client: str  # the address that it comes from
    version: str  # of the service's API: `x-ms-version`; ""


class Grant(NamedTuple):
    """What was allowed."""

    new_blobs_alone: bool = False  # a signature that lets create and not write: what is there stays as it is
    answer_headers: Mapping[str, str] = {}  # what a signature sets of the answer to a read


_ANSWER_HEADERS = {
    "rscc": "cache-control",
    "rscd": "content-disposition",
    "rsce": "content-encoding",
    "rscl": "content-language",
    "rsct": "content-type",
}


class Access:
    """Validates requests by the store's accounts, containers and role assignments as they are now."""

    def __init__(self, services: Services, secret: str) -> None:
        self._services = services
        self._secret = secret

    def account(self, name: str) -> Resource:
        found = self._services.store.named(azure_types.STORAGE_ACCOUNT.arm_type, name)
        if not found or found[0].state == "Deleting":
            raise BlobError(404, "ResourceNotFound", f"The specified resource does not exist: no storage account '{name}'.")
        return found[0]

    def grant(self, request: Incoming, operation: Operation) -> Grant:
        """BlobError where the request may not do the operation."""
        account = self.account(request.address.account)
        if reach.is_shut(account, self._services):
            raise blob_error("AuthorizationFailure")
        authorization = request.headers.get("authorization", "")
        scheme = authorization.partition(" ")[0].lower()
        if "sig" in request.query:
            if authorization:
                both = "A request carries an Authorization header or a signature in its address, not both."
                raise blob_error("InvalidAuthenticationInfo", detail=both)
            return self._by_signature(request, operation, account)
        if scheme == "bearer":
            return self._by_token(request, operation, account)
        if scheme == shared_key.SCHEME.lower():
            keys = self._keys(account)
            now = self._services.clock.now()
            parts = (request.method, request.raw_path, request.raw_query, request.headers)
            shared_key.check(authorization, request.address.account, keys, *parts, now)
            return Grant()
        if authorization:
            unknown = f"Authentication scheme {authorization.partition(' ')[0][:40]} is not supported."
            raise blob_error("InvalidAuthenticationInfo", detail=unknown)
        return self._public(request, operation, account)

    def principal_may(self, principal: str, action: str, account: Resource, container: str) -> bool:
        """Whether a role lets the principal do it; in calm weather our service principal may all but what faults forbid."""
        if principal == self._services.settings.principal_id:
            forbidden = {name.lower() for name in self._services.deviations.forbidden()}
            if f"{RBAC}{action}".lower() in forbidden or not self._services.weather.holds("owner-without-data"):
                return f"{RBAC}{action}".lower() not in forbidden
        scope = container_key(account, container) if container else account.key
        return has_role(self._services, principal, GRANTING.get(action, ()), scope)

    def own_key(self, account: str) -> str:
        """The key by which this server itself signs addresses of an account, so that they hold where it takes no keys too."""
        return base64.b64encode(hmac.digest(self._secret.encode(), account.encode(), hashlib.sha256)).decode("ascii")

    # Ways in

    def _by_token(self, request: Incoming, operation: Operation, account: Resource) -> Grant:
        if request.version < _OLDEST_WITH_TOKENS:
            raise blob_error("InvalidAuthenticationInfo", detail="Authentication scheme Bearer is not supported in this version.")
        principal = self._principal(request)
        if not self.principal_may(principal, operation.action, account, request.address.container):
            raise blob_error("AuthorizationPermissionMismatch")
        return Grant()

    def _principal(self, request: Incoming) -> str:
        own = f"{self._services.settings.url}/blob/{request.address.account}"
        public = f"https://{request.address.account}.blob.core.windows.net"
        audiences = [f"{each}{end}" for each in (AUDIENCE, own, public) for end in ("", "/")]
        try:
            return self._services.tokens.check(request.headers.get("authorization", ""), audiences).object_id
        except ArmError as error:
            raise BlobError(
                401,
                "InvalidAuthenticationInfo",
                "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.",
                detail=error.message,
                headers=self._challenge(),
            ) from error

    def _by_signature(self, request: Incoming, operation: Operation, account: Resource) -> Grant:
        given = dict(request.query)
        if not sas.is_signed_by(self.own_key(request.address.account), given, request.address):
            sas.check_signature(given, request.address, self._keys(account))
        signed = sas.signed(given, request.client, self._services.clock.now())
        self._check_reach(signed, operation)
        answer = {header: given[name] for name, header in _ANSWER_HEADERS.items() if name in given and operation.reads_blob}
        return Grant(operation.creates and "w" not in signed.letters, answer)

    def _check_reach(self, signed: sas.Signed, operation: Operation) -> None:
        if signed.resource_types:
            if operation.name == "GetAccountInformation":
                return
            if operation.resource_type not in signed.resource_types or not operation.account_letters:
                raise blob_error("AuthorizationResourceTypeMismatch")
            letters = operation.account_letters
        else:
            letters = operation.service_letters
            if operation.on_container and not signed.on_container:
                raise blob_error("AuthorizationPermissionMismatch")
        if not set(letters) & set(signed.letters):
            raise blob_error("AuthorizationPermissionMismatch")

    def _public(self, request: Incoming, operation: Operation, account: Resource) -> Grant:
        """Anonymous reads, where account and container are open for them."""
        opened = account.properties.get("allowBlobPublicAccess") is True
        container = self._services.store.get(container_key(account, request.address.container)) if opened else None
        access = str(container.properties.get("publicAccess") or "None") if container is not None else "None"
        listing = ("ListBlobs", "GetContainerProperties", "GetContainerMetadata")
        if operation.reads_blob and access in ("Blob", "Container"):
            return Grant()
        if operation.name in listing and access == "Container":
            return Grant()
        if request.version >= _OLDEST_WITH_CHALLENGE:
            raise blob_error("NoAuthenticationInformation", headers=self._challenge())
        if request.method in ("GET", "HEAD") and not opened:
            raise blob_error("PublicAccessNotPermitted")
        raise blob_error("ResourceNotFound")

    def _keys(self, account: Resource) -> list[str]:
        if account.properties.get("allowSharedKeyAccess") is False:
            raise blob_error("KeyBasedAuthenticationNotPermitted")
        return [str(key["value"]) for key in account.private["keys"].values()]

    def _challenge(self) -> dict[str, str]:
        settings = self._services.settings
        authority = f"{settings.url}/{settings.tenant_id}/oauth2/authorize"
        return {"WWW-Authenticate": f"Bearer authorization_uri={authority} resource_id={AUDIENCE}"}
