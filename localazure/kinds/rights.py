"""What a managed identity may do at Resource Manager: everything below where it is Owner or Contributor, else nothing.

The folder's service principal may do everything. Roles that permit single actions count as none here. That the sentence names the
request's method, where Azure names the action, is assumed.
"""

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from localazure.arm.caller import Caller
from localazure.arm.errors import not_authorized
from localazure.kinds.roles import has_role
from localazure.services import Services

_ALL = frozenset({roles.OWNER, roles.CONTRIBUTOR})


def any_of(principal: str, services: Services) -> bool:
    """Whether it has such a role anywhere."""
    return any(
        each.properties["principalId"] == principal
        and str(each.properties["roleDefinitionId"]).rsplit("/", 1)[-1].lower() in _ALL
        for each in services.store.of_type(azure_types.ROLE_ASSIGNMENT.arm_type)
    )


def check(caller: Caller, method: str, path: str, services: Services) -> None:
    """ArmError 403."""
    if caller.object_id == services.settings.principal_id or has_role(services, caller.object_id, _ALL, path):
        return
    raise not_authorized(caller, method, path)
