"""The shapes that are read from Pulumi's SDK, held against Microsoft's own types, property by property.

What it can't show: the services' rules beyond types, and values that the two sources both leave open.
"""

from collections.abc import Iterator

import pytest

from formats.azure_types import ALL, AzureType
from localazure import shapes
from localazure.shapes import ArrayShape, MapShape, ObjectShape, Shape, UnionShape
from tests.oracle import arm_types
from tests.oracle.arm_types import FIXED, READ_ONLY, REQUIRED, follow

pytestmark = pytest.mark.skipif(not arm_types.FOLDER.is_dir(), reason=arm_types.MISSING_REASON)

JUDGED = [each for each in ALL if each.arm_type not in arm_types.WITHOUT_A_FILE]
# (ARM type, path, difference) -> why it is right that the two differ
KNOWN_DIFFERENCES: dict[tuple[str, str, str], str] = {
    ("Microsoft.Resources/resourceGroups", ".properties", "read-only here"): "all that it holds is read-only",
    (
        "Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials",
        ".properties",
        "required here",
    ): "what it holds is required",
    (
        "Microsoft.ContainerService/managedClusters/agentPools",
        ".type",
        "only there",
    ): "the SDK has the pool's own `properties.type` under this name",
    ("Microsoft.ContainerService/managedClusters/agentPools", ".properties.status", "read-only here"): "all that it holds is",
    (
        "Microsoft.ContainerService/managedClusters/agentPools",
        ".properties.status.provisioningError.details[]",
        "ObjectType there, AnyShape here",
    ): "an error in an error, and so on: the service alone writes them",
    ("Microsoft.ContainerService/managedClusters", ".properties.status", "read-only here"): "all that it holds is",
    (
        "Microsoft.ContainerService/managedClusters",
        ".properties.status.provisioningError.details[]",
        "ObjectType there, AnyShape here",
    ): "an error in an error, and so on: the service alone writes them",
    (
        "Microsoft.ContainerService/managedClusters",
        ".properties.agentPoolProfiles[].status",
        "read-only here",
    ): "all that it holds is",
    (
        "Microsoft.ContainerService/managedClusters",
        ".properties.agentPoolProfiles[].status.provisioningError.details[]",
        "ObjectType there, AnyShape here",
    ): "an error in an error, and so on: the service alone writes them",
    (
        "Microsoft.ContainerService/managedClusters",
        ".properties.podIdentityProfile.userAssignedIdentities[].provisioningInfo.error.error.details[]",
        "ObjectType there, AnyShape here",
    ): "an error in an error, and so on: the service alone writes them",
    (
        "Microsoft.ContainerService/managedClusters",
        ".properties.securityProfile.customCATrustCertificates[]",
        "AnyType there, StringShape here",
    ): "the types say any value; Microsoft's own clients send a string",
    ("Microsoft.App/managedEnvironments", ".properties.daprConfiguration", "read-only here"): "all that it holds is read-only",
    ("Microsoft.App/managedEnvironments", ".properties.kedaConfiguration", "read-only here"): "all that it holds is read-only",
    (
        "Microsoft.App/managedEnvironments",
        ".properties.customDomainConfiguration.certificateValue",
        "AnyType there, StringShape here",
    ): "the types say any value; Microsoft's own clients send a string",
    (
        "Microsoft.Batch/batchAccounts/applications/versions",
        ".properties",
        "read-only here",
    ): "all that it holds is read-only",
    (
        "Microsoft.Batch/batchAccounts/pools",
        ".properties.autoScaleRun.error.details[]",
        "ObjectType there, AnyShape here",
    ): "an error in an error, and so on: the service alone writes them",
    (
        "Microsoft.Batch/batchAccounts/pools",
        ".properties.resizeOperationStatus.errors[].details[]",
        "ObjectType there, AnyShape here",
    ): "an error in an error, and so on: the service alone writes them",
    (
        "Microsoft.Batch/batchAccounts/pools",
        ".properties.resizeOperationStatus.nodeDeallocationOption",
        "only there",
    ): "it is write-only, and lies in what the service alone writes",
}


@pytest.mark.parametrize("azure_type", JUDGED, ids=lambda each: each.arm_type)
def test_every_property_name_required_flag_and_read_only_flag_agrees_with_microsofts_types(azure_type: AzureType) -> None:
    version = shapes.default_api_version(azure_type)
    types = arm_types.types_of(azure_type.arm_type, version)
    body = arm_types.resource_body(azure_type.arm_type, version)
    found = set(differences(types, body, shapes.arm_shape(azure_type), ""))
    known = {(path, what) for arm_type, path, what in KNOWN_DIFFERENCES if arm_type == azure_type.arm_type}
    assert found == known


def differences(types: list[dict], theirs: dict, ours: Shape, path: str) -> Iterator[tuple[str, str]]:
    match theirs["$type"], ours:
        case "ObjectType", MapShape():
            yield from differences(types, follow(types, theirs["additionalProperties"]), ours.values, f"{path}.*")
        case "ObjectType", ObjectShape():
            yield from property_differences(types, theirs["properties"], ours, path)
            if ("additionalProperties" in theirs) != (ours.additional is not None):
                yield path, "further properties are taken by one alone"
        case "ArrayType", ArrayShape():
            yield from differences(types, follow(types, theirs["itemType"]), ours.items, f"{path}[]")
        case "DiscriminatedObjectType", UnionShape():
            if set(theirs["elements"]) != set(ours.options):
                yield path, "other members"
            for name, option in ours.options.items():
                properties = theirs["baseProperties"] | follow(types, theirs["elements"][name])["properties"]
                yield from property_differences(types, properties, option, f"{path}<{name}>")
        case kind, _:
            if kind not in KINDS[type(ours).__name__]:
                yield path, f"{kind} there, {type(ours).__name__} here"


KINDS = {
    "AnyShape": {"AnyType"},
    "StringShape": {"StringType", "StringLiteralType", "UnionType"},
    "NumberShape": {"IntegerType"},
    "BooleanShape": {"BooleanType"},
    "ObjectShape": set(),
    "ArrayShape": set(),
    "MapShape": set(),
    "UnionShape": set(),
}


def property_differences(types: list[dict], theirs: dict, ours: ObjectShape, path: str) -> Iterator[tuple[str, str]]:
    # `apiVersion` belongs to templates; the rest of what is fixed at deployment repeats the URL.
    named = {name: each for name, each in theirs.items() if name != "apiVersion"}
    for name in named.keys() ^ ours.properties.keys():
        yield f"{path}.{name}", "only there" if name in named else "only here"
    for name in named.keys() & ours.properties.keys():
        flags, mine, here = named[name]["flags"], ours.properties[name], f"{path}.{name}"
        if not flags & FIXED and bool(flags & READ_ONLY) != mine.read_only:
            yield here, "read-only there" if flags & READ_ONLY else "read-only here"
        if mine.read_only or flags & READ_ONLY:
            yield from names_alone(types, follow(types, named[name]["type"]), mine.shape, here)
            continue
        if not flags & FIXED and bool(flags & REQUIRED) != mine.required:
            yield here, "required there" if flags & REQUIRED else "required here"
        yield from differences(types, follow(types, named[name]["type"]), mine.shape, here)


def names_alone(types: list[dict], theirs: dict, ours: Shape, path: str) -> Iterator[tuple[str, str]]:
    """Inside of what a service sets itself, the flags say nothing; the names do."""
    return (
        (where, what)
        for where, what in differences(types, theirs, ours, path)
        if "read-only" not in what and "required" not in what
    )
