"""Checks whether a deleted log workspace reserves the name of the one that a stack will create; Azure keeps it for 14 days.

Source: Microsoft Learn, rest/api/loganalytics/deleted-workspaces, List (2023-09-01), and azure-monitor/logs/delete-workspace,
both read 2026-11-25.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from azure_gpu.catalog import regions
from azure_gpu.formats import arm_ids
from azure_gpu_operations.azure import SignIn, get_list
from azure_gpu_operations.preflight.fetching import Outcome, retries
from azure_gpu_operations.preflight.lists import ListKey, ListKind
from azure_gpu_operations.preflight.rows import Answer, Row, unread

API_VERSION = "2023-09-01"
_KEY = ListKey(ListKind.DELETED_LOGS)
_PATH = "foundation.log_workspace"


def readers(login: SignIn, subscription_id: str, workspace: str) -> dict[ListKey, Callable[[], Any]]:
    """One, where a workspace will be created."""
    return {_KEY: partial(_deleted, login, subscription_id)} if workspace else {}


def rows(workspace: str, region: str, outcomes: Mapping[ListKey, Outcome[Any]]) -> Iterator[Row]:
    """One at most: a name that nothing deleted has needs none."""
    if not workspace:
        return
    deleted: Mapping[str, str] | None = outcomes[_KEY].value
    if deleted is None:
        yield unread(_PATH, "name", _KEY)
        return
    id_ = arm_ids.parse(workspace)
    was_in = deleted.get(workspace.lower())
    if was_in is None or id_ is None:
        return
    if was_in == region:
        message = f"a deleted workspace has the name {id_.name}: `up` restores it with its logs"
        yield Row(_PATH, "name", Answer.OK, message)
        return
    yield Row(
        _PATH,
        "name",
        Answer.NAME_TAKEN,
        f"a deleted workspace in {was_in} reserves the name {id_.name} for 14 days, so it isn't available in {region}",
        fix=f"restore it in {was_in} and delete it permanently: `az monitor log-analytics workspace recover --resource-group "
        f"{id_.resource_group} --workspace-name {id_.name}`, then `az monitor log-analytics workspace delete --force "
        f"--resource-group {id_.resource_group} --workspace-name {id_.name}`; or wait; or give `team` or the stack another name",
    )


def _deleted(login: SignIn, subscription_id: str) -> dict[str, str]:
    """Regions by ids in lower case. That their ids are those of the workspaces that they were is assumed."""
    path = f"/subscriptions/{subscription_id}/providers/Microsoft.OperationalInsights/deletedWorkspaces"
    listed = get_list(path, API_VERSION, login, retries())
    return {str(each["id"]).lower(): regions.normalise(str(each["location"])) for each in listed}
