"""The permissions of a deployment: the image by AcrPull, model and code by Storage Blob Data Reader, of its endpoint's identity.

The identity that the service itself makes for an endpoint (SystemAssigned) gets both on what belongs to the workspace without
anybody's doing: Microsoft Learn, machine-learning/how-to-access-resources-from-endpoints-managed-identities.
"""

from azure_gpu.catalog import roles
from localazure.arm.store import Body, Resource
from localazure.blobs.containers import container_key
from localazure.kinds import registry_access
from localazure.kinds.roles import has_role
from localazure.machines import identity_tokens
from localazure.services import Services

MAY_READ_BLOBS = frozenset({roles.STORAGE_BLOB_DATA_READER, roles.STORAGE_BLOB_DATA_CONTRIBUTOR, roles.STORAGE_BLOB_DATA_OWNER})


class Identity:
    """An endpoint's identities as one: what one of them may, it may."""

    def __init__(self, endpoint: Resource, workspace: Resource, services: Services) -> None:
        self.holder = endpoint
        self._services = services
        self._workspace = workspace
        given = endpoint.body.get("identity") or {}
        self._attached: tuple[str, ...] = tuple(given.get("userAssignedIdentities") or ())
        self._system = "SystemAssigned" in str(given.get("type", ""))

    @property
    def shown(self) -> str:
        names = [f"the identity {each.rsplit('/', 1)[-1]}" for each in self._attached]
        return " and ".join([*(["the endpoint's own identity"] if self._system else []), *names]) or "the endpoint"

    def may_pull(self, registry: Resource) -> bool:
        if self._system and self._is_of_workspace("containerRegistry", registry):
            return True
        return any(registry_access.principal_may_pull(each, registry, self._services) for each in self.principals())

    def may_read(self, account: Resource, container: str) -> bool:
        if self._system and self._is_of_workspace("storageAccount", account):
            return True
        scope = container_key(account, container)
        return any(has_role(self._services, each, MAY_READ_BLOBS, scope) for each in self.principals())

    def principals(self) -> list[str]:
        return [one.principal for one in identity_tokens.held_by(self.holder, self._services)]

    def _is_of_workspace(self, name: str, resource: Resource) -> bool:
        properties: Body = self._workspace.properties
        return str(properties.get(name) or "").lower() == resource.key
