"""Deleted log workspaces that still have their names: those of the subscription.

Form: REST reference of Microsoft.OperationalInsights 2023-09-01, "Deleted Workspaces - List". That an entry has the id of the
workspace that it was is assumed.
"""

from collections.abc import Iterator, Sequence

from azure_gpu.formats import azure_types
from localazure.arm.store import Body
from localazure.services import Services
from localazure.weather import deleted_logs

API_VERSIONS = frozenset({"2020-08-01", "2022-10-01", "2023-09-01", "2025-02-01", "2025-07-01"})


def is_list(below: Sequence[str]) -> bool:
    """`below`: what follows the subscription, in lower case."""
    return list(below) == ["providers", "microsoft.operationalinsights", "deletedworkspaces"]


def answered(services: Services) -> Iterator[Body]:
    for remains in deleted_logs.DELETED.all(services):
        yield {
            "id": remains.id,
            "name": remains.name,
            "type": azure_types.LOG_WORKSPACE.arm_type,
            "location": remains.location,
            "tags": remains.tags,
            "properties": {**remains.body.get("properties", {}), **remains.service.get("properties", {})},
        }
