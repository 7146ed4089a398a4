"""Deleted log workspaces that still have their names: those of the subscription.

Form: REST reference of Microsoft.OperationalInsights 2023-09-01, "Deleted Workspaces - List". That an entry has the id of the
workspace that it was is assumed.
"""

from collections.abc import Iterator

from azure_gpu.formats import azure_types
from localazure.arm.store import Body
from localazure.services import Services
from localazure.weather import deleted_logs


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
