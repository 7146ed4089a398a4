"""Virtual machines of Microsoft.Compute as ARM resources. `localazure.machines` runs them.

A PUT is answered with 201 and ends when the machine runs; cloud-init goes on afterwards, as on a real one. Forms and defaults:
Microsoft Learn, REST reference of Microsoft.Compute/virtualMachines 2024-11-01.
"""

from collections.abc import Awaitable, Callable

from azure_gpu.formats import azure_types
from azure_gpu.formats.conditions import value_at
from localazure.arm import words
from localazure.arm.errors import ArmError, not_implemented, refused
from localazure.arm.kind import Answer, Call, Change, Kind, action, merged, reading
from localazure.arm.store import Body, Resource
from localazure.batch.nodes.agent import AgentLostError
from localazure.kinds import vm_disks, vm_rules, vm_views
from localazure.machines import model
from localazure.machines.machine import DEALLOCATED, UP, Machine
from localazure.machines.machines import Machines
from localazure.machines.run_commands import Script
from localazure.services import Services
from localazure.weather import reserved_interfaces

SHELL, POWERSHELL = "RunShellScript", "RunPowerShellScript"
_RUN_COMMAND = "runCommand"
_POWER = ("deallocate", "powerOff", "restart")


class VirtualMachines(Kind):
    azure_type = azure_types.VIRTUAL_MACHINE

    def __init__(self, machines: Machines) -> None:
        self._machines = machines

    def busy(self, resource: Resource, operation: str) -> ArmError:
        return refused("vm: command in progress") if operation == _RUN_COMMAND else super().busy(resource, operation)

    def preempts(self, action: str, operation: str) -> bool:
        return operation == _RUN_COMMAND and action in _POWER

    def check(self, change: Change) -> None:
        if change.previous is not None:
            change.body = merged(_kept(change.previous), change.body)  # what a body leaves out stays as it is
            self._check_unchanged(change.previous, change)
        vm_rules.check(change, self.arm_type)

    def _check_unchanged(self, previous: Resource, change: Change) -> None:
        for path, what in self.row["unchangeable"]:
            given = value_at(change.body, path)
            if given is not None and not _like(value_at(previous.body, path), given):
                raise refused("vm: unchangeable", what=what)
        if _luns(change.properties) != _luns(previous.properties):
            raise not_implemented("attaching data disks to an existing virtual machine, or detaching them")
        zones = change.body.get("zones")
        if zones is not None and zones != (previous.body.get("zones") or []):
            raise refused("vm: zones")

    def defaults(self, change: Change) -> Body:
        if change.previous is not None:
            return {}
        properties, new = change.properties, self.row["new"]
        system = model.system_of(properties, model.image_of(properties))
        spot = new["Spot"] if properties.get("priority") == "Spot" else {}
        rows = merged(merged(new["any"], new[system]), spot)
        found: Body = words.filled(rows, words.of(Resource(id=change.id, body=change.body), change.services))
        if model.reference_of(properties):
            found["properties"]["storageProfile"]["imageReference"]["version"] = "latest"
        if system == "Linux":
            password = bool((properties.get("osProfile") or {}).get("adminPassword"))
            found["properties"]["osProfile"]["linuxConfiguration"]["disablePasswordAuthentication"] = not password
        found["properties"]["storageProfile"]["osDisk"]["managedDisk"] = {"storageAccountType": vm_disks.default_sku(properties)}
        return found

    def begun(self, change: Change) -> Body:
        if change.previous is not None:
            return {}
        version = model.exact_version(change.properties)
        exact = {"storageProfile": {"imageReference": {"exactVersion": version}}} if version else {}
        return merged(super().begun(change), {"properties": exact})

    async def provision(self, change: Change) -> Body:
        resource = change.stored
        if self._machines.find(resource.key) is not None and change.previous is not None:
            await self._machines.apply(resource)
            return {}
        _check_capacity(resource, change.services)
        storage = _make_disks(resource, change.services)
        await self._machines.create(resource)
        return {"properties": storage}

    async def remove(self, resource: Resource, services: Services) -> None:
        """The machine goes, with the disks and interfaces that are to go with it."""
        await self._machines.remove(resource.key)
        disks = [key for key, option in vm_disks.disks_of(resource).items() if option == "Delete"]
        for key in disks:
            services.store.delete(key)
        for each in (resource.properties.get("networkProfile") or {}).get("networkInterfaces") or ():
            if (each.get("properties") or {}).get("deleteOption") == "Delete":
                _remove_interface(str(each.get("id") or ""), services)

    def view(self, resource: Resource, services: Services) -> Body:
        body = super().view(resource, services)
        extensions = vm_views.extensions_of(resource, services)
        return {**body, "resources": [{"id": one.id.text} for one in extensions]} if extensions else body

    def expanded(self, resource: Resource, what: str, services: Services) -> Body:
        if "instanceview" not in what:
            return {}
        return {"properties": {"instanceView": vm_views.instance_view(resource, self._machines, services)}}

    # Actions

    @reading("instanceView")
    async def read_instance_view(self, resource: Resource, call: Call) -> Answer:
        return Answer(body=vm_views.instance_view(resource, self._machines, call.services))

    @action("start")
    async def start(self, resource: Resource, call: Call) -> Answer:
        self._live(resource)
        return Answer(status=202, work=lambda: self._started(resource, call.services))

    @action("deallocate")
    async def deallocate(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        self._live(resource)
        disk = (resource.properties.get("storageProfile") or {}).get("osDisk") or {}
        if (disk.get("diffDiskSettings") or {}).get("option") == "Local":
            raise refused("vm: ephemeral disk")
        return Answer(status=202, work=lambda: self._machines.stop(resource.key, deallocate=True))

    @action("powerOff")
    async def power_off(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        machine = self._live(resource)
        if machine.power == DEALLOCATED:
            raise refused("vm: deallocated", name=resource.id.name)
        return Answer(status=202, work=lambda: self._machines.stop(resource.key, deallocate=False))

    @action("restart")
    async def restart(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        if self._live(resource).power not in UP:
            raise refused("vm: needs power", name=resource.id.name)
        return Answer(status=202, work=lambda: self._machines.restart(resource.key))

    @action(_RUN_COMMAND)
    async def run_command(self, resource: Resource, call: Call) -> Answer:
        machine = self._live(resource)
        script = _script(call.body, windows=machine.settings.windows)
        if machine.power not in UP:
            raise refused("vm: needs power", name=resource.id.name)
        if machine.settings.windows:
            raise not_implemented("scripts on Windows machines")

        async def run() -> Body:
            await machine.early.wait()
            return await _run_to_its_end(lambda: self._machines.commands.act(machine, script))

        return Answer(status=202, work=run)

    async def resume_action(self, action: str, resource: Resource, services: Services) -> Body | None:
        machine = self._machines.find(resource.key)
        if machine is None:
            return None
        match action:
            case "start":
                await self._started(resource, services)
            case "deallocate" | "powerOff":
                await self._machines.stop(resource.key, deallocate=action == "deallocate")
            case "restart":
                await self._machines.start(resource.key)
            case _:
                return await _run_to_its_end(lambda: self._machines.commands.acted(machine))
        return None

    async def _started(self, resource: Resource, services: Services) -> None:
        machine = self._machines.find(resource.key)
        if machine is not None and machine.power == DEALLOCATED:
            _check_capacity(resource, services)  # its place was given away
        await self._machines.start(resource.key)

    def _live(self, resource: Resource) -> Machine:
        machine = self._machines.find(resource.key)
        if machine is None:
            raise refused("vm: never made", name=resource.id.name)
        return machine


async def _run_to_its_end(work: Callable[[], Awaitable[Body]]) -> Body:
    try:
        return await work()
    except AgentLostError:
        raise refused("vm: stopped meanwhile") from None


def _script(body: Body, *, windows: bool) -> Script:
    command = str(body.get("commandId") or "")
    if not command:
        raise refused("vm: missing", name="commandId")
    requested = POWERSHELL if windows else SHELL
    if command not in (SHELL, POWERSHELL):
        raise not_implemented(f"the run command '{command}'; only {SHELL} and {POWERSHELL} are supported")
    if command != requested:
        raise refused("vm: other shell", command=command, requested=requested)
    lines = body.get("script") or []
    if not isinstance(lines, list) or not lines:
        raise refused("vm: missing", name="script")
    parameters = tuple((str(one.get("name") or ""), str(one.get("value") or "")) for one in body.get("parameters") or ())
    values = tuple(value for _, value in parameters)  # as arguments too: Azure/azure-cli issue 7505
    return Script("\n".join(str(line) for line in lines) + "\n", parameters, values)


def _check_capacity(resource: Resource, services: Services) -> None:
    if services.deviations.lacks_capacity(resource.location):
        reserved_interfaces.reserve(resource, services)
        raise refused("ZonalAllocationFailed" if resource.body.get("zones") else "AllocationFailed")


def _make_disks(resource: Resource, services: Services) -> Body:
    """The machine's disks as resources; what its storage profile shows of them beside what was requested."""
    storage = resource.body["properties"]["storageProfile"]
    zones: list[str] = list(resource.body.get("zones") or ())
    system = str(storage["osDisk"]["osType"])
    os_disk = vm_disks.make(resource.id, storage["osDisk"], resource.location, zones, system, services)
    for number, disk in enumerate(storage.get("dataDisks") or ()):
        disk.setdefault("name", f"{resource.id.name}_DataDisk_{number}")
        disk.setdefault("caching", "None")
        disk.setdefault("deleteOption", "Detach")
        disk.update(merged(vm_disks.make(resource.id, disk, resource.location, zones, "", services), disk))
    image = storage.get("imageReference") or {}
    exact = {"imageReference": {"exactVersion": image["version"]}} if str(image.get("version") or "latest") != "latest" else {}
    return {"storageProfile": {"osDisk": os_disk, **exact}}


def _remove_interface(nic_id: str, services: Services) -> None:
    """With its public address, where that is to go with it."""
    nic = services.store.get(nic_id)
    if nic is None:
        return
    services.store.delete(nic.key)
    for each in nic.properties.get("ipConfigurations") or ():
        address = (each.get("properties") or {}).get("publicIPAddress") or {}
        if (address.get("properties") or {}).get("deleteOption") == "Delete" and address.get("id"):
            services.store.delete(str(address["id"]))


def _luns(properties: Body) -> list[object]:
    return [one.get("lun") for one in (properties.get("storageProfile") or {}).get("dataDisks") or ()]


def _like(had: object, given: object) -> bool:
    """Whether what is given is what the machine has; what a body leaves out counts as unchanged."""
    if isinstance(given, dict):
        return isinstance(had, dict) and all(name not in had or _like(had[name], value) for name, value in given.items())
    if isinstance(given, list):
        return isinstance(had, list) and len(had) == len(given) and all(_like(*pair) for pair in zip(had, given, strict=True))
    if isinstance(given, str) and isinstance(had, str):
        return had.strip().lower() == given.strip().lower()
    return had == given


def _kept(previous: Resource) -> Body:
    """What a change that is silent about it leaves as it is."""
    body = merged(previous.body, {})
    lasting = ("billingProfile", "evictionPolicy", "hardwareProfile", "networkProfile", "osProfile", "priority", "storageProfile")
    return {"properties": {name: body["properties"][name] for name in lasting if name in body["properties"]}}
