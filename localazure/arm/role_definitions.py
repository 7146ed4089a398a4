"""Role definitions, to be looked up by name or GUID: `az role assignment create --role AcrPull` requests them. None can be made.

Their names are there, their permissions are not: what a role permits is decided where it matters, in `kinds/roles.py`.
"""

from starlette.responses import Response

from azure_gpu.catalog import roles
from localazure.arm import answers, checks, filters
from localazure.arm.errors import ArmError
from localazure.arm.store import Body
from localazure.subscriptions import SUBSCRIPTION

# What azure-mgmt-authorization and azure-cli 2.91 send.
API_VERSIONS = frozenset({"2015-07-01", "2018-01-01-preview", "2022-04-01", "2022-05-01-preview", "2023-07-01-preview"})
TYPE = "BuiltInRole"


def listed(conditions: str, version: str) -> Response:
    """All definitions, or those with a name: `roleName eq 'AcrPull'`. They hold at every scope."""
    checks.version_among(API_VERSIONS, version)
    requested = filters.parse(conditions, ("roleName", "type"))
    return answers.listed(
        _definition(role)
        for role, name in roles.NAMES.items()
        if requested.get("rolename", name).lower() == name.lower() and requested.get("type", TYPE) == TYPE
    )


def one(role: str, version: str) -> Response:
    checks.version_among(API_VERSIONS, version)
    if role.lower() not in roles.NAMES:
        raise ArmError(404, "RoleDefinitionDoesNotExist", f"The specified role definition with ID '{role}' does not exist.")
    return answers.respond(200, _definition(role.lower()))


def _definition(role: str) -> Body:
    return {
        "id": roles.definition_id(SUBSCRIPTION, role),
        "name": role,
        "type": "Microsoft.Authorization/roleDefinitions",
        "properties": {"roleName": roles.NAMES[role], "type": TYPE, "assignableScopes": ["/"], "permissions": []},
    }
