"""Times at which AKS may change a cluster by itself. Kept as they are; nothing is changed by itself here.

Names of configurations: Azure/ARO-HCP pull request 3260.
"""

from azure_gpu.formats import azure_types
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body

WEEKLY_RELEASES = "default"


class MaintenanceConfigurations(Kind):
    azure_type = azure_types.MAINTENANCE_CONFIGURATION

    def facts(self, change: Change) -> Body:
        window = change.properties.get("maintenanceWindow") or {}
        return {"schedules": [name for name, schedule in (window.get("schedule") or {}).items() if schedule]}

    def defaults(self, change: Change) -> Body:
        if not change.properties.get("maintenanceWindow"):
            return {}
        # Both in Azure Service Operator's session Test_AKS_ManagedCluster_20250801_CRUD (2026-01-24).
        kept = (change.previous.properties.get("maintenanceWindow") or {}) if change.previous else {}
        begins = kept.get("startDate") or change.as_of.isoformat()
        return {"properties": {"maintenanceWindow": {"startDate": begins, "utcOffset": "+00:00"}}}
