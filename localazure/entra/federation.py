"""Workload identity federation: exchanges a token of another issuer for one of a user-assigned identity.

The flow: Microsoft Learn, entra/workload-id/workload-identity-federation. Refusals are rows of `refusals.tsv`, with the threads
in which users read their words. Assumed are that a wrong signature is told as a key that doesn't exist, and the order of the
checks.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from localazure import tables

ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_ALGORITHMS = ["RS256"]
_REQUIRED_CLAIMS = ["iss", "sub", "aud", "exp"]
_SKEW = timedelta(minutes=5)  # of clocks that Entra puts up with; assumed

KeySet = Mapping[str, Any]
Credentials = Sequence[Mapping[str, Any]]  # the properties of federated credentials: issuer, subject, audiences


class EntraError(Exception):
    """Why there is no token, by Entra's number."""

    def __init__(self, number: int, **words: object) -> None:
        status, self.error, sentence = _rows()[number]
        self.number, self.status, self.text = number, int(status), sentence.format(**words)
        super().__init__(self.text)


@functools.cache
def _rows() -> Mapping[int, tuple[str, str, str]]:
    known = tables.rows(__file__, "refusals.tsv", header=True)
    return {int(number): (status, error, sentence) for number, status, error, sentence, _ in known}


def check(form: Mapping[str, str], credentials: Credentials, key_set: Callable[[str], KeySet | None], now: datetime) -> None:
    """EntraError where no credential trusts the assertion. `key_set`: of an issuer; None of one that can't be asked."""
    if form.get("client_assertion_type") != ASSERTION_TYPE:
        raise EntraError(900144, what=f"'client_assertion_type' with the value '{ASSERTION_TYPE}'")
    assertion = form.get("client_assertion", "")
    claims = _claims(assertion)
    issuer = _matched(claims, credentials)
    keys = key_set(issuer)
    if keys is None:
        raise EntraError(50166)
    _check_signature(assertion, issuer, keys)
    _check_time(claims, now)


def _claims(assertion: str) -> dict[str, Any]:
    """As they are written; nothing vouches for them yet."""
    try:
        return jwt.decode(assertion, options={"verify_signature": False, "require": _REQUIRED_CLAIMS})
    except jwt.PyJWTError as error:
        raise EntraError(50027) from error


def _matched(claims: Mapping[str, Any], credentials: Credentials) -> str:
    """The issuer, where one credential names it with the subject and the audience. All three are compared letter by letter."""
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    audiences = [claims["aud"]] if isinstance(claims["aud"], str) else list(claims["aud"])
    of_issuer = [each for each in credentials if each["issuer"] == issuer]
    if not of_issuer:
        raise EntraError(700211, what=f"issuer '{issuer}'")
    of_audience = [each for each in of_issuer if each["audiences"][0] in audiences]
    if not of_audience:
        raise EntraError(700212, what=f"audience '{', '.join(map(str, audiences))}'")
    if any(each["subject"] == subject for each in of_audience):
        return issuer
    if any(each["subject"].lower() == subject.lower() for each in of_audience):
        raise EntraError(7002138, what=f"subject '{subject}'")
    raise EntraError(700213, what=f"subject '{subject}'")


def _check_signature(assertion: str, issuer: str, keys: KeySet) -> None:
    name = str(jwt.get_unverified_header(assertion).get("kid") or "")
    try:
        key = jwt.PyJWKSet.from_dict(dict(keys))[name].key
        jwt.api_jws.decode(assertion, key, algorithms=_ALGORITHMS)  # claims are looked at by others
    except (jwt.PyJWTError, KeyError) as error:
        raise EntraError(7000272, name=name, issuer=issuer) from error


def _check_time(claims: Mapping[str, Any], now: datetime) -> None:
    try:
        begins, ends = (datetime.fromtimestamp(float(claims.get(each) or 0), UTC) for each in ("nbf", "exp"))
    except (TypeError, ValueError, OverflowError, OSError) as error:
        raise EntraError(50027) from error
    if not begins - _SKEW <= now < ends + _SKEW:
        raise EntraError(700024, now=_told(now), begins=_told(begins), ends=_told(ends))


def _told(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%f0Z")
