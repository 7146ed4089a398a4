"""The instance metadata service of machines and of ML jobs' nodes, which gives their programs tokens of managed identities.

The address holds the machine's secret, in place of 169.254.169.254. Form: Microsoft Learn,
managed-identities-azure-resources/how-to-use-vm-token. Tokens are given for blob storage and Azure ML's endpoints, and for
Resource Manager to an identity with a role there, which may do what `kinds.rights` lets it; the rest is refused explicitly.
"""

import time
from collections.abc import Mapping
from typing import Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from localazure.arm.caller import Caller
from localazure.entra.tokens import LIFETIME_SECONDS
from localazure.kinds import rights
from localazure.services import Services

_AUDIENCES = ("https://storage.azure.com", "https://ml.azure.com")
SEVERAL = "Multiple user assigned identities exist, please specify the clientId / resourceId of the identity"
_WHO = ("client_id", "object_id", "principal_id", "msi_res_id", "mi_res_id")


class Holder(Protocol):
    """What has identities."""

    def principals(self, services: Services) -> list[tuple[str, str, str]]:
        """Of each: principal, client id, resource id."""
        ...


def token(holder: Holder, request: Request, services: Services) -> Response:
    if request.headers.get("metadata", "").lower() != "true":
        return _refused("invalid_request", "Required metadata header not specified")
    return issued(holder, request.query_params, services)


def issued(holder: Holder, query: Mapping[str, str], services: Services) -> Response:
    """The answer to a request for this holder's tokens."""
    resource = query.get("resource") or query.get("scope", "").removesuffix("/.default")
    if not resource:
        return _refused("invalid_request", "Required audience parameter not specified")
    found = named(holder, next((query[name] for name in _WHO if query.get(name)), ""), services)
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


def named(holder: Holder, chosen: str, services: Services) -> list[tuple[str, str, str]]:
    """The holder's identities that an id of any sort names; all of them for ""."""
    return [one for one in holder.principals(services) if not chosen or chosen.lower() in (part.lower() for part in one)]


def gives(resource: str, services: Services) -> bool:
    """Whether managed identities get tokens for it here."""
    bare = resource.rstrip("/")
    return bare in _AUDIENCES or bare.startswith(f"{services.settings.url}/blob/") or ".blob.core.windows.net" in bare


def _refused(error: str, text: str) -> Response:
    return JSONResponse({"error": error, "error_description": text}, status_code=400)
