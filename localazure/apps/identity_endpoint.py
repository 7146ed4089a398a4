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
from localazure.machines import identity_tokens
from localazure.services import Services

API_VERSION = "2019-08-01"
_PATH = "/container-apps/msi/token"
_KEPT_AS = "identity_header"
_HEADER = "x-identity-header"


def variables(job: Resource, services: Services) -> dict[str, str]:
    """What a replica's containers find; nothing where the job has no identity."""
    if not job.body.get("identity"):
        return {}
    if _KEPT_AS not in job.private:
        job.private[_KEPT_AS] = random_secret()
        services.store.put(job)
    return {
        "IDENTITY_ENDPOINT": f"{services.settings.url}{_PATH}",
        "IDENTITY_HEADER": job.private[_KEPT_AS],
        **identity_tokens.authority_variables(services),
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
        return identity_tokens.issued(identity_tokens.held_by(job, services), request.query_params, services)

    return [Route(_PATH, token, methods=["GET"])]
