"""The instance metadata service of machines and of ML jobs' nodes, which gives their programs tokens of managed identities.

The address holds the machine's secret, in place of 169.254.169.254. Form: Microsoft Learn,
managed-identities-azure-resources/how-to-use-vm-token. Tokens are given for blob storage and Azure ML's endpoints, and for
Resource Manager to an identity with a role there, which may do what `kinds.rights` lets it; the rest is refused explicitly.
"""

import time
from collections.abc import Mapping
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localazure.arm.caller import Caller
from localazure.arm.store import Resource
from localazure.entra.tokens import LIFETIME_SECONDS
from localazure.kinds import attached_identities, rights
from localazure.services import Services

_AUDIENCES = ("https://storage.azure.com", "https://ml.azure.com")
SEVERAL = "Multiple user assigned identities exist, please specify the clientId / resourceId of the identity"
_WHO = ("client_id", "object_id", "principal_id", "msi_res_id", "mi_res_id")


class Identity(NamedTuple):
    """One that programs may have tokens of."""

    principal: str
    client: str
    resource_id: str


def held_by(resource: Resource | None, services: Services) -> list[Identity]:
    """A resource's identities: its own first, then those that it was given."""
    if resource is None:
        return []
    identity = resource.body.get("identity") or {}
    own = str((resource.service.get("identity") or {}).get("principalId") or "")
    own = own if "SystemAssigned" in identity.get("type", "") else ""
    given = [Identity(*attached_identities.ids_of(one, services), one) for one in identity.get("userAssignedIdentities") or {}]
    return [Identity(own, own, resource.id.text)] * bool(own) + [one for one in given if one.principal]


def metadata_variables(secret: str, services: Services) -> dict[str, str]:
    """By which a program gets tokens: the address takes the place of 169.254.169.254."""
    address = f"{services.settings.url}/machines/{secret}"
    return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": address, **authority_variables(services)}


def authority_variables(services: Services) -> dict[str, str]:
    """By which a program trusts this server's certificate; a real one trusts the public authorities."""
    return dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), str(services.settings.state / "ca-bundle.pem"))


def token(held: list[Identity], request: Request, services: Services) -> Response:
    if request.headers.get("metadata", "").lower() != "true":
        return _refused("invalid_request", "Required metadata header not specified")
    return issued(held, request.query_params, services)


def issued(held: list[Identity], query: Mapping[str, str], services: Services) -> Response:
    """The answer to a request for tokens of whoever has these."""
    resource = query.get("resource") or query.get("scope", "").removesuffix("/.default")
    if not resource:
        return _refused("invalid_request", "Required audience parameter not specified")
    found = named(held, next((query[name] for name in _WHO if query.get(name)), ""))
    if not found:
        return _refused("invalid_request", "Identity not found")
    if len(found) > 1:
        return _refused("invalid_request", SEVERAL)
    principal, client, _ = found[0]
    if not gives(resource, services) and not (
        resource.rstrip("/") == services.settings.url and rights.any_of(principal, services)
    ):
        return _refused("invalid_resource", f"The embedded Azure gives no token of a managed identity for {resource}.")
    now = int(time.time())
    body = {
        "access_token": services.tokens.issue(resource, Caller(object_id=principal, app_id=client)),
        "client_id": client,
        "expires_in": str(LIFETIME_SECONDS),
        "expires_on": str(now + LIFETIME_SECONDS),
        "ext_expires_in": str(LIFETIME_SECONDS),
        "not_before": str(now),
        "resource": resource,
        "token_type": "Bearer",
    }
    return JSONResponse(body, headers={"Cache-Control": "no-store"})


def named(held: list[Identity], chosen: str) -> list[Identity]:
    """Those that an id of any sort names; all of them for ""."""
    return [one for one in held if not chosen or chosen.lower() in (part.lower() for part in one)]


def gives(resource: str, services: Services) -> bool:
    """Whether managed identities get tokens for it here."""
    bare = resource.rstrip("/")
    return bare in _AUDIENCES or bare.startswith(f"{services.settings.url}/blob/") or ".blob.core.windows.net" in bare


def _refused(error: str, text: str) -> Response:
    return JSONResponse({"error": error, "error_description": text}, status_code=400)
