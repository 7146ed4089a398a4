"""Managed disks: those that a virtual machine brings along, and empty ones. They hold nothing; a machine's files are a folder.

Source: Microsoft Learn, REST reference of Microsoft.Compute/disks 2024-03-02.
"""

import functools
import re

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from localazure import tables
from localazure.arm.errors import not_implemented, refused
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.machines.machines import Machines
from localazure.services import Services

_PREMIUM = re.compile(r"Standard_(?:[DG]S\d|[A-Z]+\d+(?:-\d+)?[a-z]*s)", re.IGNORECASE)
DEFAULT_GB = {"Linux": 30, "Windows": 127}  # of an operating system's disk


class Disks(Kind):
    azure_type = azure_types.DISK

    def __init__(self, machines: Machines) -> None:
        self._machines = machines

    def check(self, change: Change) -> None:
        if change.creating and (change.properties.get("creationData") or {}).get("createOption") != "Empty":
            raise not_implemented("disks with a createOption other than Empty")
        super().check(change)

    def facts(self, change: Change) -> Body:
        before = change.previous.properties.get("diskSizeGB") if change.previous else None
        return {"new": change.creating, "before": before or 0, "id": change.id.text}

    def defaults(self, change: Change) -> Body:
        sku = str((change.body.get("sku") or {}).get("name") or "Standard_LRS")
        return merged(super().defaults(change), {"sku": {"name": sku, "tier": sku.split("_")[0]}})

    def live(self, resource: Resource, services: Services) -> Body:
        machine = machine_of(resource, services)
        size = int(resource.properties.get("diskSizeGB") or 0)
        properties: Body = {
            **_performance(str((resource.body.get("sku") or {}).get("name")), size),
            "diskSizeBytes": size * 2**30,
            "diskState": _state(machine, self._machines),
        }
        return {**({"managedBy": machine.id.text} if machine else {}), "properties": properties}

    def check_removal(self, resource: Resource, services: Services) -> None:
        machine = machine_of(resource, services)
        if machine is not None:
            raise refused("disk: attached", name=resource.id.name, machine=machine.id.text)


def machine_of(disk: Resource, services: Services) -> Resource | None:
    for machine in services.store.of_type(azure_types.VIRTUAL_MACHINE.arm_type):
        if disk.key in disks_of(machine):
            return machine
    return None


def disks_of(machine: Resource) -> dict[str, str]:
    """The disks of a machine, by id in lower case, each with what becomes of it when the machine goes."""
    storage: Body = merged(machine.body, machine.service)["properties"].get("storageProfile") or {}
    found: dict[str, str] = {}
    for disk in (storage.get("osDisk") or {}, *(storage.get("dataDisks") or ())):
        disk_id = str((disk.get("managedDisk") or {}).get("id") or "")
        if disk_id:
            found[disk_id.lower()] = str(disk.get("deleteOption") or "Detach")
    return found


def default_sku(properties: Body) -> str:
    """The default SKU of a disk: Premium where the size supports it, whose name then has an "s" in its features.

    Test_Compute_VM_20220301_CRUD (2024-12-13); Microsoft Learn, virtual-machines/vm-naming-conventions, "Additive features".
    """
    size = str((properties.get("hardwareProfile") or {}).get("vmSize") or "")
    return "Premium_LRS" if _PREMIUM.match(size) else "Standard_LRS"


def make(machine: ArmId, disk: Body, location: str, zones: list[str], system: str, services: Services) -> Body:
    """The disk of a new machine, as a separate resource; what the machine's profile tells of it."""
    name = str(disk["name"])
    group = machine.text.split("/providers/")[0]
    given = str((disk.get("managedDisk") or {}).get("id") or "")
    disk_id = parse(given or f"{group}/providers/{azure_types.DISK.arm_type}/{name}")
    if disk_id is None:
        raise refused("vm: invalid id", given=given, name="managedDisk.id")
    store, now = services.store, services.clock.stamp()
    sku = str((disk.get("managedDisk") or {}).get("storageAccountType") or "Premium_LRS")
    before = store.get(disk_id.key)
    if disk.get("createOption") == "Attach":
        if before is None:
            raise refused("vm: no disk", disk=disk_id.text)
        return {"managedDisk": {"id": before.id.text, "storageAccountType": (before.body.get("sku") or {}).get("name", sku)}}
    if before is None:
        creation = {"createOption": "FromImage"} if system else {"createOption": "Empty"}
        properties: Body = {"creationData": creation, "diskSizeGB": disk.get("diskSizeGB") or DEFAULT_GB.get(system, 4)}
        if system:
            properties["osType"] = system
        body: Body = {"location": location, "sku": {"name": sku, "tier": sku.split("_")[0]}, "properties": properties}
        if zones:
            body["zones"] = zones
        store.put(Resource(id=disk_id, body=body, created_at=now, changed_at=now))
    return {
        "managedDisk": {"id": disk_id.text, "storageAccountType": sku},
        "diskSizeGB": disk.get("diskSizeGB") or DEFAULT_GB.get(system, 4),
    }


def _performance(sku: str, size: int) -> Body:
    """The IOPS and MB/s of a disk of `size` GiB, and the tier of a Premium one: Microsoft Learn, virtual-machines/disks-types."""
    kind, place = sku.split("_")[0], next((row for row in _tiers() if size <= int(row["up to GiB"])), None)
    if place is None or kind not in place:
        return {}
    tier, iops, throughput = place[kind].split()
    found: Body = {"diskIOPSReadWrite": int(iops), "diskMBpsReadWrite": int(throughput)}
    return {**found, "tier": tier} if kind == "Premium" else found


@functools.cache
def _tiers() -> tuple[dict[str, str], ...]:
    names, *rows = tables.rows(__file__, "disk_tiers.tsv")
    return tuple(dict(zip(names, row, strict=True)) for row in rows)


def _state(machine: Resource | None, machines: Machines) -> str:
    if machine is None:
        return "Unattached"
    live = machines.find(machine.key)
    return "Reserved" if live is not None and live.power == "deallocated" else "Attached"
