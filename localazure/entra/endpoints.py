"""Endpoints that a client uses before ARM: the cloud's metadata, OpenID discovery, signing keys, and tokens.

The documents are in `documents.json`; keys of the cloud's metadata are those that azure-cli 2.91 and azure-native 3.29 read.
Token errors have Entra's form and numbers. Source of the numbers: Microsoft Learn, identity-platform/reference-error-codes.
"""

import hmac
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from string import Template
from typing import NamedTuple
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.requests import content_of
from localazure.entra import federation
from localazure.entra.federation import Federated, FederationError, KeySet
from localazure.entra.identity import Identity
from localazure.entra.tokens import LIFETIME_SECONDS, Tokens
from localazure.lists import vm_images

CLOUD_NAME = "AzureLocal"
IMAGE_ALIASES = "/vm-image-aliases"
_SCOPES_OF_USERS = ("openid", "profile", "offline_access", "email")
_LIST_VERSION = "2019-05-01"  # until then the metadata was a list of clouds; later versions give one object


class Directory(NamedTuple):
    """The managed identities of the tenant, as far as a token of somebody else's issuer can stand for one."""

    federated: Callable[[str], Federated | None]  # by the client id
    key_set: Callable[[str], KeySet | None]  # of an issuer; None of one that can't be asked from here
    gives: Callable[[str], bool]  # whether managed identities get tokens for this audience
    now: Callable[[], datetime]


class Endpoints:
    """The routes of the tenant, and of the cloud's metadata."""

    def __init__(self, identity: Identity, tokens: Tokens, url: str, directory: Directory) -> None:
        self._identity = identity
        self._tokens = tokens
        self._directory = directory
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
        return JSONResponse(vm_images.aliases())

    async def discovery(self, request: Request) -> JSONResponse:
        if refusal := self._wrong_tenant(request):
            return refusal
        return JSONResponse(self._documents["discovery"])

    async def keys(self, request: Request) -> JSONResponse:
        return self._wrong_tenant(request) or JSONResponse(self._tokens.keys())

    async def token(self, request: Request) -> JSONResponse:
        """Client credentials, and nothing else: a client id, its secret or an assertion, and whom the token is for."""
        if refusal := self._wrong_tenant(request):
            return refusal
        try:
            form = dict(parse_qsl((await content_of(request)).decode("utf-8", errors="replace")))
        except ArmError as error:
            return _refused(error.status, "invalid_request", 90014, error.message)
        if form.get("grant_type") != "client_credentials":
            return _refused(
                400, "unsupported_grant_type", 70003, "Only the client_credentials grant is served by the embedded Azure."
            )
        if "client_assertion" in form:
            return self._federated(form)
        if form.get("client_id") != self._identity.client_id:
            return self._unknown(form)
        if not hmac.compare_digest(form.get("client_secret", "").encode(), self._identity.client_secret.encode()):
            return _refused(
                401, "invalid_client", 7000215, f"Invalid client secret provided for app '{self._identity.client_id}'."
            )
        audience = _audience(form.get("scope", "")) or form.get("resource", "")
        if not audience:
            return _refused(400, "invalid_request", 900144, "The request body must contain the parameter 'scope' or 'resource'.")
        return self._issued(audience)

    def _federated(self, form: dict[str, str]) -> JSONResponse:
        """The token of a managed identity for one of an issuer that it trusts."""
        identity = self._directory.federated(form.get("client_id", ""))
        if identity is None:
            return self._unknown(form)
        try:
            caller = federation.exchanged(form, identity, self._directory.key_set, self._directory.now())
        except FederationError as error:
            return _refused(error.status, error.error, error.number, error.text)
        audience = _audience(form.get("scope", "")) or form.get("resource", "")
        if not audience:
            return _refused(400, "invalid_request", 900144, "The request body must contain the parameter 'scope' or 'resource'.")
        if not self._directory.gives(audience):
            text = f"The embedded Azure gives no token of a managed identity for {audience}."
            return _refused(400, "invalid_resource", 500011, text)
        return self._issued(audience, caller)

    def _issued(self, audience: str, of: Caller | None = None) -> JSONResponse:
        token = {
            "token_type": "Bearer",
            "expires_in": LIFETIME_SECONDS,
            "ext_expires_in": LIFETIME_SECONDS,
            "access_token": self._tokens.issue(audience, of),
        }
        return JSONResponse(token, headers={"Cache-Control": "no-store"})

    def _unknown(self, form: dict[str, str]) -> JSONResponse:
        who = f"Application with identifier '{form.get('client_id', '')}'"
        text = f"{who} was not found in the directory '{self._identity.tenant_id}'."
        return _refused(400, "unauthorized_client", 700016, text)

    def _wrong_tenant(self, request: Request) -> JSONResponse | None:
        tenant = request.path_params["tenant"]
        if tenant.lower() == self._identity.tenant_id:
            return None
        return _refused(400, "invalid_request", 90002, f"Tenant '{tenant}' not found.")


def _audience(scope: str) -> str:
    """Whom the token is for. Clients made with MSAL for Go ask for a user's scopes too, which mean nothing to an application."""
    requested = [each for each in scope.split() if each not in _SCOPES_OF_USERS]
    return requested[0].removesuffix("/.default") if requested else ""


def _refused(status: int, error: str, number: int, text: str) -> JSONResponse:
    return JSONResponse(
        {"error": error, "error_description": f"AADSTS{number}: {text}", "error_codes": [number]}, status_code=status
    )
