"""Authorizes requests to an endpoint by its method: its key, its own token, or an Entra token.

A `Signature` produces the header for each request; its text and repr never contain the secret.
"""

from collections.abc import Callable

from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.machine_learning.endpoints import API_VERSION, Endpoint

ENTRA_SCOPE = "https://ml.azure.com/.default"  # of Entra tokens for managed and Kubernetes endpoints
KEYS_ROLE = "AzureML Data Scientist"  # built-in: lists keys, and scores


class Signature:
    """Authorizes requests. `what`: the kind of secret."""

    __slots__ = ("_bearer", "what")

    def __init__(self, bearer: Callable[[], str], what: str) -> None:
        self._bearer = bearer
        self.what = what

    def __repr__(self) -> str:
        return f"Signature({self.what})"

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._bearer()}"}


def of_key(key: str, what: str) -> Signature:
    return Signature(lambda: key, what)


def of_endpoint(arm: Arm, endpoint: Endpoint) -> Signature:
    """AzureError if this login may not read the key or the token."""
    if endpoint.auth_mode == "AADToken":
        return Signature(lambda: arm.login.credential.get_token(ENTRA_SCOPE).token, "a token of Entra")
    if endpoint.auth_mode == "AMLToken":
        return of_key(_fetched(arm, endpoint, "token", "accessToken"), "a token of the endpoint")
    return of_key(_fetched(arm, endpoint, "listKeys", "primaryKey"), "its key")


def _fetched(arm: Arm, endpoint: Endpoint, action: str, name: str) -> str:
    try:
        answer = arm.post(f"{endpoint.id}/{action}", API_VERSION)
    except AzureError as error:
        if error.status != 403:
            raise
        secret = "key" if action == "listKeys" else "token"
        raise AzureError(
            f"this login may not read the endpoint's {secret}; it needs the role {KEYS_ROLE} on the workspace; or set `auth: "
            f"entra` of the endpoint, which needs no key ({error})",
            403,
        ) from error
    found = answer.get(name)
    if not found:
        raise AzureError(f"Azure answered {action} of the endpoint {endpoint.name} without {name}")
    return str(found)
