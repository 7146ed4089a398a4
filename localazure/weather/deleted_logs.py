"""Workspaces of logs that were deleted: their names are kept for 14 days, and the same workspace comes back under its name.

Microsoft Learn, rest/api/loganalytics/workspaces/delete, read 2026-11-24.
"""

from collections.abc import Mapping

from azure_gpu.formats.arm_ids import ArmId
from localazure.arm.errors import refused
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.kinds.soft_deleted import Bin
from localazure.services import Services

DAYS = 14
DELETED = Bin("log-workspaces")
_FORCE = "force"


def before_delete(resource_id: ArmId, query: Mapping[str, str], services: Services) -> None:
    """`?force=true` frees the name."""
    workspace = services.store.get(resource_id.key)
    if workspace is not None and query.get(_FORCE, "").lower() == "true":
        workspace.private[_FORCE] = True
        services.store.put(workspace)


def keep(workspace: Resource, services: Services) -> None:
    """A workspace goes."""
    if services.weather.holds("deleted-logs") and not workspace.private.get(_FORCE):
        DELETED.keep(workspace.key, workspace, DAYS, services)


def check(change: Change) -> None:
    """ArmError 409 for a new workspace with the name of one that was deleted elsewhere."""
    remains = DELETED.find(change.id.key, change.services) if change.creating else None
    if remains is not None and remains.location != change.body["location"]:
        raise refused("logs: name kept", name=change.id.name)


def recovered(workspace: Resource, services: Services) -> Body | None:
    """What the service had set of the workspace that was deleted and comes back as this new one, which has its keys then."""
    remains = DELETED.find(workspace.key, services)
    if remains is None:
        return None
    workspace.private = remains.private
    DELETED.forget(workspace.key, services)
    return remains.service
