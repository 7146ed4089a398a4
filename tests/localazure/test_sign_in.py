"""Metadata, discovery and tokens, as clients meet them, and what happens to tokens that somebody changed."""

import json
from typing import Any

import jwt
import pytest
from azure.core.exceptions import ClientAuthenticationError
from azure.core.rest import HttpRequest
from azure.mgmt.core import ARMPipelineClient
from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.embedded import SECOND_SUBSCRIPTION, SUBSCRIPTION, EmbeddedAzure
from tests.support.in_process import BEGAN
from tests.support.management import credential

SUBSCRIPTIONS = "/subscriptions?api-version=2022-12-01"


def claims(azure: EmbeddedAzure, **changed: Any) -> dict[str, Any]:
    return jwt.decode(azure.token(), options={"verify_signature": False}) | changed


def signing_key(azure: EmbeddedAzure) -> str:
    return json.loads((azure.state / "identity.json").read_text())["signing_key"]


def with_token(azure: EmbeddedAzure, token: str) -> Any:
    with azure.http(headers={"Authorization": f"Bearer {token}"}) as client:
        return client.get(SUBSCRIPTIONS)


def test_a_real_credential_and_a_real_arm_client_are_served(azure: EmbeddedAzure) -> None:
    policy = ARMChallengeAuthenticationPolicy(credential(azure), f"{azure.url}/.default")
    with ARMPipelineClient(azure.url, policies=[policy], **azure.sdk_options()) as client:
        answer = client.send_request(HttpRequest("GET", azure.url + SUBSCRIPTIONS))
    assert answer.status_code == 200
    assert [each["subscriptionId"] for each in answer.json()["value"]] == [SUBSCRIPTION, SECOND_SUBSCRIPTION]
    assert "local" in answer.json()["value"][0]["displayName"]


def test_a_real_credential_with_a_wrong_secret_is_refused_by_number(azure: EmbeddedAzure) -> None:
    with pytest.raises(ClientAuthenticationError, match="AADSTS7000215"):
        credential(azure, "wrong").get_token(f"{azure.url}/.default")


def test_a_token_request_over_the_limit_is_refused(azure: EmbeddedAzure) -> None:
    with azure.http() as client:
        answer = azure.ask_token(client, scope="x" * (4 * 1024 * 1024))
    assert (answer.status_code, answer.json()["error"]) == (413, "invalid_request")


def test_discovery_leads_to_keys_that_verify_a_token(azure: EmbeddedAzure) -> None:
    with azure.http() as client:
        document = client.get(f"/{azure.tenant_id}/v2.0/.well-known/openid-configuration").json()
        assert client.get(f"/{azure.tenant_id}/.well-known/openid-configuration").json() == document
        keys = jwt.PyJWKSet.from_dict(client.get(document["jwks_uri"]).json())
    token = azure.token()
    key = keys[jwt.get_unverified_header(token)["kid"]]
    own_time: Any = {"verify_exp": False, "verify_nbf": False, "verify_iat": False}
    found = jwt.decode(token, key, algorithms=["RS256"], audience=azure.url, issuer=document["issuer"], options=own_time)
    assert (found["appid"], found["oid"], found["tid"]) == (azure.client_id, azure.principal_id, azure.tenant_id)
    assert found["idtyp"] == "app"


def test_a_changed_signature_is_refused(azure: EmbeddedAzure) -> None:
    head, body, signature = azure.token().split(".")
    answer = with_token(azure, ".".join([head, body, signature[:-8] + "AAAAAAAA"]))
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "InvalidAuthenticationToken"


def test_a_token_signed_with_another_key_is_refused(azure: EmbeddedAzure) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    answer = with_token(azure, jwt.encode(claims(azure), pem, "RS256"))
    assert answer.json()["error"]["code"] == "InvalidAuthenticationToken"


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_a_token_of_another_algorithm_is_refused(azure: EmbeddedAzure, algorithm: str) -> None:
    key = "k" * 64 if algorithm == "HS256" else ""
    answer = with_token(azure, jwt.encode(claims(azure), key, algorithm))
    assert answer.json()["error"]["code"] == "InvalidAuthenticationToken"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"aud": "https://management.azure.com"}, "InvalidAuthenticationTokenAudience"),
        ({"tid": "11111111-1111-1111-1111-111111111111"}, "InvalidAuthenticationTokenTenant"),
        ({"iss": "https://sts.windows.net/11111111-1111-1111-1111-111111111111/"}, "InvalidAuthenticationTokenTenant"),
        ({"exp": int(BEGAN.timestamp()) - 1}, "ExpiredAuthenticationToken"),
        ({"nbf": int(BEGAN.timestamp()) + 86_400}, "InvalidAuthenticationToken"),
        *(({claim: None}, "InvalidAuthenticationToken") for claim in ("exp", "aud", "oid")),
    ],
)
def test_a_token_with_other_claims_is_refused_by_name(azure: EmbeddedAzure, changed: dict[str, Any], code: str) -> None:
    content = {name: value for name, value in claims(azure, **changed).items() if value is not None}
    answer = with_token(azure, jwt.encode(content, signing_key(azure), "RS256"))
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == code
