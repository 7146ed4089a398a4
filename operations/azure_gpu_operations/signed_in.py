"""The Entra object id of the signed-in identity, from its token.

Source of the claims: Microsoft Learn, identity-platform/access-token-claims-reference.
"""

import base64
import json
from typing import Any, NamedTuple

from azure.core.exceptions import ClientAuthenticationError

from azure_gpu.shared.polling import first_line
from azure_gpu_operations.azure import AzureError, SignIn

_KINDS = {"app": "ServicePrincipal", "user": "User"}  # by the claim `idtyp`, which not every token has


class Principal(NamedTuple):
    """A person or a program."""

    object_id: str
    kind: str  # as a role assignment spells it; empty where the token doesn't tell, and Azure looks it up


def of(login: SignIn) -> Principal:
    """AzureError if nobody is signed in, or the token has no object id."""
    try:
        token = login.credential.get_token(login.scope).token
    except ClientAuthenticationError as error:
        raise AzureError(first_line(error)) from error
    try:
        claims = claims_of(token)
        return Principal(str(claims["oid"]), _KINDS.get(str(claims.get("idtyp", "")), ""))
    except (IndexError, KeyError, ValueError) as error:
        raise AzureError("the token has no object id of the signed-in identity") from error


def claims_of(token: str) -> dict[str, Any]:
    """IndexError, ValueError for what is no token."""
    body = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
