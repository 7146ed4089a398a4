"""Client assertions: which token of an issuer stands for an identity, and Entra's number for each that doesn't."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from localazure.entra.federation import ASSERTION_TYPE, EntraError, KeySet, check
from tests.support.embedded import EmbeddedAzure
from tests.support.tables import of_table

ISSUER = "https://localhost:1/kubernetes/oidc/1/"
SUBJECT = "system:serviceaccount:gpu-jobs:stack-identity"
AUDIENCE = "api://AzureADTokenExchange"
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
TRUSTED = [{"issuer": each, "subject": SUBJECT, "audiences": [AUDIENCE]} for each in (ISSUER, "https://other")]
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SOMEBODYS_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def key_set(issuer: str) -> KeySet | None:
    if issuer != ISSUER:
        return None
    return {"keys": [{**json.loads(RSAAlgorithm.to_jwk(KEY.public_key())), "kid": "k1", "use": "sig", "alg": "RS256"}]}


def token(key: rsa.RSAPrivateKey = KEY, name: str = "k1", **changed: Any) -> str:
    seconds = int(NOW.timestamp())
    claims = {"iss": ISSUER, "sub": SUBJECT, "aud": [AUDIENCE], "nbf": seconds, "exp": seconds + 3600, **changed}
    return jwt.encode(claims, key, algorithm="RS256", headers={"kid": name})


def exchange(assertion: str, *, now: datetime = NOW, form: str = ASSERTION_TYPE) -> None:
    check({"client_assertion": assertion, "client_assertion_type": form}, TRUSTED, key_set, now)


def test_a_token_that_a_credential_names_stands_for_the_identity() -> None:
    exchange(token())
    exchange(token(aud=AUDIENCE))
    exchange(token(aud=["https://kubernetes", AUDIENCE]))


@of_table(
    "given",
    "number",
    "words",
    more=[
        (token(SOMEBODYS_KEY), 7000272, "identifier k1 used to sign"),
        (jwt.encode({"iss": ISSUER, "sub": SUBJECT, "aud": AUDIENCE, "exp": 1}, "k" * 32), 7000272, "identifier  used"),
        (jwt.encode({"iss": ISSUER}, "k" * 32), 50027, "malformed"),
    ],
)
def test_any_other_is_refused_by_number(given: dict[str, Any] | str, number: int, words: str) -> None:
    with pytest.raises(EntraError) as refused:
        exchange(given if isinstance(given, str) else token(**given))
    assert refused.value.number == number
    assert words in refused.value.text


def test_a_token_holds_for_its_time_and_a_clock_may_be_minutes_wrong() -> None:
    exchange(token(), now=NOW + timedelta(minutes=62))
    exchange(token(), now=NOW - timedelta(minutes=2))
    for now in (NOW + timedelta(hours=2), NOW - timedelta(minutes=10)):
        with pytest.raises(EntraError, match=r"expiry time of assertion 2026-11-23T13:00:00\.0000000Z") as refused:
            exchange(token(), now=now)
        assert (refused.value.number, refused.value.status) == (700024, 401)


def test_an_assertion_has_to_say_what_it_is() -> None:
    with pytest.raises(EntraError, match="client_assertion_type") as refused:
        exchange(token(), form="")
    assert refused.value.number == 900144


def test_the_token_endpoint_refuses_assertions_as_entra_does(azure: EmbeddedAzure, group: str) -> None:
    path = f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/pods"
    client_id = azure.put(path, {"location": "westeurope"}, "2023-01-31").json()["properties"]["clientId"]
    credential = {"properties": {"issuer": "https://other", "subject": SUBJECT, "audiences": [AUDIENCE]}}
    assert azure.put(f"{path}/federatedIdentityCredentials/one", credential, "2023-01-31").status_code == 201
    asked = {"scope": "https://storage.azure.com/.default", "client_assertion_type": ASSERTION_TYPE, "client_secret": ""}
    with azure.http() as client:
        unknown = azure.ask_token(client, **asked, client_assertion=token(), client_id=SUBJECT)
        wrong = azure.ask_token(client, **asked, client_assertion=token(), client_id=client_id)
        silent = azure.ask_token(client, **asked, client_assertion=token(iss="https://other"), client_id=client_id)
    assert (unknown.status_code, unknown.json()["error_codes"]) == (400, [700016])
    assert (wrong.status_code, wrong.json()["error"], wrong.json()["error_codes"]) == (401, "invalid_client", [700211])
    assert wrong.json()["error_description"].startswith("AADSTS700211: No matching federated identity record found")
    assert (silent.status_code, silent.json()["error_codes"]) == (400, [50166])
