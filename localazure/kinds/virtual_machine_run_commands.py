"""Managed run commands of virtual machines: scripts as resources. A PUT runs the script, again each time.

Forms: Microsoft Learn, REST reference of Microsoft.Compute/virtualMachines/runCommands 2024-11-01, and
virtual-machines/linux/run-command-managed.
"""

from azure_gpu.formats import azure_types
from localazure.arm.errors import not_implemented, refused
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.machines import identity_tokens
from localazure.machines.machine import UP, Machine
from localazure.machines.machines import Machines
from localazure.machines.run_commands import PENDING, RUNNING, SUCCEEDED, Script
from localazure.services import Services

_LONGEST_SECONDS = 90 * 60  # where timeoutInSeconds says nothing
_PUBLISHER, _TYPE = "Microsoft.CPlat.Core", "RunCommandHandlerLinux"


class VirtualMachineRunCommands(Kind):
    azure_type = azure_types.VIRTUAL_MACHINE_RUN_COMMAND

    def __init__(self, machines: Machines) -> None:
        self._machines = machines

    def check(self, change: Change) -> None:
        properties = change.properties
        source: Body = properties.get("source") or {}
        if source.get("commandId"):
            raise not_implemented("run commands with 'commandId'; set 'script'")
        if source.get("scriptUri"):
            raise not_implemented("run commands with 'scriptUri'; set 'script'")
        super().check(change)
        machine = self._machines.find(change.id.scope)
        if machine is None or machine.power not in UP:
            raise refused("vm: extensions need power")
        if machine.settings.windows:
            raise not_implemented("scripts on Windows machines")
        self._script(change, machine)

    async def provision(self, change: Change) -> Body:
        machine = self._machine(change)
        if change.services.settings.nothing_runs:
            return {}
        await machine.early.wait()
        await self._machines.commands.begin(machine, change.id.name.lower(), self._script(change, machine))
        return await self._settled(change, machine)

    async def resume(self, change: Change) -> Body:
        machine = self._machine(change)
        kept = machine.record["runs"].get(change.id.name.lower())
        if kept is None or kept["state"] == PENDING:  # the server before was killed before it ran
            return await self.provision(change)
        return await self._settled(change, machine)

    async def _settled(self, change: Change, machine: Machine) -> Body:
        if change.properties.get("asyncExecution"):
            return {}
        kept = await self._machines.commands.settled(machine, change.id.name.lower())
        if change.properties.get("treatFailureAsDeploymentFailure") and kept["state"] not in (SUCCEEDED, RUNNING):
            words = {"name": change.id.name, "publisher": _PUBLISHER, "kind": _TYPE, "message": kept["message"]}
            raise refused("VMExtensionProvisioningError", **words)
        return {}

    async def remove(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        machine = self._machines.find(resource.id.scope)
        if machine is not None:
            await self._machines.commands.remove(machine, resource.id.name.lower())

    def expanded(self, resource: Resource, what: str, services: Services) -> Body:  # noqa: ARG002
        machine = self._machines.find(resource.id.scope)
        if "instanceview" not in what or machine is None:
            return {}
        return {"properties": {"instanceView": self._machines.commands.view(machine, resource.id.name.lower())}}

    def _machine(self, change: Change) -> Machine:
        machine = self._machines.find(change.id.scope)
        if machine is None:
            raise refused("vm: gone", id=change.id.text)
        return machine

    def _script(self, change: Change, machine: Machine) -> Script:
        properties = change.properties
        given = [*(properties.get("parameters") or ()), *(properties.get("protectedParameters") or ())]
        parameters = tuple((str(one.get("name") or ""), str(one.get("value") or "")) for one in given)
        streams = (
            [file, url, _principal(url, properties.get(f"{name}BlobManagedIdentity"), machine, change.services), 0]
            for file, name in (("stdout", "output"), ("stderr", "error"))
            if (url := str(properties.get(f"{name}BlobUri") or ""))
        )
        return Script(
            text=str(properties["source"]["script"]),
            parameters=parameters,
            # Those with a name are variables alone, so that a list of processes shows no secret: Azure/run-command-handler-linux.
            arguments=tuple(value for name, value in parameters if not name),
            seconds=float(properties.get("timeoutInSeconds") or _LONGEST_SECONDS),
            streams=tuple(streams),
        )


def _principal(url: str, identity: Body | None, machine: Machine, services: Services) -> str | None:
    """Who writes a blob: None for an address with a signature; the machine's own identity where none is named."""
    if "sig=" in url:
        return None
    chosen = str((identity or {}).get("clientId") or (identity or {}).get("objectId") or "").lower()
    for principal, client, resource_id in identity_tokens.held_by(services.store.get(machine.key), services):
        if chosen and chosen in (principal.lower(), client.lower()):
            return principal
        if not chosen and resource_id == machine.settings.id.text:
            return principal
    raise refused("run command: no identity", which=f"'{chosen}'" if chosen else "(system-assigned)")
