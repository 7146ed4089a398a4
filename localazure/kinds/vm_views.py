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
    state = resource.state.lower()
    provisioning = _status(state, f"Provisioning {state}", resource.changed_at)
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
    ended = {"Succeeded": ("succeeded", "succeeded"), "Failed": ("failed/1", "failed")}
    state, shown = ended.get(extension.state, ("transitioning", "in progress"))
    message = str(extension.private.get("message") or "")
    status = {**_status(state, f"Provisioning {shown}", extension.changed_at), "message": message}
    return {"name": extension.id.name, **_handler(extension), "statuses": [status]}


def _status(state: str, shown: str, time: str) -> Body:
    level = "Error" if state.startswith("failed") else "Info"
    return {"code": f"ProvisioningState/{state}", "level": level, "displayStatus": shown, "time": time}


def _handler(extension: Resource) -> Body:
    properties = extension.properties
    kind = f"{properties.get('publisher')}.{properties.get('type')}"
    return {"type": kind, "typeHandlerVersion": str(properties.get("typeHandlerVersion") or "")}


def _agent(resource: Resource, machine: Machine, services: Services) -> Body:
    ready = _status("succeeded", "Ready", machine.record["since"])
    without_time = {name: each for name, each in ready.items() if name != "time"}
    return {
        "vmAgentVersion": AGENT_VERSION,
        "statuses": [{**ready, "message": "Guest Agent is running"}],
        "extensionHandlers": [{**_handler(one), "status": without_time} for one in extensions_of(resource, services)],
    }


def _disks(resource: Resource) -> list[Body]:
    storage: Body = resource.properties.get("storageProfile") or {}
    status = _status("succeeded", "Provisioning succeeded", resource.created_at)
    disks = (storage.get("osDisk") or {}, *(storage.get("dataDisks") or ()))
    return [{"name": str(each["name"]), "statuses": [status]} for each in disks if each.get("name")]


def _generation(machine: Machine | None) -> str:
    image = machine.settings.image if machine else None
    return "V1" if image is not None and image.generations and image.generations[0] == "Gen1" else "V2"
