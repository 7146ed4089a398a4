"""Rules of Microsoft.Compute for virtual machines: the facts that the table of refusals needs, and missing resources."""

from azure_gpu.catalog.size_use import Service
from azure_gpu.catalog.sizes.model import same_family
from azure_gpu.formats import azure_types
from localazure import size_facts
from localazure.arm import refusals as table
from localazure.arm.errors import refused
from localazure.arm.kind import Change, merged, missing_reference
from localazure.arm.store import Body
from localazure.kinds import gallery_images
from localazure.kinds.network_interfaces import machine_of
from localazure.kubernetes.node_templates import quota_family, quota_vcpus
from localazure.lists.compute import FAMILY_VCPUS, SPOT_VCPUS, TOTAL_VCPUS
from localazure.machines import model
from localazure.services import Services

_SPOT, _ALL = "lowPriorityCores", "cores"


def check(change: Change, arm_type: str) -> None:
    """ArmError for the first thing that the service wouldn't take."""
    properties = change.body.setdefault("properties", {})
    _spell(properties)
    profile = properties.get("osProfile")
    named = {"properties": {"osProfile": {"computerName": change.id.name, **profile}}} if profile else {}
    table.judge(arm_type, merged(change.body, named), change.as_of, facts=_facts(change))
    _check_interfaces(change)
    if change.previous is None or _resized(change):
        _check_quota(properties, str(change.body.get("location")), change.id.key, change.services)


def _facts(change: Change) -> Body:
    properties, region = change.properties, str(change.body.get("location"))
    system = model.system_of(properties, model.image_of(properties))
    name, sized = _size_of(properties), change.previous is None or _resized(change)
    size = size_facts.of(name, Service.VIRTUAL_MACHINES, region, change.as_of, windows=system == "Windows")
    image = size_facts.of_image(model.reference_of(properties), change.as_of)
    zones = change.body.get("zones") or ()
    boots, generations = size.get("generations") or [], image.get("generations") or []
    user = (properties.get("osProfile") or {}).get("adminUsername")
    plan: Body = change.body.get("plan") or {}
    interfaces = (properties.get("networkProfile") or {}).get("networkInterfaces") or []
    reference = (properties.get("storageProfile") or {}).get("imageReference") or {}
    return {
        **size,
        "new": change.previous is None,
        "sized": sized,
        "withheld": any(not zone or zone in zones for _, zone in change.services.deviations.restrictions(name, region)),
        "id": change.id.text,
        "size": name,
        "system": system,
        "spot": _is_spot(properties),
        "key_path": [f"/home/{user}/.ssh/authorized_keys"],
        "image": image,
        "gallery": gallery_images.facts_of(str(reference.get("id") or ""), name, change.services),
        "image_version": reference.get("version") or "latest",
        "boots": boots,
        "fits": not boots or not generations or bool(set(boots) & set(generations)),
        "generation": str(generations[0]).removeprefix("Gen") if generations else "",
        "second": "Gen2" in generations,
        "has_plan": image.get("plan") == {each: plan.get(each) for each in ("name", "product", "publisher")},
        "primary": sum(bool((one.get("properties") or {}).get("primary")) for one in interfaces),
    }


def _resized(change: Change) -> bool:
    before = change.previous
    return before is not None and _size_of(before.properties).lower() != _size_of(change.properties).lower()


def _spell(properties: Body) -> None:
    """createOption as the service spells it; azure-cli sends others."""
    storage: Body = properties.get("storageProfile") or {}
    for disk in (storage.get("osDisk") or {}, *(storage.get("dataDisks") or ())):
        for known in ("FromImage", "Empty", "Attach"):
            if str(disk.get("createOption") or "").lower() == known.lower():
                disk["createOption"] = known


def _check_interfaces(change: Change) -> None:
    """Each has to be there, in the same region, and with no other machine."""
    store = change.services.store
    used = change.properties["networkProfile"]["networkInterfaces"]
    for each in used:
        given = str(each.get("id") or "")
        nic = store.get(given) if given else None
        if nic is None:
            raise refused("vm: no interface", reference=given)
        if not nic.id.is_type(azure_types.NETWORK_INTERFACE.arm_type) or nic.location != change.body.get("location"):
            raise missing_reference(given, change.id.text)
        other = machine_of(nic, change.services)
        if other is not None and other.key != change.id.key:
            raise refused("vm: interface in use", nic=nic.id.text, machine=other.id.text)


def _check_quota(properties: Body, region: str, but: str, services: Services) -> None:
    """ArmError for a machine with these properties that doesn't fit. `but`: the key of the machine itself.

    Numbers as `lists/compute` tells them; faults on purpose set others (service `compute`). Machines count whether or not they
    are allocated: Microsoft Learn, virtual-machines/quotas. Nodes of AKS and Batch are counted by those.
    """
    size, spot = _size_of(properties), _is_spot(properties)
    requested = quota_vcpus(size)
    family = quota_family(size)
    used = {_SPOT: 0, _ALL: 0}
    of_family = 0
    for other in services.store.of_type(azure_types.VIRTUAL_MACHINE.arm_type):
        if other.key == but or other.location != region:
            continue
        vcpus = quota_vcpus(_size_of(other.properties))
        used[_SPOT if _is_spot(other.properties) else _ALL] += vcpus
        if not _is_spot(other.properties) and same_family(quota_family(_size_of(other.properties)), family):
            of_family += vcpus
    if spot:
        rows = [(_SPOT, "LowPriorityCores", used[_SPOT], SPOT_VCPUS)]
    else:
        rows = [(family, f"{family} Cores", of_family, FAMILY_VCPUS)] if family else []
        rows.append((_ALL, "Total Regional Cores", used[_ALL], TOTAL_VCPUS))
    for name, shown, taken, default in rows:
        limit, elsewhere = services.deviations.quota("compute", region, name, default)
        if requested > limit - elsewhere - taken:
            used_now = elsewhere + taken
            words = {"name": shown, "region": region, "limit": limit, "used": used_now, "requested": requested}
            raise refused("vm: over quota", **words, needed=used_now + requested)


def _size_of(properties: Body) -> str:
    return str((properties.get("hardwareProfile") or {}).get("vmSize") or "")


def _is_spot(properties: Body) -> bool:
    return properties.get("priority") in ("Spot", "Low")
