"""Extensions of virtual machines. A PUT ends when the extension has done its work on the machine, which has to run for it.

Forms: Microsoft Learn, REST reference of Microsoft.Compute/virtualMachines/extensions 2024-11-01.
"""

from azure_gpu.formats import azure_types
from localazure.arm.errors import not_implemented, refused
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.kinds import vm_views
from localazure.machines import extensions
from localazure.machines.extensions import Extension, ExtensionError
from localazure.machines.machine import UP
from localazure.machines.machines import Machines
from localazure.services import Services


class VirtualMachineExtensions(Kind):
    azure_type = azure_types.VIRTUAL_MACHINE_EXTENSION

    def __init__(self, machines: Machines) -> None:
        self._machines = machines

    def check(self, change: Change) -> None:
        super().check(change)
        properties = change.properties
        if properties.get("protectedSettingsFromKeyVault"):
            raise not_implemented("settings of an extension from a key vault")
        machine = self._machines.find(change.id.scope)
        if machine is None or machine.power not in UP:
            raise refused("vm: extensions need power")
        extension = extension_of(change.id.name, properties)
        if not extensions.known(extension):
            raise not_implemented(f"the extension {extension.handler}")
        self._check_only_one(change, extension)
        if machine.settings.windows != extension.type.lower().endswith("windows"):
            system = "Windows" if machine.settings.windows else "Linux"
            raise refused("extension: other system", handler=extension.handler, system=system)

    def _check_only_one(self, change: Change, extension: Extension) -> None:
        """A handler is on a machine once, whatever the extension is called."""
        machine = change.services.store.get(change.id.scope)
        for other in vm_views.extensions_of(machine, change.services) if machine else ():
            same = extension_of(other.id.name, other.properties).handler.lower() == extension.handler.lower()
            if same and other.key != change.id.key:
                raise refused("extension: twice", name=change.id.name, handler=extension.handler)

    async def provision(self, change: Change) -> Body:
        machine = self._machines.find(change.id.scope)
        resource = change.resource
        if machine is None or resource is None:
            raise refused("vm: extensions need power")
        if change.services.settings.nothing_runs:
            return {}
        await machine.early.wait()
        extension = extension_of(change.id.name, change.properties)
        try:
            resource.private["message"] = extensions.apply(machine, extension, change.as_of, self._machines)
        except ExtensionError as error:
            resource.private["message"] = str(error)
            if not change.properties.get("suppressFailures"):
                words = {"name": extension.name, "publisher": extension.publisher, "kind": extension.type}
                raise refused("VMExtensionProvisioningError", **words, message=error) from error
        return {}

    def check_removal(self, resource: Resource, services: Services) -> None:  # noqa: ARG002
        machine = self._machines.find(resource.id.scope)
        if machine is not None and machine.power not in UP:
            raise refused("vm: extensions need power")

    # `remove` does nothing: the driver stays, as the service's extension leaves what it has installed.

    def expanded(self, resource: Resource, what: str, services: Services) -> Body:  # noqa: ARG002
        if "instanceview" not in what:
            return {}
        return {"properties": {"instanceView": vm_views.extension_view(resource)}}


def extension_of(name: str, properties: Body) -> Extension:
    settings = properties.get("settings") or {}
    return Extension(
        name=name,
        publisher=str(properties.get("publisher")),
        type=str(properties.get("type")),
        settings=settings if isinstance(settings, dict) else {},
    )
