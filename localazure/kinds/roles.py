"""Role assignments: which principal has which built-in role at which scope. Kept as ARM keeps them.

What they permit is asked by other kinds through `has_role`; ARM's own caller, the folder's service principal, owns everything.
"""

from collections.abc import Collection

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from localazure.arm import filters
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTIONS
from localazure.weather import role_delay

_IDENTITIES = azure_types.USER_ASSIGNED_IDENTITY.arm_type


class RoleAssignments(Kind):
    """An extension of any scope: subscription, resource group or resource."""

    azure_type = azure_types.ROLE_ASSIGNMENT

    def facts(self, change: Change) -> Body:
        given, services = change.properties, change.services
        definition, principal = str(given["roleDefinitionId"]), str(given["principalId"])
        role = _role_of(definition)
        here = (one for one in services.store.of_type(self.arm_type, change.id.scope) if change.creating)
        same = (
            one.id.name
            for one in here
            if one.id.scope.lower() == change.id.scope.lower()
            and one.properties["principalId"] == principal
            and _role_of(one.properties["roleDefinitionId"]) == role
        )
        return {
            "role": role.replace("-", ""),
            "role_known": role in roles.NAMES and definition.lower().endswith(f"/roledefinitions/{role}"),
            "roles": ", ".join(roles.NAMES.values()),
            "principal": principal.replace("-", ""),
            "principal_found": _is_found(principal, given, services),
            "directory": services.settings.tenant_id,
            "existing": next(same, ""),
        }

    async def provision(self, change: Change) -> Body:
        now = change.services.clock.stamp()
        by = change.caller.object_id if change.caller else ""
        set_once = {} if change.previous else {"scope": change.id.scope, "createdOn": now, "createdBy": by}
        return {"properties": {**set_once, "updatedOn": now, "updatedBy": by}}

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        """Those at the scope, those above that hold there too, and, without `atScope()`, those below."""
        self.check_scope(scope, services.store)
        at_scope, requested = _conditions(conditions)
        here = scope.lower()
        chosen = [
            each
            for each in services.store.of_type(self.arm_type)
            if _covers(each.id.scope, here) or (not at_scope and _covers(here, each.id.scope.lower()))
        ]
        return [each for each in chosen if requested in ("", each.properties["principalId"])]


def has_role(services: Services, principal_id: str, granted_by: Collection[str], resource_id: str, action: str = "") -> bool:
    """Whether the principal has one of the roles (GUIDs of catalog/roles.py) at the resource or above it.

    `action`: what it is for, where the same roles permit several things, and a refusal of one isn't remembered for the others.
    """
    assigned = [
        each
        for each in services.store.of_type(RoleAssignments.azure_type.arm_type)
        if each.properties["principalId"] == principal_id
        and _role_of(each.properties["roleDefinitionId"]) in granted_by
        and _covers(each.id.scope, resource_id.lower())
    ]
    return role_delay.work(assigned, (principal_id, frozenset(granted_by), resource_id.lower(), action), services)


def _covers(scope: str, resource_key: str) -> bool:
    above = scope.lower().rstrip("/")
    return resource_key == above or resource_key.startswith(f"{above}/")


def _role_of(definition_id: str) -> str:
    return definition_id.rsplit("/", 1)[-1].lower()


def _is_found(principal: str, assignment: Body, services: Services) -> bool:
    """Known are this folder's service principal, the identities, and the identities that other resources have of their own."""
    if principal == services.settings.principal_id:
        return True
    owner = _owner_of(principal, services)
    return owner is not None and role_delay.is_found(owner, assignment, services)


def _owner_of(principal: str, services: Services) -> Resource | None:
    """The identity that a principal stands for, or the resource whose own it is."""
    for resource in services.store.of_type(_IDENTITIES):
        if resource.service.get("properties", {}).get("principalId") == principal:
            return resource
    everything = (each for subscription in SUBSCRIPTIONS for each in services.store.below(f"/subscriptions/{subscription}"))
    return next((each for each in everything if each.service.get("identity", {}).get("principalId") == principal), None)


def _conditions(text: str) -> tuple[bool, str]:
    """Whether only what holds at the scope is requested, and the principal asked for or ""."""
    rest = text.strip()
    at_scope = rest.lower().startswith("atscope()")
    if at_scope:
        rest = rest[len("atscope()") :].strip()
        rest = rest[len("and") :] if rest.lower().startswith("and") else rest
    requested = filters.parse(rest.replace("assignedTo(", "principalId eq ").rstrip(")"), ("principalId",)) if rest else {}
    return at_scope, requested.get("principalid", "")
