"""Rules of Microsoft.Compute for virtual machines: forms, the catalog's facts at the request's date, and missing resources.

Codes and sentences: `vm_refusals`. Rules of names, passwords and keys: Microsoft Learn, virtual-machines/linux/faq and
rest/api/compute/virtual-machines/create-or-update.
"""

import re

from azure_gpu.catalog import offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.services import vm_images
from azure_gpu.catalog.services.vm_image_table import IMAGES
from azure_gpu.catalog.size_use import OperatingSystem, Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body
from localazure.kinds import attached_identities, vm_quotas, vm_refusals as refusals
from localazure.kinds.gallery_images import image_at
from localazure.kinds.network_interfaces import machine_of
from localazure.kinds.network_refusals import missing_reference
from localazure.kinds.problem_refusals import of_service
from localazure.machines import cloud_init, model
from localazure.services import SUBSCRIPTION

_SIZE = re.compile(r"(?:Standard|Basic)_[A-Z]+\d[A-Za-z0-9_-]*")
_NOT_ADMINS = frozenset(
    {
        "1", "123", "a", "actuser", "adm", "admin", "admin1", "admin2", "administrator", "aspnet", "backup", "console",
        "david", "guest", "john", "owner", "root", "server", "sql", "support", "support_388945a0", "sys", "test", "test1",
        "test2", "test3", "user", "user1", "user2", "user3", "user4", "user5", "video",
    }
)  # fmt: skip
_KEY = re.compile(r"(?:ssh-(?:rsa|ed25519)|ecdsa-sha2-\S+) [A-Za-z0-9+/=]{40,}(?:\s.*)?", re.DOTALL)
_PASSWORD_LENGTHS = {OperatingSystem.LINUX: (6, 72), OperatingSystem.WINDOWS: (8, 123)}
_PASSWORD_PARTS = (r"[a-z]", r"[A-Z]", r"[0-9]", r"[^A-Za-z0-9]")
ZONES = ("1", "2", "3")
LATER_VERSIONS = frozenset({"2025-04-01", "2025-11-01", "2026-03-01", "2026-04-01"})  # azure-mgmt-compute 39, azure-cli 2.91


def check(change: Change) -> None:
    """ArmError for the first thing that the service wouldn't take."""
    properties = change.body.setdefault("properties", {})
    attached_identities.check(change)
    _check_imitated(properties)
    image = model.image_of(properties)
    system = model.system_of(properties, image)
    _check_required(properties, change)
    if change.previous is None:
        _check_os_profile(properties.get("osProfile") or {}, change.id.name, system)
    _check_priority(properties)
    _check_zones(change)
    _check_size(change, system)
    _check_image(change)
    _check_security(change)
    _check_interfaces(change)
    if change.previous is None or _resized(change):
        short = vm_quotas.shortage(properties, str(change.body.get("location")), change.id.key, change.services)
        if short is not None:
            raise short


def _resized(change: Change) -> bool:
    before = change.previous
    return before is not None and vm_quotas.size_of(before.properties).lower() != vm_quotas.size_of(change.properties).lower()


def _check_imitated(properties: Body) -> None:
    network: Body = properties.get("networkProfile") or {}
    if network.get("networkInterfaceConfigurations"):
        raise not_implemented("'networkInterfaceConfigurations' of a virtual machine")
    storage: Body = properties.get("storageProfile") or {}
    disk: Body = storage.get("osDisk") or {}
    if _spelt(disk, "FromImage") not in ("FromImage", ""):
        raise not_implemented(f"an operating system's disk with the createOption '{disk['createOption']}'")
    if disk.get("vhd"):
        raise not_implemented("unmanaged disks")
    for each in storage.get("dataDisks") or ():
        if _spelt(each, "Empty", "Attach") not in ("Empty", "Attach"):
            raise not_implemented(f"a data disk with the createOption '{each.get('createOption')}'")


def _spelt(disk: Body, *known: str) -> str:
    """The disk's createOption as the service spells it; azure-cli sends others."""
    given = str(disk.get("createOption") or "")
    for each in known:
        if given.lower() == each.lower():
            disk["createOption"] = given = each
    return given


def _check_required(properties: Body, change: Change) -> None:
    if not vm_quotas.size_of(properties):
        raise refusals.missing("vmSize")
    storage: Body = properties.get("storageProfile") or {}
    reference: Body = storage.get("imageReference") or {}
    named = [name for name in ("id", "communityGalleryImageId", "sharedGalleryImageId") if reference.get(name)]
    parts = [name for name in ("publisher", "offer", "sku") if reference.get(name)]
    if len(named) + bool(parts) != 1 or len(parts) not in (0, 3):
        raise refusals.missing("imageReference")
    if change.previous is None and not properties.get("osProfile"):
        raise refusals.missing("osProfile")
    if not (properties.get("networkProfile") or {}).get("networkInterfaces"):
        raise refusals.missing("networkProfile")


def _check_os_profile(profile: Body, name: str, system: OperatingSystem) -> None:
    computer = str(profile.get("computerName") or name)
    longest = 15 if system is OperatingSystem.WINDOWS else 64
    if len(computer) > longest or (system is OperatingSystem.WINDOWS and computer.isdigit()):
        raise refusals.invalid(
            "computerName",
            f"{system} computer name cannot be more than {longest} characters long, be entirely numeric, or contain the "
            f"following "
            "characters: ` ~ ! @ # $ % ^ & * ( ) = + _ [ ] { } \\ | ; : . ' \" , < > / ?.",
        )
    user = str(profile.get("adminUsername") or "")
    if not user:
        raise refusals.missing("adminUsername")
    if user.lower() in _NOT_ADMINS:
        raise refusals.invalid("adminUsername", "The Admin Username specified is not allowed.")
    password = profile.get("adminPassword")
    linux: Body = profile.get("linuxConfiguration") or {}
    keys = (linux.get("ssh") or {}).get("publicKeys") or []
    if system is OperatingSystem.WINDOWS:
        if not password:
            raise refusals.missing("adminPassword")
        if linux:
            raise refusals.invalid("linuxConfiguration", "Linux configuration is not allowed for a Windows image.")
    elif not password and not keys:
        message = "Authentication using either SSH or by user name and password must be enabled in Linux profile."
        raise refusals.invalid("linuxConfiguration", message)
    if password:
        _check_password(str(password), system)
    for key in keys:
        requested = f"/home/{user}/.ssh/authorized_keys"
        if str(key.get("path") or requested) != requested:
            raise refusals.invalid(
                "linuxConfiguration.ssh.publicKeys.path",
                f"Destination path for SSH public keys is currently limited to its default value {requested}  due to a known "
                f"issue in Linux "
                "provisioning agent.",
            )
        if not _KEY.fullmatch(str(key.get("keyData") or "").strip()):
            raise refusals.invalid(
                "linuxConfiguration.ssh.publicKeys.keyData",
                "The value of parameter linuxConfiguration.ssh.publicKeys.keyData is invalid.",
            )
    if profile.get("customData"):
        try:
            cloud_init.decoded(str(profile["customData"]))
        except cloud_init.CustomDataError:
            message = "Custom data in OSProfile must be in Base64 encoding and with a maximum length of 87380 characters."
            raise refusals.invalid("customData", message) from None


def _check_password(password: str, system: OperatingSystem) -> None:
    least, most = _PASSWORD_LENGTHS[system]
    parts = sum(bool(re.search(part, password)) for part in _PASSWORD_PARTS)
    if not least <= len(password) <= most or parts < 3:
        raise refusals.invalid(
            "adminPassword",
            f"The supplied password must be between {least}-{most} characters long and must satisfy at least 3 of password "
            f"complexity "
            "requirements from the following: 1) Contains an uppercase character 2) Contains a lowercase character 3) Contains "
            "a numeric "
            "digit 4) Contains a special character 5) Control characters are not allowed",
        )


def _check_priority(properties: Body) -> None:
    spot = vm_quotas.is_spot(properties)
    if properties.get("evictionPolicy") and not spot:
        raise refusals.not_allowed("Eviction policy can be set only on Azure Spot Virtual Machines.", "evictionPolicy")
    price = (properties.get("billingProfile") or {}).get("maxPrice")
    if price is not None and not spot:
        raise refusals.not_allowed("Max price can be set only on Azure Spot Virtual Machines.", "billingProfile.maxPrice")
    if price is not None and price != -1 and price <= 0:
        raise refusals.invalid("billingProfile.maxPrice", "Max price has to be -1, or greater than 0.")


def _check_zones(change: Change) -> None:
    zones = change.body.get("zones") or []
    if len(zones) > 1 or any(zone not in ZONES for zone in zones):
        given = ",".join(map(str, zones))
        raise refusals.bad_request(
            f"The zone(s) '{given}' for resource '{change.id.text}' is not supported. The supported zones are "
            f"'{','.join(ZONES)}', one of them.",
            "zones",
        )


def _check_size(change: Change, system: OperatingSystem) -> None:
    """A machine that is there keeps a size that has come to an end."""
    if change.previous is not None and not _resized(change):
        return
    name, region = vm_quotas.size_of(change.properties), str(change.body.get("location"))
    for _, zone in change.services.deviations.restrictions(name, region):
        if not zone or zone in (change.body.get("zones") or ()):
            raise refusals.size_not_available(name, region)
    if SIZES.find(name) is None:
        if not _SIZE.fullmatch(name) or re.match(r"Standard_N", name):
            raise refusals.unknown_size(name, SIZES.unknown(name, "vmSize"))
        return  # without a GPU: taken by its name
    use = SizeUse(
        service=Service.VIRTUAL_MACHINES,
        size=name,
        region=region,
        path="properties.hardwareProfile.vmSize",
        region_path="location",
        spot=vm_quotas.is_spot(change.properties),
        operating_system=system,
    )
    found = of_service(offers.check(use, change.as_of, prices=packaged()))
    if found:
        raise refusals.of_size(found, name, region)


def _check_image(change: Change) -> None:
    size = SIZES.find(vm_quotas.size_of(change.properties))
    boots = size.series.generations if size else ()
    given = str(((change.properties.get("storageProfile") or {}).get("imageReference") or {}).get("id") or "")
    if given:
        _check_own_image(change, given, boots)
        return
    reference = model.reference_of(change.properties)
    image = model.image_of(change.properties)
    if reference is None or image is None:
        return  # nothing is known of it
    if boots and image.generations and not set(boots) & set(image.generations):
        raise refusals.wrong_generation(vm_quotas.size_of(change.properties), image.generations[0])
    if change.previous is not None:
        return
    version = str(change.properties["storageProfile"]["imageReference"].get("version") or "latest")
    urn = f"{str(reference).replace('/', ':')}:{version}"
    path = "properties.storageProfile.imageReference"
    found = of_service(vm_images.image_problems(reference, change.as_of, path, IMAGES, size=size))
    if found:
        raise refusals.image_not_found(urn, found)
    plan: Body = change.body.get("plan") or {}
    if image.plan is not None and (plan.get("name"), plan.get("product"), plan.get("publisher")) != tuple(image.plan):
        raise ArmError(
            400,
            "VMMarketplaceInvalidInput",
            "Creating a virtual machine from Marketplace image requires Plan information in the request. The following was "
            "expected: "
            f"'name': '{image.plan.name}', 'product': '{image.plan.product}', 'publisher': '{image.plan.publisher}'.",
            target="plan",
        )


def _check_own_image(change: Change, given: str, boots: tuple[str, ...]) -> None:
    parsed = parse(given)
    types = (azure_types.GALLERY_IMAGE.arm_type, azure_types.GALLERY_IMAGE_VERSION.arm_type)
    if parsed is None:
        raise refusals.invalid("imageReference.id", f"The value '{given}' of parameter 'imageReference.id' is invalid.")
    if parsed.subscription != SUBSCRIPTION or not any(parsed.is_type(each) for each in types):
        return
    definition = image_at(parsed, change.services)
    if definition is None:
        raise ArmError(
            404,
            "GalleryImageNotFound",
            f"The gallery image {given} is not available in {change.body['location']} region. Please contact image owner to "
            "replicate to this region, or change your requested region.",
            target="imageReference",
        )
    generation = f"Gen{str(definition.properties['hyperVGeneration'])[1:]}"
    if boots and generation not in boots:
        raise refusals.wrong_generation(vm_quotas.size_of(change.properties), generation)


def _check_security(change: Change) -> None:
    security: Body = change.properties.get("securityProfile") or {}
    kind = str(security.get("securityType") or "")
    if security.get("uefiSettings") and kind != "TrustedLaunch":
        raise refusals.bad_request(
            "Use of UEFI settings is not supported without the security type TrustedLaunch.", "securityProfile"
        )
    image = model.image_of(change.properties)
    if kind == "TrustedLaunch" and image is not None and image.generations and "Gen2" not in image.generations:
        raise refusals.bad_request(
            "Use of TrustedLaunch setting is not supported for the provided image. Please select Trusted Launch Supported Gen2 "
            "OS Image. "
            "For more information, see https://aka.ms/TrustedLaunch-FAQ.",
            "securityProfile",
        )


def _check_interfaces(change: Change) -> None:
    """Each has to be there, in the same region, and with no other machine."""
    store = change.services.store
    used = change.properties["networkProfile"]["networkInterfaces"]
    for each in used:
        given = str(each.get("id") or "")
        nic = store.get(given) if given else None
        if nic is None:
            raise refusals.no_interface(given)
        if not nic.id.is_type(azure_types.NETWORK_INTERFACE.arm_type) or nic.location != change.body.get("location"):
            raise missing_reference(given, change.id.text)
        other = machine_of(nic, change.services)
        if other is not None and other.key != change.id.key:
            raise ArmError(
                409,
                "OperationNotAllowed",
                f"Network interface {nic.id.text} is in use by virtual machine {other.id.text}: an interface is attached to one.",
            )
    primary = [one for one in used if (one.get("properties") or {}).get("primary")]
    if len(used) > 1 and len(primary) != 1:
        raise refusals.invalid(
            "networkProfile.networkInterfaces",
            "Virtual machine must have one network interface set as the primary.",
        )
