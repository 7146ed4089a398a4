"""The shapes of galleries, their images and versions, held against the models of azure-mgmt-compute.

Microsoft's generated types of galleries aren't in the folder of types. The client's models are of a later API version, so what
they alone have is listed here.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest
from azure.mgmt.compute import models

from azure_gpu.formats.azure_types import GALLERY, GALLERY_IMAGE, GALLERY_IMAGE_VERSION, AzureType
from localazure import shapes
from localazure.shapes import ArrayShape, MapShape, ObjectShape, Shape

LATER = {
    ".properties.imageMetadataProfiles",
    ".properties.publishingProfile.storageAccountStrategy",
    ".properties.publishingProfile.targetExtendedLocations.encryption.dataDiskImages.securityProfile",
    ".properties.publishingProfile.targetRegions.encryption.dataDiskImages.securityProfile",
    ".properties.securityProfile.secretsProvisioningSettings",
    ".properties.softDeletePolicy.gracePeriodInDays",
    ".properties.softDeletePolicy.retentionPeriodInDays",
}


@pytest.mark.parametrize(
    ("azure_type", "model"),
    [
        (GALLERY, models.Gallery),
        (GALLERY_IMAGE, models.GalleryImage),
        (GALLERY_IMAGE_VERSION, models.GalleryImageVersion),
    ],
    ids=lambda each: each.arm_type if isinstance(each, AzureType) else "",
)
def test_every_name_agrees_with_azures_own_client(azure_type: AzureType, model: type) -> None:
    found = list(differences(shapes.arm_shape(azure_type), model, ""))
    assert [path for path, where in found if where == "only here"] == []
    assert {path for path, where in found if where == "only there"} <= LATER


@pytest.mark.parametrize(
    ("azure_type", "required"),
    [
        (GALLERY, {"location"}),
        (GALLERY_IMAGE, {"location", "properties"}),
        (GALLERY_IMAGE_VERSION, {"location", "properties"}),
    ],
    ids=lambda each: each.arm_type if isinstance(each, AzureType) else "",
)
def test_what_a_body_has_to_hold(azure_type: AzureType, required: set[str]) -> None:
    shape = shapes.arm_shape(azure_type)
    assert {name for name, each in shape.properties.items() if each.required} == required


def differences(shape: ObjectShape, model: type, path: str) -> Iterator[tuple[str, str]]:
    theirs = dict(fields(model))
    for name in shape.properties.keys() ^ theirs.keys():
        yield f"{path}.{name}", "only there" if name in theirs else "only here"
    for name in shape.properties.keys() & theirs.keys():
        inner, below = innermost(shape.properties[name].shape), theirs[name]
        if isinstance(inner, ObjectShape) and below is not None:
            yield from differences(inner, below, f"{path}.{name}")


def fields(model: type) -> Iterator[tuple[str, type | None]]:
    """The names of a model's properties in JSON, each with the model of its value where it has one."""
    for owner in reversed(inspect.getmro(model)):
        for name, field in vars(owner).items():
            if type(field).__name__ == "_RestField":
                named = re.search(r"_models\.(\w+)", str(owner.__annotations__[name]))
                value: Any = getattr(models, named[1]) if named else None
                yield field._rest_name_input or name, value if inspect.isclass(value) and hasattr(value, "as_dict") else None


def innermost(shape: Shape) -> Shape:
    while isinstance(shape, ArrayShape | MapShape):
        shape = shape.items if isinstance(shape, ArrayShape) else shape.values
    return shape
