"""Who may pull from a registry of the embedded Azure: a principal with a role that allows it, or the registry's admin user."""

from azure_gpu.catalog import roles
from azure_gpu.formats import azure_types
from localazure.arm.store import Body, Resource
from localazure.kinds.registry_runs import LOGIN_SUFFIX, login_server
from localazure.kinds.roles import has_role
from localazure.services import Services
from localazure.weather import registry_limits

# Microsoft Learn, container-registry/container-registry-roles, read 2026-11-20: the roles that may pull an image.
MAY_PULL = frozenset({roles.OWNER, roles.CONTRIBUTOR, roles.READER, roles.ACR_PUSH, roles.ACR_PULL})


def registry_at(login: str, services: Services) -> Resource | None:
    """The registry with this login server; None where it is none of ours."""
    if not login.endswith(LOGIN_SUFFIX):
        return None
    found = services.store.named(azure_types.REGISTRY.arm_type, login.removesuffix(LOGIN_SUFFIX))
    return next((registry for registry in found if login_server(registry.id.name) == login), None)


def principal_may_pull(principal: str, registry: Resource, services: Services) -> bool:
    return has_role(services, principal, registry_limits.pulling_roles(registry, MAY_PULL, services), registry.key)


def is_admin(registry: Resource, username: str, password: str) -> bool:
    """Whether this is the registry's admin user, where it is enabled."""
    passwords: Body = registry.private["passwords"]
    return bool(
        registry.properties.get("adminUserEnabled")
        and username.lower() == registry.id.name.lower()
        and password in passwords.values()
    )
