"""Daily shutdowns of virtual machines (Microsoft.DevTestLab/schedules): stored, shown, and carried out by the action `execute`.

Forms: Microsoft Learn, rest/api/dtl/global-schedules; the name and the task of a machine's shutdown as portal and azure-cli make
them (`shutdown-computevm-<machine>`, ComputeVmShutdownTask). Nobody is notified.
"""

import re
from collections.abc import Mapping

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.kind import Action, Answer, Call, Change, Kind
from localazure.arm.store import Body, Resource
from localazure.machines.machine import DEALLOCATED
from localazure.machines.machines import Machines
from localazure.services import Services

_PREFIX = "shutdown-computevm-"
_TIME = re.compile(r"(?:[01]\d|2[0-3])[0-5]\d")
_ZONE = re.compile(r"UTC(?:[+-]\d\d)?|.+ (?:Standard Time|Time Zone \d+)(?: .*)?")  # as Windows names them


class GlobalSchedules(Kind):
    azure_type = azure_types.GLOBAL_SCHEDULE

    def __init__(self, machines: Machines) -> None:
        self._machines = machines

    @property
    def actions(self) -> Mapping[str, Action]:
        return {"execute": self.execute}

    def facts(self, change: Change) -> Body:
        properties = change.properties
        target = parse(str(properties.get("targetResourceId") or ""))
        of_machine = target is not None and target.is_type(azure_types.VIRTUAL_MACHINE.arm_type)
        wanted = f"{_PREFIX}{target.name}" if target is not None and of_machine else f"{_PREFIX}<name of the machine>"
        return {
            "time": bool(_TIME.fullmatch(str((properties.get("dailyRecurrence") or {}).get("time") or ""))),
            "zone": bool(_ZONE.fullmatch(str(properties.get("timeZoneId") or ""))),
            "zones": "UTC, W. Europe Standard Time and the like",
            "wanted": wanted,
            "named": change.id.name.lower() == wanted.lower(),
        }

    async def execute(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        """What it does at its time, now."""

        async def work() -> None:
            await self._shut_down(resource)

        return Answer(status=202, work=work)

    async def resume_action(self, action: str, resource: Resource, services: Services) -> None:  # noqa: ARG002
        await self._shut_down(resource)

    async def _shut_down(self, resource: Resource) -> None:
        machine = self._machines.find(str(resource.properties["targetResourceId"]))
        if machine is not None and machine.power != DEALLOCATED:
            await self._machines.stop(machine.key, deallocate=True)
