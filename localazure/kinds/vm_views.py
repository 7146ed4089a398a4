"""How a virtual machine is shown: its instance view, made of what the living machine tells.

Codes of states: Microsoft Learn, virtual-machines/states-billing.
"""

from azure_gpu.formats import azure_types
from localazure.arm.store import Body, Resource
from localazure.machines.machine import UP, Machine
from localazure.machines.machines import Machines
from localazure.services import Services

AGENT_VERSION = "2.14.0.1"


def instance_view(resource: Resource, machines: Machines, services: Services) -> Body:
    machine = machines.find(resource.key)
    power = machine.power if machine else "starting"
    since = machine.record["since"] if machine else resource.created_at
    provisioning = {
        "code": f"ProvisioningState/{'succeeded' if resource.state == 'Succeeded' else resource.state.lower()}",
        "level": "Error" if resource.state == "Failed" else "Info",
        "displayStatus": f"Provisioning {resource.state.lower()}",
        "time": resource.changed_at,
    }
    shown = {"code": f"PowerState/{power}", "level": "Info", "displayStatus": f"VM {power}", "time": since}
    view: Body = {"statuses": [provisioning, shown], "hyperVGeneration": _generation(machine)}
    if machine is None:
        return view
    profile = resource.properties.get("osProfile") or {}
    if power in UP:
        distribution = machine.settings.distribution
        view |= {
            "computerName": str(profile.get("computerName") or resource.id.name),
            "osName": str(distribution) if distribution else ("Windows" if machine.settings.windows else "Linux"),
            "vmAgent": _agent(resource, machine, services),
        }
    view["disks"] = _disks(resource)
    extensions = extensions_of(resource, services)
    if extensions:
        view["extensions"] = [extension_view(one) for one in extensions]
    if (resource.properties.get("diagnosticsProfile") or {}).get("bootDiagnostics", {}).get("enabled"):
        view["bootDiagnostics"] = {}
    return view


def extensions_of(resource: Resource, services: Services) -> list[Resource]:
    return services.store.of_type(azure_types.VIRTUAL_MACHINE_EXTENSION.arm_type, resource.key)


def extension_view(extension: Resource) -> Body:
    properties = extension.properties
    state = {"Succeeded": "succeeded", "Failed": "failed/1"}.get(extension.state, "transitioning")
    shown = {"Succeeded": "succeeded", "Failed": "failed"}.get(extension.state, "in progress")
    status = {
        "code": f"ProvisioningState/{state}",
        "level": "Error" if extension.state == "Failed" else "Info",
        "displayStatus": f"Provisioning {shown}",
        "message": str(extension.private.get("message") or ""),
        "time": extension.changed_at,
    }
    return {
        "name": extension.id.name,
        "type": f"{properties.get('publisher')}.{properties.get('type')}",
        "typeHandlerVersion": str(properties.get("typeHandlerVersion") or ""),
        "statuses": [status],
    }


def _agent(resource: Resource, machine: Machine, services: Services) -> Body:
    ready = {
        "code": "ProvisioningState/succeeded",
        "level": "Info",
        "displayStatus": "Ready",
        "message": "Guest Agent is running",
    }
    handlers = [
        {
            "type": f"{one.properties.get('publisher')}.{one.properties.get('type')}",
            "typeHandlerVersion": str(one.properties.get("typeHandlerVersion") or ""),
            "status": {"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Ready"},
        }
        for one in extensions_of(resource, services)
    ]
    return {
        "vmAgentVersion": AGENT_VERSION,
        "statuses": [{**ready, "time": machine.record["since"]}],
        "extensionHandlers": handlers,
    }


def _disks(resource: Resource) -> list[Body]:
    storage: Body = resource.properties.get("storageProfile") or {}
    status = {"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded"}
    names = [str(one.get("name")) for one in (storage.get("osDisk") or {}, *(storage.get("dataDisks") or ())) if one.get("name")]
    return [{"name": name, "statuses": [{**status, "time": resource.created_at}]} for name in names]


def _generation(machine: Machine | None) -> str:
    image = machine.settings.image if machine else None
    return "V1" if image is not None and image.generations and image.generations[0] == "Gen1" else "V2"
