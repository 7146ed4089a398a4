"""Authenticates requests to the data plane: by the account's shared key, or by a token of Microsoft Entra ID.

BatchError for anybody else, and for everybody outside of the network of an account without public access (Microsoft Learn,
batch/public-network-access, 2024-06-13; code and words are assumed). The signature and the fifteen minutes that a signed request
lives: Microsoft Learn, rest/api/batchservice/authenticate-requests-to-the-azure-batch-service.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import parse_qs

from starlette.requests import Request

from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.arm.store import Resource
from localazure.batch.errors import BatchError
from localazure.blobs.shared_key import SIGNED_HEADERS, is_signed_by
from localazure.kinds.batch_account_rules import AUTHENTICATION_MODES
from localazure.services import Services
from localazure.weather import reach

LIFETIME = timedelta(minutes=15)
BATCH_RESOURCE = "https://batch.core.windows.net"
_NO_KEYS = Caller("", "")  # who knows a key is nobody in particular


def audiences(url: str) -> tuple[str, ...]:
    """Whom a token for Batch is meant for: the public cloud's Batch, and this one's, which the metadata name."""
    return tuple(f"{each}{slashes}" for each in (BATCH_RESOURCE, f"{url}/batch") for slashes in ("", "/", "//"))


def caller_of(request: Request, account: Resource | None, services: Services) -> Caller:
    """The caller. BatchError 400, 401 or 403. An account that doesn't exist is only told to whom has a token."""
    if account is not None and reach.is_shut(account, services):
        raise BatchError("AuthorizationFailure", "The account is closed to public networks.", status=403)
    authorization = request.headers.get("authorization", "")
    scheme, _, rest = authorization.partition(" ")
    match scheme.lower():
        case "sharedkey":
            _check_mode(account, "SharedKey")
            _check_shared_key(request, rest.strip(), account, services)
            return _NO_KEYS
        case "bearer":
            return _by_token(authorization, account, services)
        case "":
            raise _unauthorized(services, "The Authorization header is missing.")
        case _:
            raise BatchError("InvalidAuthenticationInfo", values={"Reason": "The scheme has to be SharedKey or Bearer"})


def string_to_sign(method: str, raw_path: str, raw_query: str, headers: Iterable[tuple[str, str]], account: str) -> str:
    """What a client signs. Names in the query stay as they were written, as Azure's own clients have them."""
    given = {name.lower(): value for name, value in headers}
    if method not in ("GET", "HEAD"):
        given.setdefault("content-length", "0")
    if "ocp-date" in given:
        given["date"] = ""
    lines = [method, *(given.get(name, "") for name in SIGNED_HEADERS)]
    lines += [f"{name}:{value}" for name, value in sorted(given.items()) if name.startswith("ocp-") and value]
    lines.append(f"/{account}{raw_path}")
    query = parse_qs(raw_query)
    lines += [f"{name}:{query[name][0]}" for name in sorted(query) if query[name][0]]
    return "\n".join(lines)


def _check_shared_key(request: Request, credential: str, account: Resource | None, services: Services) -> None:
    name, colon, given = credential.rpartition(":")
    if not colon or not name or not given:
        raise BatchError("InvalidAuthenticationInfo", values={"Reason": "The header has to be SharedKey ACCOUNT:SIGNATURE"})
    if account is None or name.lower() != account.id.name.lower():
        raise _failed("The account of the signature is not the account of the address")
    _check_date(request, services.clock.now())
    names = [name.decode("latin-1").lower() for name, _ in request.scope["headers"]]
    for name in {name for name in names if names.count(name) > 1}:
        if name in SIGNED_HEADERS or name.startswith("ocp-"):  # the signature covers one of the two
            raise BatchError("InvalidHeaderValue", values={"HeaderName": name, "Reason": "It stands there twice"})
    raw_path = request.scope["raw_path"].decode("latin-1").partition("?")[0]
    text = string_to_sign(
        request.method, raw_path, request.scope["query_string"].decode("latin-1"), request.headers.items(), name
    )
    if not is_signed_by((account.private.get("keys") or {}).values(), text, given):
        raise _failed("The MAC signature found in the HTTP request is not the same as any computed signature")


def _check_date(request: Request, now: datetime) -> None:
    text = request.headers.get("ocp-date") or request.headers.get("date", "")
    if not text:
        raise BatchError("MissingRequiredHeader", "A required HTTP header was not specified.", values={"HeaderName": "ocp-date"})
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError) as error:
        raise BatchError("InvalidHeaderValue", values={"HeaderName": "ocp-date", "HeaderValue": text[:100]}) from error
    if abs(now - (moment if moment.tzinfo else moment.replace(tzinfo=UTC))) > LIFETIME:
        raise _failed(f"The date header of the request is more than 15 minutes from the time of the server: '{text[:100]}'")


def _by_token(authorization: str, account: Resource | None, services: Services) -> Caller:
    try:
        caller = services.tokens.check(authorization, audiences(services.settings.url))
    except ArmError as error:
        raise _unauthorized(services, f"{error.code}: {error.message}") from error
    if account is None:
        raise BatchError("ResourceNotFound", "The specified account does not exist.", status=404)
    _check_mode(account, "AAD")
    return caller


def _check_mode(account: Resource | None, mode: str) -> None:
    said = account.properties.get("allowedAuthenticationModes") if account else None
    allowed = AUTHENTICATION_MODES if said is None else said
    if mode.lower() not in {each.lower() for each in allowed}:
        raise _failed(f"The account does not allow the authentication mode '{mode}'; it allows {', '.join(allowed) or 'none'}")


def _failed(detail: str) -> BatchError:
    return BatchError("AuthenticationFailed", values={"AuthenticationErrorDetail": detail})


def _unauthorized(services: Services, detail: str) -> BatchError:
    authority = f"{services.settings.url}/{services.settings.tenant_id}"
    challenge = f'Bearer authorization_uri="{authority}", resource_id="{BATCH_RESOURCE}/"'
    return BatchError(
        "AuthenticationFailed",
        status=401,
        values={"AuthenticationErrorDetail": detail},
        headers={"WWW-Authenticate": challenge},
    )
