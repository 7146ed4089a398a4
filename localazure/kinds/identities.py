"""User-assigned managed identities: a principal in the tenant whose ids are made once."""

import uuid

from azure_gpu.formats import azure_types
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body


class UserAssignedIdentities(Kind):
    """Known to role assignments by its `principalId` as soon as it is there; Entra's delay is not imitated."""

    azure_type = azure_types.USER_ASSIGNED_IDENTITY
    shows_state = False
    created_location = True  # Test_ManagedIdentity_UserAssignedIdentity_20230131_CRUD (2023-11), a path there and an address here

    async def provision(self, change: Change) -> Body:
        if change.previous is not None:
            return {}
        tenant = change.services.settings.tenant_id
        return {"properties": {"tenantId": tenant, "principalId": str(uuid.uuid4()), "clientId": str(uuid.uuid4())}}
