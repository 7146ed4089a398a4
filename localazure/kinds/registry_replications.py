"""Replications of container registries to further regions: kept and shown. Images are where they are, in every region.

Statuses and members: Test_ContainerRegistry_Registry_20230701_CRUD (2025-01-22).
"""

from azure_gpu.formats import azure_types
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body
from localazure.kinds import undeclared


class Replications(Kind):
    """Made in the background, changed at once."""

    azure_type = undeclared.REPLICATION
    extra_api_versions = frozenset({"2026-09-01-preview"})  # azure-cli 2.91
    parent_type = azure_types.REGISTRY.arm_type
    long_running = True
    long_running_update = False
    long_running_delete = True
    has_system_data = True

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {"properties": {"regionEndpointEnabled": True, "zoneRedundancy": "Disabled"}}

    async def provision(self, change: Change) -> Body:
        return {"properties": {"status": {"displayStatus": "Ready", "timestamp": change.services.clock.stamp()}}}
