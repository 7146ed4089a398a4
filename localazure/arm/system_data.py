"""`systemData` of a resource: who made it and changed it last, and when."""

from localazure.arm.store import Body, Resource
from localazure.services import Services


def of(resource: Resource, services: Services) -> Body:
    by = services.settings.client_id
    return {
        "createdAt": resource.created_at,
        "createdBy": by,
        "createdByType": "Application",  # the token's kind: a service principal's, as in Test_KeyVault_WhenPurgeSpecified
        "lastModifiedAt": resource.changed_at,
        "lastModifiedBy": by,
        "lastModifiedByType": "Application",
    }
