"""Rules of Microsoft.Compute for virtual machines: the facts that the table of refusals needs, and missing resources."""

from azure_gpu.catalog.size_use import Service
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure import size_facts
from localazure.arm import refusals as table
from localazure.arm.errors import refused
from localazure.arm.kind import Change, merged, missing_reference
from localazure.arm.store import Body
from localazure.kinds import vm_quotas
from localazure.kinds.gallery_images import image_at
from localazure.kinds.network_interfaces import machine_of
from localazure.machines import model
from localazure.subscriptions import SUBSCRIPTION


def check(change: Change, arm_type: str) -> None:
    """ArmError for the first thing that the service wouldn't take."""
    properties = change.body.setdefault("properties", {})
    _spell(properties)
    profile = properties.get("osProfile")
    named = {"properties": {"osProfile": {"computerName": change.id.name, **profile}}} if profile else {}
    table.judge(arm_type, merged(change.body, named), change.as_of, facts=_facts(change))
    _check_size(change)
    _check_image(change)
    _check_interfaces(change)
    if change.previous is None or _resized(change):
        vm_quotas.check(properties, str(change.body.get("location")), change.id.key, change.services)


def _facts(change: Change) -> Body:
    properties, region = change.properties, str(change.body.get("location"))
    system = model.system_of(properties, model.image_of(properties))
    name, sized = vm_quotas.size_of(properties), change.previous is None or _resized(change)
    size = size_facts.of(name, Service.VIRTUAL_MACHINES, region, change.as_of, windows=system == "Windows")
    image = size_facts.of_image(model.reference_of(properties), change.as_of)
    boots, generations = size.get("generations") or [], image.get("generations") or []
    user = (properties.get("osProfile") or {}).get("adminUsername")
    plan: Body = change.body.get("plan") or {}
    interfaces = (properties.get("networkProfile") or {}).get("networkInterfaces") or []
    reference = (properties.get("storageProfile") or {}).get("imageReference") or {}
    return {
        **size,
        "new": change.previous is None,
        "sized": sized,
        "id": change.id.text,
        "size": name,
        "system": system,
        "spot": vm_quotas.is_spot(properties),
        "key_path": [f"/home/{user}/.ssh/authorized_keys"],
        "image": image,
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
    return before is not None and vm_quotas.size_of(before.properties).lower() != vm_quotas.size_of(change.properties).lower()


def _spell(properties: Body) -> None:
    """createOption as the service spells it; azure-cli sends others."""
    storage: Body = properties.get("storageProfile") or {}
    for disk in (storage.get("osDisk") or {}, *(storage.get("dataDisks") or ())):
        for known in ("FromImage", "Empty", "Attach"):
            if str(disk.get("createOption") or "").lower() == known.lower():
                disk["createOption"] = known


def _check_size(change: Change) -> None:
    """Faults withhold sizes. A machine that is there keeps its own."""
    if change.previous is not None and not _resized(change):
        return
    name, region = vm_quotas.size_of(change.properties), str(change.body.get("location"))
    for _, zone in change.services.deviations.restrictions(name, region):
        if not zone or zone in (change.body.get("zones") or ()):
            raise refused("SkuNotAvailable", size=name, region=region)


def _check_image(change: Change) -> None:
    given = str(((change.properties.get("storageProfile") or {}).get("imageReference") or {}).get("id") or "")
    if not given:
        return
    parsed, size = parse(given), SIZES.find(vm_quotas.size_of(change.properties))
    boots = size.series.generations if size else ()
    types = (azure_types.GALLERY_IMAGE.arm_type, azure_types.GALLERY_IMAGE_VERSION.arm_type)
    if parsed is None:
        raise refused("vm: invalid id", given=given, name="imageReference.id")
    if parsed.subscription != SUBSCRIPTION or not any(parsed.is_type(each) for each in types):
        return
    definition = image_at(parsed, change.services)
    if definition is None:
        raise refused("vm: no image", image=given, region=change.body["location"])
    number = str(definition.properties["hyperVGeneration"])[1:]
    if boots and f"Gen{number}" not in boots:
        raise refused("vm: wrong generation", size=vm_quotas.size_of(change.properties), number=number)


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
