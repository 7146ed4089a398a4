"""What a managed identity may do at Resource Manager: everything below where it is Owner or Contributor, else nothing.

The folder's service principal may do everything. Roles that permit single actions count as none here. Sentence and code: as those
of a right that a fault takes (`lists.deviations`).
"""

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from localazure.arm.caller import Caller
from localazure.arm.errors import ArmError
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
    raise ArmError(
        403,
        "AuthorizationFailed",
        f"The client '{caller.app_id}' with object id '{caller.object_id}' does not have authorization to perform action "
        f"'{method}' over scope '{path}' or the scope is invalid. If access was recently granted, please refresh your "
        "credentials.",
    )
