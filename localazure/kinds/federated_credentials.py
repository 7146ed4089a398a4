"""Federated credentials: a token of another issuer stands for a user-assigned identity, as in Kubernetes.

Entra takes tokens by them as soon as they are there; the minutes that the service takes are not imitated.
"""

from azure_gpu.formats import azure_types
from localazure.arm.caller import Caller
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.entra.federation import Credentials
from localazure.services import Services


class FederatedIdentityCredentials(Kind):
    azure_type = azure_types.FEDERATED_IDENTITY_CREDENTIAL

    def facts(self, change: Change) -> Body:
        others = [each for each in _of(change.id.scope, change.services) if each.key != change.id.key]
        same = any(all(one.properties[name] == change.properties[name] for name in ("issuer", "subject")) for one in others)
        return {"others": len(others) if change.creating else 0, "same": same}


def federated(client_id: str, services: Services) -> tuple[Caller, Credentials] | None:
    """The user-assigned identity of this client id with its credentials; None where there is none."""
    for identity in services.store.of_type(azure_types.USER_ASSIGNED_IDENTITY.arm_type):
        ids = identity.service["properties"]
        if ids["clientId"] == client_id.lower():
            trusted = [each.properties for each in _of(identity.id.text, services)]
            return Caller(object_id=ids["principalId"], app_id=ids["clientId"]), trusted
    return None


def _of(identity: str, services: Services) -> list[Resource]:
    return services.store.of_type(azure_types.FEDERATED_IDENTITY_CREDENTIAL.arm_type, identity)
