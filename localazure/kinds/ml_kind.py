"""What all types of Azure Machine Learning have in common: lists that leave out what is archived, and the service's refusals.

The codes UserError, ValidationError and BadRequest are the service's; a module says so where a
sentence isn't quoted from a user.
"""

from collections.abc import Mapping

from azure_gpu.catalog.providers import MACHINE_LEARNING
from localazure.arm.errors import ArmError
from localazure.arm.kind import Kind
from localazure.arm.store import Resource
from localazure.kinds.soft_deleted import Bin
from localazure.services import Services

DELETED = Bin("workspaces")


class MlKind(Kind):
    """A type below `Microsoft.MachineLearningServices`."""

    def chosen(self, listed: list[Resource], query: Mapping[str, str]) -> list[Resource]:
        """`listViewType`: what is archived is shown where it is requested. `$orderBy` is by creation, `$top` from the first."""
        requested = query.get("listviewtype", "ActiveOnly").lower()
        if requested != "all":
            listed = [each for each in listed if bool(each.properties.get("isArchived")) == (requested == "archivedonly")]
        if "version" in query:
            listed = [each for each in listed if each.id.name == query["version"]]
        order = query.get("$orderby", "").lower()
        if order.startswith("created"):
            listed = sorted(listed, key=lambda each: each.created_at, reverse=order.endswith("desc"))
        top = query.get("$top", "")
        return listed[: int(top)] if top.isascii() and top.isdigit() else listed


def workspace_of(resource_id: str, services: Services) -> Resource:
    """The workspace that an id lies in. LookupError where it has gone meanwhile."""
    marker = f"/providers/{MACHINE_LEARNING.lower()}/workspaces/"
    above, found, below = resource_id.lower().partition(marker)
    workspace = services.store.get(f"{above}{marker}{below.partition('/')[0]}") if found else None
    if workspace is None:
        raise LookupError(f"'{resource_id}' isn't in a workspace that exists here")
    return workspace


def keep_with_workspace(resource: Resource, services: Services) -> None:
    """Remembers what goes because its workspace goes, and would come back with it."""
    workspace = workspace_of(resource.id.text, services)
    group = services.store.get(workspace.id.scope)
    if workspace.state == "Deleting" or (group is not None and group.state == "Deleting"):
        DELETED.keep_part(workspace.key, resource, services)


def user_error(message: str, *, target: str = "", status: int = 400) -> ArmError:
    return ArmError(status, "UserError", message, target=target)


def bad_request(message: str, *, target: str = "") -> ArmError:
    return ArmError(400, "BadRequest", message, target=target)


def invalid(message: str, *, target: str = "") -> ArmError:
    return ArmError(400, "ValidationError", message, target=target)
