"""What is said about a build that waits for an agent: that it does, behind how many others, and after a while the likely reason.

Sources: Azure/azure-cli issue 31841 (2025-07-18) and Azure/bicep-ptn-aiml-landing-zone issue 18 (2026-04-26), builds that stay
queued; Microsoft Learn, container-registry-tasks-agent-pools, for registries that the service's own agents can't reach.
"""

from collections.abc import Mapping
from typing import Any

from azure_gpu.catalog import registry_modes
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.run.protocol import Say

API_VERSION = "2019-06-01-preview"  # of runs
MODE_VERSION = registry_modes.API_VERSION
QUEUED = "Queued"
QUEUED_SECONDS = 15.0  # after which a queued run is mentioned
LONG_QUEUED_SECONDS = 300.0  # after which the reason is
PLACE_SECONDS = 60.0  # between two looks at the runs before it
_OPEN = frozenset({QUEUED, "Started", "Running"})


class Queue:
    """One run of a registry."""

    def __init__(self, arm: Arm, registry_id: str, run_id: str, say: Say) -> None:
        self._arm, self._id, self._run_id, self._say = arm, registry_id, run_id, say
        self._name = registry_id.rpartition("/")[2]
        self._place, self._looked, self._is_explained = "", 0.0, False
        self.command = f"az acr task list-runs --registry {self._name} --top 20"

    def tell(self, run: Mapping[str, Any], waited: float) -> None:
        """Says that it is queued and its place, when that changes; after a while the likely reason."""
        if run.get("status") != QUEUED:
            if self._looked:
                self._say(f"run {self._run_id} has an agent after {waited / 60:.0f} minutes in the queue")
            self._looked = 0.0
            return
        if waited >= QUEUED_SECONDS and (not self._looked or waited - self._looked >= PLACE_SECONDS):
            self._looked = waited
            place = f"run {self._run_id} is queued: no build agent has taken it yet{self._ahead()}"
            if place != self._place:
                self._place = place
                self._say(place)
        if waited >= LONG_QUEUED_SECONDS and not self._is_explained:
            self._is_explained = True
            self._say(f"run {self._run_id} is still queued after {waited / 60:.0f} minutes: {self.reason()}; see: {self.command}")

    def reason(self) -> str:
        registry = (self._arm.get(self._id, MODE_VERSION) or {}).get("properties") or {}
        pool = f"an agent pool of its own (az acr agentpool create --registry {self._name}, then az acr build --agent-pool)"
        if registry.get("publicNetworkAccess") == "Disabled":
            return f"the registry is closed to public networks, and so to the service's own agents; it requires {pool}"
        return f"the service has no free agent in the registry's region, or the registry's network requires {pool}"

    def _ahead(self) -> str:
        """How many runs of the registry were there before; "" if that isn't known."""
        runs = {str(each.get("name")): each.get("properties") or {} for each in self._arm.values(f"{self._id}/runs", API_VERSION)}
        own = str((runs.get(self._run_id) or {}).get("createTime") or "")
        if not own:
            return ""
        ahead = [each for each in runs.values() if each.get("status") in _OPEN and str(each.get("createTime")) < own]
        return f"; {len(ahead)} of this registry's runs are ahead of it"
