"""Daily shutdowns of virtual machines (Microsoft.DevTestLab/schedules): at their time they deallocate their machine.

Forms: Microsoft Learn, rest/api/dtl/global-schedules; the name and the task of a machine's shutdown as portal and azure-cli make
them (`shutdown-computevm-<machine>`, ComputeVmShutdownTask). Nobody is notified.
"""

import asyncio
import logging
from datetime import datetime, timedelta

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.kind import Answer, Call, Change, Kind, action
from localazure.arm.store import Body, Resource
from localazure.machines import schedules
from localazure.machines.machine import DEALLOCATED
from localazure.machines.machines import Machines
from localazure.services import Services

log = logging.getLogger(__name__)
_PREFIX = "shutdown-computevm-"
_LEEWAY = timedelta(hours=1)  # after a time that no server saw, a later one doesn't make up for it


class GlobalSchedules(Kind):
    azure_type = azure_types.GLOBAL_SCHEDULE

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._looked: datetime | None = None
        self._going: set[asyncio.Task[None]] = set()

    def facts(self, change: Change) -> Body:
        properties = change.properties
        target = parse(str(properties.get("targetResourceId") or ""))
        of_machine = target is not None and target.is_type(azure_types.VIRTUAL_MACHINE.arm_type)
        wanted = f"{_PREFIX}{target.name}" if target is not None and of_machine else f"{_PREFIX}<name of the machine>"
        return {
            "time": schedules.time_of(str((properties.get("dailyRecurrence") or {}).get("time") or "")) is not None,
            "zone": properties.get("timeZoneId") in schedules.ZONES,
            "zones": ", ".join(sorted(schedules.ZONES)),
            "wanted": wanted,
            "named": change.id.name.lower() == wanted.lower(),
        }

    @action("execute")
    async def execute(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        """What it does at its time, now."""
        return Answer(status=202, work=lambda: self._shut_down(resource))

    async def resume_action(self, action: str, resource: Resource, services: Services) -> None:  # noqa: ARG002
        await self._shut_down(resource)

    async def started(self, services: Services) -> None:
        self._machines.each_tick(lambda: self.look(services))

    def look(self, services: Services) -> None:
        """Begins the shutdowns that have become due since it last looked."""
        now = services.clock.now()
        after = max(self._looked or now - timedelta(seconds=1), now - _LEEWAY)
        self._looked = now
        for resource in services.store.of_type(self.arm_type):
            properties = resource.properties
            time, zone = str(properties["dailyRecurrence"]["time"]), str(properties["timeZoneId"])
            if properties.get("status") == "Enabled" and schedules.due(time, zone, after, now):
                task = asyncio.create_task(self._quietly(resource))
                self._going.add(task)
                task.add_done_callback(self._going.discard)

    async def _quietly(self, resource: Resource) -> None:
        try:
            await self._shut_down(resource)
        except Exception:
            log.exception("the shutdown %s failed", resource.id.text)

    async def _shut_down(self, resource: Resource) -> None:
        machine = self._machines.find(str(resource.properties["targetResourceId"]))
        if machine is not None and machine.power != DEALLOCATED:
            await self._machines.stop(machine.key, deallocate=True)
