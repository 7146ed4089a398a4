"""The identity endpoint of Container Apps, which gives a job's replicas tokens of the job's identities.

A request has a header whose value the replica was given. Form: Microsoft Learn, container-apps/managed-identity, REST endpoint
reference: IDENTITY_ENDPOINT, IDENTITY_HEADER, api-version 2019-08-01. Tokens are given for what `identity_tokens` gives them for.
"""

import hmac

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from localazure.arm.store import Resource
from localazure.folder import random_secret
from localazure.kinds import attached_identities
from localazure.machines import identity_tokens
from localazure.services import Services

API_VERSION = "2019-08-01"
_PATH = "/container-apps/msi/token"
_KEPT_AS = "identity_header"
_HEADER = "x-identity-header"


class Holder:
    """A job's identities."""

    def __init__(self, job: Resource) -> None:
        self._job = job

    def principals(self, services: Services) -> list[tuple[str, str, str]]:
        identity = self._job.body.get("identity") or {}
        own = str((self._job.service.get("identity") or {}).get("principalId") or "")
        own = own if "SystemAssigned" in identity.get("type", "") else ""
        given = [(*attached_identities.ids_of(one, services), one) for one in identity.get("userAssignedIdentities") or {}]
        return [(own, own, self._job.id.text)] * bool(own) + [one for one in given if one[0]]


def variables(job: Resource, services: Services) -> dict[str, str]:
    """What a replica's containers find; nothing where the job has no identity. The two for certificates are this server's own: a
    real replica trusts the public authorities."""
    if not job.body.get("identity"):
        return {}
    if _KEPT_AS not in job.private:
        job.private[_KEPT_AS] = random_secret()
        services.store.put(job)
    bundle = str(services.settings.state / "ca-bundle.pem")
    return {
        "IDENTITY_ENDPOINT": f"{services.settings.url}{_PATH}",
        "IDENTITY_HEADER": job.private[_KEPT_AS],
        "SSL_CERT_FILE": bundle,
        "REQUESTS_CA_BUNDLE": bundle,
    }


def routes(job_type: str, services: Services) -> list[BaseRoute]:
    async def token(request: Request) -> Response:
        given = request.headers.get(_HEADER, "")
        jobs = services.store.of_type(job_type)
        job = next((each for each in jobs if hmac.compare_digest(each.private.get(_KEPT_AS, "\0"), given)), None)
        if job is None:
            return JSONResponse({"statusCode": 401, "message": "The X-IDENTITY-HEADER is missing or wrong."}, status_code=401)
        if request.query_params.get("api-version") != API_VERSION:
            return JSONResponse({"statusCode": 400, "message": f"api-version has to be {API_VERSION}."}, status_code=400)
        return identity_tokens.issued(Holder(job), request.query_params, services)

    return [Route(_PATH, token, methods=["GET"])]
