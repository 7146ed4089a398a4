"""The shapes that are read from Pulumi's SDK, held against Microsoft's own types, property by property.

What it can't show: the services' rules beyond types, and values that the two sources both leave open.
"""

from collections.abc import Iterator

import pytest

from azure_gpu.formats.azure_types import ALL, AzureType
from localazure import shapes
from localazure.shapes import AnyShape, ArrayShape, MapShape, ObjectShape, Shape, UnionShape
from tests.oracle import arm_types
from tests.oracle.arm_types import FIXED, READ_ONLY, REQUIRED, follow

pytestmark = pytest.mark.skipif(not arm_types.FOLDER.is_dir(), reason=arm_types.MISSING_REASON)

JUDGED = [each for each in ALL if each.arm_type not in arm_types.WITHOUT_A_FILE]
NETWORK = [each.arm_type for each in JUDGED if each.arm_type.startswith("Microsoft.Network/")]
ONE_MEMBER = "DiscriminatedObjectType there, ObjectShape here"
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
    ("Microsoft.ContainerService/managedClusters", ".properties.status", "read-only here"): "all that it holds is",
    (
        "Microsoft.ContainerService/managedClusters",
        ".properties.agentPoolProfiles[].status",
        "read-only here",
    ): "all that it holds is",
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
        ".properties.resizeOperationStatus.nodeDeallocationOption",
        "only there",
    ): "it is write-only, and lies in what the service alone writes",
    ("Microsoft.KeyVault/vaults", ".properties.provisioningState", "read-only here"): "the service sets it",
    ("Microsoft.KeyVault/vaults", ".properties.vaultUri", "read-only here"): "the service sets it",
    ("Microsoft.Insights/components", ".properties.Name", "only there"): "it repeats the name",
    ("Microsoft.Insights/components", ".properties", "required here"): "what it holds is required",
    ("Microsoft.Consumption/budgets", ".properties", "required here"): "what it holds is required",
    **{
        ("Microsoft.MachineLearningServices/workspaces", f".properties.{name}", "only here"): "clients send it at other versions"
        for name in ("allowRecoverSoftDeletedWorkspace", "allowRoleAssignmentOnRG", "softDeleteEnabled")
    },
    (
        "Microsoft.Compute/virtualMachines",
        ".resources[].type",
        "only there",
    ): "the SDK has `properties.type` under this name",
    ("Microsoft.Compute/virtualMachines/extensions", ".type", "only there"): "the SDK has `properties.type` under this name",
}

# The same wherever such an object lies: (ARM type it lies in, end of the path, difference) -> why it is right
KNOWN_ENDINGS: dict[tuple[str, str, str], str] = {
    ("Microsoft.MachineLearningServices/workspaces/datastores", ">.artifact", ONE_MEMBER): "it has one member",
    ("Microsoft.MachineLearningServices/workspaces/jobs", ".nodes", ONE_MEMBER): "it has one member",
    ("Microsoft.MachineLearningServices/workspaces/jobs", ".webhooks.*", ONE_MEMBER): "it has one member",
    **{
        (arm_type, ending, what): why
        for arm_type in NETWORK
        for ending, what, why in (
            ("ipamPoolPrefixAllocations[].id", "only here", "lies in `pool`, which the SDK leaves out"),
            ("ipamPoolPrefixAllocations[].pool", "only there", "the SDK has its `id` alone"),
            ("ddressPools[].location", "only here", "lies in `properties` too, under one name in the SDK"),
            ("ddressPools[].properties.location", "only there", "lies beside `properties` too, under one name in the SDK"),
            (".priority", "required there", "the SDK lets it be left out"),
            ("pplicationSecurityGroups[].properties", "read-only here", "all that it holds is read-only"),
            *(
                (f".{name}", "read-only there", "the SDK takes it, of older versions; the service ignores it")
                for name in (
                    "actions",
                    "defaultSecurityRules",
                    "etag",
                    "provisioningState",
                    "resourceGuid",
                    "resourceNavigationLinks",
                    "serviceAssociationLinks",
                )
            ),
        )
    },
}


@pytest.mark.parametrize("azure_type", JUDGED, ids=lambda each: each.arm_type)
def test_every_property_name_required_flag_and_read_only_flag_agrees_with_microsofts_types(azure_type: AzureType) -> None:
    version = shapes.default_api_version(azure_type)
    types = arm_types.types_of(azure_type.arm_type, version)
    body = arm_types.resource_body(azure_type.arm_type, version)
    found = set(differences(types, body, shapes.arm_shape(azure_type), ""))
    known = {(path, what) for arm_type, path, what in KNOWN_DIFFERENCES if arm_type == azure_type.arm_type}
    endings = tuple((end, what) for arm_type, end, what in KNOWN_ENDINGS if arm_type == azure_type.arm_type)
    assert {(path, what) for path, what in found if not any(path.endswith(end) and what == why for end, why in endings)} == known


def differences(types: list[dict], theirs: dict, ours: Shape, path: str) -> Iterator[tuple[str, str]]:
    match theirs["$type"], ours:
        case "ObjectType", AnyShape(within_itself=True):
            return  # an error in an error, a subnet of a network of a subnet: judged where it lies outermost
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
