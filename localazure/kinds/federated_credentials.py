"""Federated credentials: a token of another issuer stands for a user-assigned identity, as in Kubernetes.

With the service's limits: Microsoft Learn, entra/workload-id/workload-identity-federation-considerations. Codes of refusals are
assumed. Entra takes tokens by them as soon as they are there; the minutes that the service takes are not imitated.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError, conflict
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Resource
from localazure.entra.federation import Credential, Federated
from localazure.services import Services

MOST = 20
_LONGEST = 600


class FederatedIdentityCredentials(Kind):
    azure_type = azure_types.FEDERATED_IDENTITY_CREDENTIAL
    delete_without_group = "ParentResourceNotFound"
    location = "none"
    parent_type = azure_types.USER_ASSIGNED_IDENTITY.arm_type
    patchable = False
    shows_state = False
    created_location = True  # this and the words of a 404: Test_ManagedIdentity_UserAssignedIdentity_20230131_CRUD (2023-11)

    def not_found(self, resource_id: ArmId) -> ArmError:
        return ArmError(404, "NotFound", f"Resource '{resource_id.text}' was not found.")

    def check(self, change: Change) -> None:
        properties = change.properties
        for name in ("issuer", "subject"):
            if not properties[name] or len(properties[name]) > _LONGEST:
                raise _bad(f"properties.{name}", f"takes 1 to {_LONGEST} characters")
        if not properties["issuer"].startswith("https://"):
            raise _bad("properties.issuer", "is an address that starts with https://")
        if len(properties["audiences"]) != 1:
            raise _bad("properties.audiences", "takes exactly one audience")
        others = [each for each in _of(change.id.scope, change.services) if each.key != change.id.key]
        if any(_same(each, properties) for each in others):
            message = "There is already a federated identity credential with this issuer and subject on the identity."
            raise conflict(message, "FederatedIdentityCredentialAlreadyExists")
        if change.creating and len(others) >= MOST:
            raise conflict(
                f"An identity has at most {MOST} federated identity credentials.", "TooManyFederatedIdentityCredentials"
            )


def federated(client_id: str, services: Services) -> Federated | None:
    """The user-assigned identity of this client id with its credentials; None where there is none."""
    for identity in services.store.of_type(azure_types.USER_ASSIGNED_IDENTITY.arm_type):
        ids = identity.service["properties"]
        if ids["clientId"] == client_id.lower():
            told = [each.properties for each in _of(identity.id.text, services)]
            credentials = tuple(Credential(each["issuer"], each["subject"], each["audiences"][0]) for each in told)
            return Federated(Caller(object_id=ids["principalId"], app_id=ids["clientId"]), credentials)
    return None


def _of(identity: str, services: Services) -> list[Resource]:
    return services.store.of_type(azure_types.FEDERATED_IDENTITY_CREDENTIAL.arm_type, identity)


def _same(other: Resource, properties: dict[str, object]) -> bool:
    return all(other.properties[name] == properties[name] for name in ("issuer", "subject"))


def _bad(target: str, rule: str) -> ArmError:
    return ArmError(400, "BadRequest", f"'{target}' {rule}.", target=target)
