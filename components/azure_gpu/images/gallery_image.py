"""A custom image in a Compute Gallery, for pools with software that no Marketplace image has.

It declares the gallery, the image's definition and one version of it, created from a machine, a snapshot or another image.
examples/gallery-image shows how to prepare such a machine. Not included: building it, sharing it, specialized images, which Batch
doesn't support.
"""

from __future__ import annotations

from typing import Any, Unpack, overload

import pulumi
from pulumi_azure_native import compute

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.foundation import common
from azure_gpu.images.args import GalleryImageArgs, GalleryImageWiring, ImageComponent, ImageOfPool
from azure_gpu.images.spec import DISKS, VIRTUAL_MACHINE, GalleryImageSpec, of_pool, resolve
from azure_gpu.shared import overrides
from azure_gpu.shared.component import Component, OnlyInPython
from azure_gpu.shared.context import Context, declared
from azure_gpu.shared.overrides import Overrides
from azure_gpu.shared.wired import Wired

# Properties that replace definition and version. Source: hashicorp/terraform-provider-azurerm, the documentation of
# azurerm_shared_image and azurerm_shared_image_version, which lists what forces a new one.
REPLACING_DEFINITION = ["architecture", "hyperVGeneration", "identifier", "location", "osState", "osType"]
REPLACING_VERSION = ["location", "storageProfile"]
REPLACING = [
    *(f"definition: {path}" for path in REPLACING_DEFINITION),
    *(f"version: {path}" for path in REPLACING_VERSION),
]
_GENERATIONS = {"Gen1": "V1", "Gen2": "V2"}
_Wired = Wired[GalleryImageWiring, GalleryImageSpec]


class GalleryImage(Component[GalleryImageArgs, GalleryImageWiring, GalleryImageSpec], ImageComponent):
    """A custom image in a Compute Gallery. Raises `Refused` for invalid arguments."""

    version_id: pulumi.Output[str] | None
    """ARM id of the version; None without one."""
    definition_id: pulumi.Output[str]
    """ARM id of the definition, which contains the versions."""
    definition_name: pulumi.Output[str]
    """Its name in the gallery."""
    gallery_name: pulumi.Output[str]
    """Name of the gallery in Azure."""
    of_pool: OnlyInPython[ImageOfPool]
    """The same as an argument of pools."""

    @overload
    def __init__(self, name: str, args: GalleryImageArgs | _Wired, opts: pulumi.ResourceOptions | None = None) -> None: ...

    @overload
    def __init__(self, name: str, *, opts: pulumi.ResourceOptions | None = None, **kw: Unpack[GalleryImageArgs]) -> None: ...

    def __init__(self, *args: Any, **kw: Any) -> None:
        super().__init__(*args, **kw)

    _wire = staticmethod(common.wire)

    def _resolve(self, args: GalleryImageWiring, context: Context) -> tuple[GalleryImageSpec, list[Problem]]:
        spec, problems = resolve(self._name, args, context)
        if not context.location and "location" not in args:
            problems.append(refused("gallery.no_location", context.own_path("location")))
        return spec, problems

    def _declare(self, spec: GalleryImageSpec) -> None:
        self._location = declared(spec.location, self._args.get("location"))
        gallery = self._gallery(spec)
        definition = self._definition(spec, gallery)
        self.definition_id = definition.id
        self.definition_name = definition.name
        self.gallery_name = gallery.name
        self.version_id = self._image_version(spec, spec.source, gallery, definition).id if spec.source else None
        self.of_pool = of_pool(spec, self.version_id or "")

    def _gallery(self, spec: GalleryImageSpec) -> compute.Gallery:
        return compute.Gallery(
            f"{self._name}-gallery",
            gallery_name=spec.gallery_name,
            resource_group_name=self._args["resource_group_name"],
            location=self._location,
            description=spec.description,
            tags=spec.tags,
            opts=self._options(["location"]),
        )

    def _regions(self, spec: GalleryImageSpec) -> list[pulumi.Input[str]]:
        """Returns the regions of the version, which include its own."""
        own = [self._location] if self._location is not None and not spec.location else []
        return [*own, *spec.regions]

    def _options(self, replacing: list[str], given: Overrides | None = None) -> pulumi.ResourceOptions:
        """Names are fixed, so the old resource is deleted before its replacement is created. `given`: overrides."""
        return pulumi.ResourceOptions(
            parent=self,
            replace_on_changes=replacing,
            delete_before_replace=True,
            transformations=overrides.applied(given, self),
        )

    def _definition(self, spec: GalleryImageSpec, gallery: compute.Gallery) -> compute.GalleryImage:
        return compute.GalleryImage(
            f"{self._name}-definition",
            gallery_image_name=spec.image_name,
            gallery_name=gallery.name,
            resource_group_name=self._args["resource_group_name"],
            location=self._location,
            identifier=compute.GalleryImageIdentifierArgs(publisher=spec.publisher, offer=spec.offer, sku=spec.sku),
            os_type=compute.OperatingSystemTypes(spec.os_type),
            os_state=compute.OperatingSystemStateTypes.GENERALIZED,  # the only state that Batch supports
            hyper_v_generation=_GENERATIONS[spec.generation],
            architecture=compute.Architecture.X64,  # of every size with a GPU that Batch is known to support
            description=spec.description,
            tags=spec.tags,
            opts=self._options(REPLACING_DEFINITION, self._args.get("overrides")),
        )

    def _image_version(
        self, spec: GalleryImageSpec, source: ArmId, gallery: compute.Gallery, definition: compute.GalleryImage
    ) -> compute.GalleryImageVersion:
        regions = [compute.TargetRegionArgs(name=region, regional_replica_count=spec.replicas) for region in self._regions(spec)]
        return compute.GalleryImageVersion(
            f"{self._name}-version",
            gallery_image_version_name=spec.version,
            gallery_image_name=definition.name,
            gallery_name=gallery.name,
            resource_group_name=self._args["resource_group_name"],
            location=self._location,
            storage_profile=_storage_profile(source),
            publishing_profile=compute.GalleryImageVersionPublishingProfileArgs(target_regions=regions),
            tags=spec.tags,
            opts=self._options(REPLACING_VERSION),
        )


def _storage_profile(source: ArmId) -> compute.GalleryImageVersionStorageProfileArgs:
    """Machines and images are sources of the whole version, disks and snapshots of the operating system's disk."""
    if any(source.is_type(each) for each in DISKS):
        disk = compute.GalleryOSDiskImageArgs(source=compute.GalleryDiskImageSourceArgs(id=source.text))
        return compute.GalleryImageVersionStorageProfileArgs(os_disk_image=disk)
    key = "virtual_machine_id" if source.is_type(VIRTUAL_MACHINE) else "id"
    return compute.GalleryImageVersionStorageProfileArgs(
        source=compute.GalleryArtifactVersionFullSourceArgs(**{key: source.text})
    )
