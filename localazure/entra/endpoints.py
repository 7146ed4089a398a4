"""Endpoints that a client uses before ARM: the cloud's metadata, OpenID discovery, signing keys, and tokens.

The documents are in `documents.json`; keys of the cloud's metadata are those that azure-cli 2.91 and azure-native 3.29 read.
Token errors have Entra's form and numbers. Source of the numbers: Microsoft Learn, identity-platform/reference-error-codes.
"""

import hmac
import json
from collections.abc import Callable
from pathlib import Path
from string import Template
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from localazure.arm.errors import ArmError
from localazure.arm.requests import content_of
from localazure.entra import federation
from localazure.entra.federation import EntraError, KeySet
from localazure.entra.identity import Identity
from localazure.entra.tokens import LIFETIME_SECONDS
from localazure.kinds import federated_credentials
from localazure.lists import vm_publishers
from localazure.machines import identity_tokens
from localazure.services import Services

CLOUD_NAME = "AzureLocal"
IMAGE_ALIASES = "/vm-image-aliases"
_SCOPES_OF_USERS = ("openid", "profile", "offline_access", "email")
_LIST_VERSION = "2019-05-01"  # until then the metadata was a list of clouds; later versions give one object


class Endpoints:
    """The routes of the tenant, and of the cloud's metadata."""

    def __init__(self, identity: Identity, services: Services, key_set: Callable[[str], KeySet | None]) -> None:
        """`key_set`: of an issuer; None of one that can't be asked from here."""
        self._identity = identity
        self._services = services
        self._key_set = key_set
        url, tokens = services.settings.url, services.tokens
        # Every address in them is this server's own: nothing points outside of the machine.
        text = Path(__file__).with_name("documents.json").read_text(encoding="utf-8")
        words = {"url": url, "host": url.removeprefix("https://"), "tenant": identity.tenant_id, "issuer": tokens.issuer}
        self._documents = json.loads(Template(text).substitute(words, name=CLOUD_NAME))

    def routes(self) -> list[Route]:
        return [
            Route("/metadata/endpoints", self.metadata),
            Route(IMAGE_ALIASES, self.image_aliases),
            Route("/{tenant}/v2.0/.well-known/openid-configuration", self.discovery),
            Route("/{tenant}/.well-known/openid-configuration", self.discovery),
            Route("/{tenant}/discovery/v2.0/keys", self.keys),
            Route("/{tenant}/oauth2/v2.0/token", self.token, methods=["POST"]),
            Route("/{tenant}/oauth2/token", self.token, methods=["POST"]),
        ]

    async def metadata(self, request: Request) -> JSONResponse:
        cloud = self._documents["cloud"]
        return JSONResponse([cloud] if request.query_params.get("api-version") == _LIST_VERSION else cloud)

    async def image_aliases(self, request: Request) -> JSONResponse:  # noqa: ARG002
        return JSONResponse(vm_publishers.aliases())

    async def discovery(self, request: Request) -> JSONResponse:
        return self._refused_tenant(request) or JSONResponse(self._documents["discovery"])

    async def keys(self, request: Request) -> JSONResponse:
        return self._refused_tenant(request) or JSONResponse(self._services.tokens.keys())

    async def token(self, request: Request) -> JSONResponse:
        """Client credentials, and nothing else: a client id, its secret or an assertion, and whom the token is for."""
        if refusal := self._refused_tenant(request):
            return refusal
        try:
            form = dict(parse_qsl((await content_of(request)).decode("utf-8", errors="replace")))
            issued = self._issued(form)
        except ArmError as error:
            return _refused(EntraError(90014, why=error.message))
        except EntraError as error:
            return _refused(error)
        token = {
            "token_type": "Bearer",
            "expires_in": LIFETIME_SECONDS,
            "ext_expires_in": LIFETIME_SECONDS,
            "access_token": issued,
        }
        return JSONResponse(token, headers={"Cache-Control": "no-store"})

    def _issued(self, form: dict[str, str]) -> str:
        """The token that a form requests."""
        if form.get("grant_type") != "client_credentials":
            raise EntraError(70003)
        client, caller = form.get("client_id", ""), None
        is_federated = "client_assertion" in form
        found = federated_credentials.federated(client, self._services) if is_federated else None
        if found is None and (is_federated or client != self._identity.client_id):
            raise EntraError(700016, client=client, tenant=self._identity.tenant_id)
        if found is not None:
            caller, trusted = found
            federation.check(form, trusted, self._key_set, self._services.clock.now())
        elif not hmac.compare_digest(form.get("client_secret", "").encode(), self._identity.client_secret.encode()):
            raise EntraError(7000215, client=client)
        audience = _audience(form.get("scope", "")) or form.get("resource", "")
        if not audience:
            raise EntraError(900144, what="'scope' or 'resource'")
        if caller is not None and not identity_tokens.gives(audience, self._services):
            raise EntraError(500011, audience=audience)
        return self._services.tokens.issue(audience, caller)

    def _refused_tenant(self, request: Request) -> JSONResponse | None:
        tenant = request.path_params["tenant"]
        return None if tenant.lower() == self._identity.tenant_id else _refused(EntraError(90002, tenant=tenant))


def _audience(scope: str) -> str:
    """Whom the token is for. Clients made with MSAL for Go ask for a user's scopes too, which mean nothing to an application."""
    requested = [each for each in scope.split() if each not in _SCOPES_OF_USERS]
    return requested[0].removesuffix("/.default") if requested else ""


def _refused(error: EntraError) -> JSONResponse:
    told = {"error": error.error, "error_description": f"AADSTS{error.number}: {error.text}", "error_codes": [error.number]}
    return JSONResponse(told, status_code=error.status)
