"""Workload identity federation: exchanges a token of another issuer for one of a user-assigned identity.

`FederationError` has Entra's number and words.

The flow: Microsoft Learn, entra/workload-id/workload-identity-federation. Where users read the words: 700211 and 700213 in
Azure/azure-workload-identity issue 1200, 7002138 in Azure/login issue 515, 700024 in risingwavelabs/risingwave issue 17123,
7000272 in Azure/azure-workload-identity issue 1232, 50166 in its issue 1130. Assumed are the words of 700212, which follow those
of its neighbours, and of 50027; that a wrong signature is told as a key that doesn't exist; and the order of the checks.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import jwt

from localazure.arm.caller import Caller

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ALGORITHMS = ["RS256"]
_REQUIRED_CLAIMS = ["iss", "sub", "aud", "exp"]
_SKEW = timedelta(minutes=5)  # of clocks that Entra puts up with; assumed
_LOOK = (
    "Check your federated identity credential Subject, Audience and Issuer against the presented assertion. "
    "https://learn.microsoft.com/entra/workload-id/workload-identity-federation"
)

KeySet = Mapping[str, Any]


class FederationError(Exception):
    """Why there is no token."""

    def __init__(self, number: int, text: str, *, status: int = 401, error: str = "invalid_client") -> None:
        super().__init__(text)
        self.number, self.text, self.status, self.error = number, text, status, error


class Credential(NamedTuple):
    """A federated credential: whose tokens stand for the identity."""

    issuer: str
    subject: str
    audience: str


class Federated(NamedTuple):
    """An identity, and what it trusts."""

    caller: Caller
    credentials: tuple[Credential, ...]


def exchanged(form: Mapping[str, str], identity: Federated, key_set: Callable[[str], KeySet | None], now: datetime) -> Caller:
    """Whom the token is for. `key_set`: of an issuer that can be asked, None of any other."""
    if form.get("client_assertion_type") != ASSERTION_TYPE:
        text = f"The request body must contain the parameter 'client_assertion_type' with the value '{ASSERTION_TYPE}'."
        raise FederationError(900144, text, status=400, error="invalid_request")
    assertion = form.get("client_assertion", "")
    claims = _claims(assertion)
    issuer = _matched(claims, identity.credentials)
    keys = key_set(issuer)
    if keys is None:
        raise FederationError(50166, "Request to External OIDC endpoint failed.", status=400, error="invalid_request")
    _check_signature(assertion, issuer, keys)
    _check_time(claims, now)
    return identity.caller


def _claims(assertion: str) -> dict[str, Any]:
    """As they are written; nothing vouches for them yet."""
    try:
        return jwt.decode(assertion, options={"verify_signature": False, "require": _REQUIRED_CLAIMS})
    except jwt.PyJWTError as error:
        raise _malformed() from error


def _malformed() -> FederationError:
    return FederationError(50027, "JWT token is invalid or malformed.", status=400, error="invalid_request")


def _matched(claims: Mapping[str, Any], credentials: tuple[Credential, ...]) -> str:
    """The issuer, where one credential names it with the subject and the audience. All three are compared letter by letter."""
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    audiences = [claims["aud"]] if isinstance(claims["aud"], str) else list(claims["aud"])
    of_issuer = [each for each in credentials if each.issuer == issuer]
    if not of_issuer:
        raise _no_match(700211, f"issuer '{issuer}'")
    of_audience = [each for each in of_issuer if each.audience in audiences]
    if not of_audience:
        raise _no_match(700212, f"audience '{', '.join(map(str, audiences))}'")
    if any(each.subject == subject for each in of_audience):
        return issuer
    if any(each.subject.lower() == subject.lower() for each in of_audience):
        almost = "The subject matches with case-insensitive comparison, but not with case-sensitive comparison. "
        raise _no_match(7002138, f"subject '{subject}'", almost)
    raise _no_match(700213, f"subject '{subject}'")


def _no_match(number: int, what: str, beside: str = "") -> FederationError:
    text = f"No matching federated identity record found for presented assertion {what}. {beside}{_LOOK}"
    return FederationError(number, text)


def _check_signature(assertion: str, issuer: str, keys: KeySet) -> None:
    name = str(jwt.get_unverified_header(assertion).get("kid") or "")
    try:
        key = jwt.PyJWKSet.from_dict(dict(keys))[name].key
        jwt.api_jws.decode(assertion, key, algorithms=_ALGORITHMS)  # claims are looked at by others
    except (jwt.PyJWTError, KeyError) as error:
        text = (
            f"The certificate with identifier {name} used to sign the federated credential could not be found in the metadata of "
            f"identity provider {issuer}. Please validate that your Identity Provider's metadata exposes the key used to sign "
            "the incoming token."
        )
        raise FederationError(7000272, text) from error


def _check_time(claims: Mapping[str, Any], now: datetime) -> None:
    try:
        begins, ends = (datetime.fromtimestamp(float(claims.get(each) or 0), UTC) for each in ("nbf", "exp"))
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise _malformed() from error
    if begins - _SKEW <= now < ends + _SKEW:
        return
    text = (
        f"Client assertion is not within its valid time range. Current time: {_told(now)}, assertion valid from {_told(begins)}, "
        f"expiry time of assertion {_told(ends)}. Review the documentation at "
        "https://learn.microsoft.com/entra/identity-platform/certificate-credentials ."
    )
    raise FederationError(700024, text)


def _told(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%f0Z")
