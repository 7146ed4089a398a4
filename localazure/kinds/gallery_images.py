"""Image definitions of a gallery, and their versions.

A version keeps what it was made from and holds no disk: nothing is copied, and machines, disks and snapshots, which aren't served
here, are taken by the form of their ids. The service's refusals were read in:
  - Parameter '...storageProfile' is not allowed (InvalidParameter): Azure/azure_preview_modules issue 289
  - CannotDeleteResource: `galleries`
That publisher, offer and sku together are unique: Microsoft Learn, virtual-machines/azure-compute-gallery. All other codes are
assumed.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from localazure.arm.errors import ArmError, conflict
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body, Resource
from localazure.kinds.galleries import API_VERSIONS, invalid_parameter, refuse_with_children
from localazure.services import SUBSCRIPTION, Services

_FIXED = ("identifier", "osType", "osState", "hyperVGeneration", "architecture", "purchasePlan", "features")
_MADE_FROM = frozenset(
    each.lower()
    for each in (
        "Microsoft.Compute/virtualMachines",
        "Microsoft.Compute/disks",
        "Microsoft.Compute/snapshots",
        "Microsoft.Compute/images",
        "Microsoft.Compute/restorePointCollections/restorePoints/diskRestorePoints",
        azure_types.GALLERY_IMAGE_VERSION.arm_type,
        azure_types.STORAGE_ACCOUNT.arm_type,
    )
)
_SERVED = (azure_types.GALLERY_IMAGE_VERSION.arm_type, azure_types.STORAGE_ACCOUNT.arm_type)


class GalleryImages(Kind):
    """Definitions: what the versions have in common."""

    azure_type = azure_types.GALLERY_IMAGE
    extra_api_versions = API_VERSIONS
    parent_type = azure_types.GALLERY.arm_type

    def invalid_name(self, name: str, allowed: str) -> ArmError:
        return invalid_parameter("galleryImageName", name, allowed)

    def check_removal(self, resource: Resource, services: Services) -> None:
        refuse_with_children(resource, azure_types.GALLERY_IMAGE_VERSION.arm_type, services)

    def check(self, change: Change) -> None:
        properties = change.properties
        if change.previous is not None:
            for name in _FIXED:
                if name in properties and properties[name] != change.previous.properties.get(name):
                    target = f"galleryImage.properties.{name}"
                    raise conflict(f"Changing property '{target}' is not allowed.", "PropertyChangeNotAllowed")
        others = change.services.store.of_type(self.arm_type, change.id.scope)
        same = [each for each in others if each.key != change.id.key and _called(each.properties) == _called(properties)]
        if same:
            called = "/".join(_called(properties))
            raise conflict(f"The gallery has an image definition for {called} already: '{same[0].id.name}'.")

    def defaults(self, change: Change) -> Body:  # noqa: ARG002
        return {"properties": {"hyperVGeneration": "V1", "architecture": "x64"}}


class GalleryImageVersions(Kind):
    """Created in the background; the minutes of copying aren't imitated."""

    azure_type = azure_types.GALLERY_IMAGE_VERSION
    extra_api_versions = API_VERSIONS
    parent_type = azure_types.GALLERY_IMAGE.arm_type
    long_running = True
    long_running_delete = True

    def invalid_name(self, name: str, allowed: str) -> ArmError:
        return invalid_parameter("galleryImageVersionName", name, allowed)

    def check(self, change: Change) -> None:
        storage = change.properties["storageProfile"]
        if change.previous is not None and storage != change.previous.properties["storageProfile"]:
            target = "galleryImageVersion.properties.storageProfile"
            raise ArmError(400, "InvalidParameter", f"Parameter '{target}' is not allowed.", target=target)
        sources = _sources(storage)
        if not sources:
            target = "galleryImageVersion.properties.storageProfile.source"
            raise ArmError(400, "InvalidParameter", f"Required parameter '{target}' is missing (null).", target=target)
        for path, source_id in sources:
            _check_source(path, source_id, change.services)
        regions = (change.properties.get("publishingProfile") or {}).get("targetRegions")
        names = {str(each["name"]).replace(" ", "").lower() for each in regions or []}
        if names and change.body["location"] not in names:
            target = "galleryImageVersion.properties.publishingProfile.targetRegions"
            message = f"The target regions of an image version have to hold its own location '{change.body['location']}'."
            raise ArmError(400, "InvalidParameter", message, target=target)

    def defaults(self, change: Change) -> Body:
        region = {"name": change.body["location"], "regionalReplicaCount": 1, "storageAccountType": "Standard_LRS"}
        publishing = {
            "excludeFromLatest": False,
            "replicaCount": 1,
            "replicationMode": "Full",
            "storageAccountType": "Standard_LRS",
            "targetRegions": [region],
        }
        return {"properties": {"publishingProfile": publishing}}

    async def provision(self, change: Change) -> Body:
        published = change.resource.created_at if change.resource else ""
        return {"properties": {"publishingProfile": {"publishedDate": published}}}


def image_at(image: ArmId, services: Services) -> Resource | None:
    """The definition of an image, or of a version of it, that machines can be made from; None where there is none."""
    if image.is_type(azure_types.GALLERY_IMAGE_VERSION.arm_type):
        version = services.store.get(image.key)
        return services.store.get(version.id.scope) if version and version.state == "Succeeded" else None
    versions = services.store.of_type(azure_types.GALLERY_IMAGE_VERSION.arm_type, image.key)
    return services.store.get(image.key) if any(each.state == "Succeeded" for each in versions) else None


def _called(properties: Body) -> tuple[str, ...]:
    return tuple(str(properties["identifier"][name]).lower() for name in ("publisher", "offer", "sku"))


def _sources(storage: Body) -> list[tuple[str, str]]:
    """Every id that a version is made from, with its path."""
    path = "galleryImageVersion.properties.storageProfile"
    whole = storage.get("source") or {}
    found = [(f"{path}.source", whole[name]) for name in ("id", "virtualMachineId", "communityGalleryImageId") if whole.get(name)]
    disks = [("osDiskImage", storage.get("osDiskImage") or {})]
    disks += [(f"dataDiskImages[{index}]", disk) for index, disk in enumerate(storage.get("dataDiskImages") or [])]
    for name, disk in disks:
        source = disk.get("source") or {}
        found += [(f"{path}.{name}.source", source[each]) for each in ("id", "storageAccountId") if source.get(each)]
    return found


def _check_source(path: str, source_id: str, services: Services) -> None:
    if source_id.lower().startswith("/communitygalleries/"):
        return
    parsed = parse(source_id)
    if parsed is None or parsed.type.lower() not in _MADE_FROM:
        allowed = "the id of a virtual machine, a disk, a snapshot, a managed image, or an image version"
        raise invalid_parameter(path, source_id, allowed)
    ours = parsed.subscription == SUBSCRIPTION and any(parsed.is_type(each) for each in _SERVED)
    if ours and services.store.get(parsed.key) is None:
        raise ArmError(404, "NotFound", f"The entity '{source_id}' was not found.", target=path)
