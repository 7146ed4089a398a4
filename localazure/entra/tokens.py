"""Access tokens: JSON Web Tokens signed with the folder's RSA key, and the check of those that requests carry.

Claims as Entra's v1 tokens for an application carry them: Microsoft Learn, identity-platform/access-token-claims-reference.
"""

import hashlib
from collections.abc import Callable, Collection
from datetime import datetime
from functools import lru_cache
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from jwt.algorithms import RSAAlgorithm

from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
from localazure.entra.identity import Identity

LIFETIME_SECONDS = 3600
ALGORITHM = "RS256"
# Checked here: audience and issuer with ARM's words, dates by the server's own clock.
_CHECKS: Any = {
    **{f"verify_{claim}": False for claim in ("aud", "iss", "exp", "nbf", "iat")},
    "require": ["exp", "nbf", "iss", "aud", "oid", "appid", "tid"],
}


class Tokens:
    """Signs tokens for the tenant's service principal and its managed identities, and checks them for ARM."""

    def __init__(self, identity: Identity, url: str, now: Callable[[], datetime]) -> None:
        self._identity = identity
        self._url = url
        self._now = now
        self._signing_key = _loaded(identity.signing_key)
        self._public = self._signing_key.public_key()
        spki = self._public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        self.key_id = hashlib.sha256(spki).hexdigest()[:32]
        # One signature check per token and not per request: a token's claims never change, and its expiry is checked each time.
        self._verified = lru_cache(maxsize=256)(self._verify)

    @property
    def issuer(self) -> str:
        return f"{self._url}/{self._identity.tenant_id}/v2.0"

    @property
    def audiences(self) -> tuple[str, ...]:
        """Whom a token for ARM is meant for."""
        return (self._url, f"{self._url}/")

    def issue(self, audience: str, of: Caller | None = None) -> str:
        """A token for `audience`, valid from now for LIFETIME_SECONDS: of a managed identity, or of the service principal."""
        now = int(self._now().timestamp())
        of = of or Caller(object_id=self._identity.principal_id, app_id=self._identity.client_id)
        claims = {
            "aud": audience,
            "iss": self.issuer,
            "iat": now,
            "nbf": now,
            "exp": now + LIFETIME_SECONDS,
            "appid": of.app_id,
            "idtyp": "app",
            "oid": of.object_id,
            "sub": of.object_id,
            "tid": self._identity.tenant_id,
            "ver": "1.0",
        }
        return jwt.encode(claims, self._signing_key, algorithm=ALGORITHM, headers={"kid": self.key_id})

    def keys(self) -> dict[str, Any]:
        """The JSON Web Key Set with which others can check the signature."""
        key = RSAAlgorithm.to_jwk(self._public, as_dict=True)
        return {"keys": [{**key, "kid": self.key_id, "use": "sig", "alg": ALGORITHM, "issuer": self.issuer}]}

    def check(self, authorization: str, audiences: Collection[str] = ()) -> Caller:
        """The caller whose token the Authorization header carries. ArmError 401 in ARM's words otherwise.

        `audiences`: whom the token has to be meant for; ARM where none is given.
        """
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise self._refusal(
                "AuthenticationFailed",
                "Authentication failed. The 'Authorization' header is missing or does not hold a bearer token.",
            )
        claims = self._verified(token.strip())
        self._check_audience(claims["aud"], audiences or self.audiences)
        if claims["nbf"] > self._now().timestamp():
            raise self._refusal("InvalidAuthenticationToken", "The access token is invalid: it is not valid yet.")
        if claims["exp"] <= self._now().timestamp():
            raise self._refusal("ExpiredAuthenticationToken", "The access token has expired.")
        return Caller(object_id=claims["oid"], app_id=claims["appid"])

    def _verify(self, token: str) -> dict[str, Any]:
        try:
            claims = jwt.decode(token, self._public, algorithms=[ALGORITHM], options=_CHECKS)
        except jwt.PyJWTError as error:
            raise self._refusal("InvalidAuthenticationToken", f"The access token is invalid: {error}.") from error
        if claims["tid"] != self._identity.tenant_id or claims["iss"] != self.issuer:
            raise self._refusal(
                "InvalidAuthenticationTokenTenant",
                f"The access token is from the wrong issuer '{claims['iss']}'. It must match the tenant '{self.issuer}' "
                "associated with this subscription.",
            )
        return claims

    def _check_audience(self, audience: Any, audiences: Collection[str]) -> None:
        if audience not in audiences:
            allowed = ",".join(f"'{each}'" for each in audiences)
            raise self._refusal(
                "InvalidAuthenticationTokenAudience",
                f"The access token has been obtained for wrong audience or resource '{audience}'. "
                f"It should exactly match with one of the allowed audiences {allowed}.",
            )

    def _refusal(self, code: str, message: str) -> ArmError:
        challenge = (
            f'Bearer authorization_uri="{self._url}/{self._identity.tenant_id}", error="invalid_token", '
            f'error_description="{message}"'
        )
        return ArmError(401, code, message, headers={"WWW-Authenticate": challenge.replace("\n", " ")})


@lru_cache(maxsize=4)
def _loaded(pem: str) -> RSAPrivateKey:
    """The key of a PEM text. Kept, since OpenSSL checks a key's primes each time that it loads one."""
    key = serialization.load_pem_private_key(pem.encode("ascii"), password=None)
    if not isinstance(key, RSAPrivateKey):
        raise TypeError("the folder's signing key is not an RSA key")
    return key
