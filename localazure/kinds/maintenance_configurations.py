"""Times at which AKS may change a cluster by itself. Kept as they are; nothing is changed by itself here.

Codes and sentences: `managed_cluster_refusals`; the others are assumed. A window's rules: Microsoft Learn,
articles/aks/planned-maintenance.md.
"""

from azure_gpu.catalog.services.aks.maintenance import CLUSTER_WINDOW, HOURS, NODES_WINDOW
from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body
from localazure.kinds.managed_cluster_refusals import invalid, missing
from localazure.kinds.managed_clusters import API_VERSIONS

WEEKLY_RELEASES = "default"
_SCHEDULES = ("daily", "weekly", "absoluteMonthly", "relativeMonthly")


class MaintenanceConfigurations(Kind):
    azure_type = azure_types.MAINTENANCE_CONFIGURATION
    delete_without_group = "ResourceNotFound"
    extra_api_versions = API_VERSIONS
    location = "none"
    parent_type = azure_types.MANAGED_CLUSTER.arm_type
    created_status = (
        200  # recorded, as are the deletion's 200 and names in any letter case: Test_AKS_ManagedCluster_20250801_CRUD
    )
    patchable = False
    shows_state = False

    def invalid_name(self, name: str, allowed: str) -> ArmError:  # noqa: ARG002
        message = (
            f"Only '{WEEKLY_RELEASES}', '{CLUSTER_WINDOW}' and '{NODES_WINDOW}' are allowed configNames for maintenance "
            "configuration."
        )
        return ArmError(400, "InvalidParameter", message)

    def check(self, change: Change) -> None:
        properties = change.properties
        window = properties.get("maintenanceWindow")
        if window is None:
            if change.id.name.lower() != WEEKLY_RELEASES:
                raise missing("maintenanceWindow")
            return
        schedule = window.get("schedule") or {}
        named = [name for name in _SCHEDULES if schedule.get(name)]
        if len(named) != 1:
            raise invalid("maintenanceWindow.schedule", f"it is exactly one of {', '.join(_SCHEDULES)}")
        if change.id.name.lower() == WEEKLY_RELEASES and named != ["weekly"]:
            message = f"Only weekly schedule is supported for control plane upgrade maintenance configuration: {WEEKLY_RELEASES}."
            raise ArmError(400, "InvalidParameter", message)
        if named == ["daily"] and change.id.name.lower() == CLUSTER_WINDOW.lower():
            raise invalid("maintenanceWindow.schedule.daily", f"{CLUSTER_WINDOW} takes no daily schedule")
        if not HOURS[0] <= int(window["durationHours"]) <= HOURS[1]:
            raise invalid("maintenanceWindow.durationHours", f"it is {HOURS[0]} to {HOURS[1]}")

    def defaults(self, change: Change) -> Body:
        if not change.properties.get("maintenanceWindow"):
            return {}
        # Both in Azure Service Operator's session Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24).
        kept = (change.previous.properties.get("maintenanceWindow") or {}) if change.previous else {}
        begins = kept.get("startDate") or change.as_of.isoformat()
        return {"properties": {"maintenanceWindow": {"startDate": begins, "utcOffset": "+00:00"}}}
