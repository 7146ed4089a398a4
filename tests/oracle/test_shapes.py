"""The shapes that are read from Pulumi's SDK, held against Microsoft's own types, property by property.

What it can't show: the services' rules beyond types, and values that the two sources both leave open.
"""

from collections.abc import Iterator

from azure_gpu.formats.azure_types import ALL, AzureType
from localazure import shapes
from localazure.shapes import (
    AnyShape,
    ArrayShape,
    BooleanShape,
    MapShape,
    NumberShape,
    ObjectShape,
    Shape,
    StringShape,
    UnionShape,
)
from tests.oracle import arm_types
from tests.oracle.arm_types import Object, Property, Types

JUDGED = [each for each in ALL if each.arm_type not in arm_types.WITHOUT_TYPES]
NETWORK = [each.arm_type for each in JUDGED if each.arm_type.startswith("Microsoft.Network/")]
ONE_MEMBER = "union there, ObjectShape here"
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
        "any there, StringShape here",
    ): "the types say any value; Microsoft's own clients send a string",
    ("Microsoft.App/managedEnvironments", ".properties.daprConfiguration", "read-only here"): "all that it holds is read-only",
    ("Microsoft.App/managedEnvironments", ".properties.kedaConfiguration", "read-only here"): "all that it holds is read-only",
    (
        "Microsoft.App/managedEnvironments",
        ".properties.customDomainConfiguration.certificateValue",
        "any there, StringShape here",
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


def test_every_property_name_required_flag_and_read_only_flag_agrees_with_microsofts_types() -> None:
    found = {(each.arm_type, *difference) for each in JUDGED for difference in _of_type(each)}
    endings = {(arm_type, what): [] for arm_type, _, what in KNOWN_ENDINGS}
    for arm_type, end, what in KNOWN_ENDINGS:
        endings[arm_type, what].append(end)
    unexplained = {each for each in found if not each[1].endswith(tuple(endings.get((each[0], each[2]), ())))}
    assert unexplained == set(KNOWN_DIFFERENCES)


def _of_type(azure_type: AzureType) -> Iterator[tuple[str, str]]:
    types = arm_types.types_of(azure_type.arm_type, shapes.default_api_version(azure_type))
    return differences(types, f"#{azure_type.arm_type}", shapes.arm_shape(azure_type), "")


def differences(types: Types, kind: str, ours: Shape, path: str) -> Iterator[tuple[str, str]]:
    theirs = types[kind[1:]] if kind.startswith("#") else Object(additional=kind[1:-1])
    match _word(types, kind), ours:
        case "object", AnyShape(within_itself=True):
            return  # an error in an error, a subnet of a network of a subnet: judged where it lies outermost
        case "object", MapShape():
            yield from differences(types, theirs.additional, ours.values, f"{path}.*")
        case "object", ObjectShape():
            yield from property_differences(types, theirs.properties, ours, path)
            if bool(theirs.additional) != (ours.additional is not None):
                yield path, "further properties are taken by one alone"
        case "array", ArrayShape():
            yield from differences(types, kind[1:-1], ours.items, f"{path}[]")
        case "union", UnionShape():
            if set(theirs.members) != set(ours.options):
                yield path, "other members"
            for name, option in ours.options.items():
                member = arm_types.member_of(types, theirs, name)
                yield from property_differences(types, member.properties, option, f"{path}<{name}>")
        case word, _:
            if word != PLAIN.get(type(ours)):
                yield path, f"{word} there, {type(ours).__name__} here"


def _word(types: Types, kind: str) -> str:
    """What a kind is, in one word."""
    match kind[0]:
        case "#":
            return "union" if types[kind[1:]].discriminator else "object"
        case "{":
            return "object"
        case "[":
            return "array"
        case "'":
            return "string"
    return kind


PLAIN = {AnyShape: "any", StringShape: "string", NumberShape: "number", BooleanShape: "boolean"}


def property_differences(types: Types, theirs: dict[str, Property], ours: ObjectShape, path: str) -> Iterator[tuple[str, str]]:
    # `apiVersion` belongs to templates; the rest of what is in the URL repeats it.
    named = {name: each for name, each in theirs.items() if name != "apiVersion"}
    for name in named.keys() ^ ours.properties.keys():
        yield f"{path}.{name}", "only there" if name in named else "only here"
    for name in named.keys() & ours.properties.keys():
        each, mine, here = named[name], ours.properties[name], f"{path}.{name}"
        if not each.in_url and each.read_only != mine.read_only:
            yield here, "read-only there" if each.read_only else "read-only here"
        if mine.read_only or each.read_only:
            yield from names_alone(types, each.kind, mine.shape, here)
            continue
        if not each.in_url and each.required != mine.required:
            yield here, "required there" if each.required else "required here"
        yield from differences(types, each.kind, mine.shape, here)


def names_alone(types: Types, kind: str, ours: Shape, path: str) -> Iterator[tuple[str, str]]:
    """Inside of what a service sets itself, the flags say nothing; the names do."""
    return (
        (where, what)
        for where, what in differences(types, kind, ours, path)
        if "read-only" not in what and "required" not in what
    )
