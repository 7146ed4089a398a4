"""A judge of ARM bodies that knows nothing of this project's own shapes: it has Microsoft's generated types of
`tests/data/arm_types.txt`.

In: an ARM type and a body. Out: every problem as a line.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parents[1] / "data" / "arm_types.txt"
# Types that the table doesn't have. `test_gallery_shapes.py` holds those of galleries against Azure's own client.
WITHOUT_TYPES = frozenset(
    {
        "Microsoft.Authorization/locks",
        "Microsoft.Compute/diskEncryptionSets",
        "Microsoft.Compute/disks",
        "Microsoft.Compute/galleries",
        "Microsoft.Compute/galleries/images",
        "Microsoft.Compute/galleries/images/versions",
        "Microsoft.Compute/virtualMachines/runCommands",
        "Microsoft.DevTestLab/schedules",
        "Microsoft.Insights/autoscaleSettings",
        "Microsoft.Insights/privateLinkScopes",
        "Microsoft.Insights/privateLinkScopes/scopedResources",
        "Microsoft.KeyVault/vaults/keys",
        "Microsoft.Network/natGateways",
        "Microsoft.Network/privateDnsZones",
        "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
        "Microsoft.Network/bastionHosts",
        "Microsoft.Network/privateEndpoints/privateDnsZoneGroups",
        "Microsoft.Resources/deployments",
        "Microsoft.Storage/storageAccounts/blobServices",
    }
)


@dataclass(frozen=True)
class Property:
    kind: str
    required: bool
    read_only: bool
    in_url: bool  # it repeats what the URL says


@dataclass
class Object:
    properties: dict[str, Property] = field(default_factory=dict)
    additional: str = ""  # the kind of further properties; empty where none is taken
    discriminator: str = ""  # the property that says which member a body is
    members: dict[str, str] = field(default_factory=dict)  # kinds


Types = dict[str, Object]


@functools.cache
def _files() -> dict[str, str]:
    """The table's parts, by namespace and API version."""
    parts = TABLE.read_text(encoding="utf-8").split("\n\n")[1:]
    return {heading: text for heading, _, text in (part.partition("\n") for part in parts)}


@functools.cache
def types_of(arm_type: str, api_version: str) -> Types:
    """The objects of the API that has `arm_type`, by name; a resource's body has the name of its type."""
    found: Types = {}
    current = Object()
    for line in _files()[f"{arm_type.split('/')[0]}@{api_version}"].splitlines():
        if not line.startswith(" "):
            current = found[line] = Object()
            continue
        name, _, kind = line[1:].partition(" ")
        bare = name.rstrip("*<=")
        if not bare:
            current.additional = kind
        elif "=" in bare:
            current.discriminator, _, member = bare.partition("=")
            current.members[member] = kind
        else:
            flags = name[len(bare) :]
            current.properties[bare] = Property(kind, required="*" in flags, read_only="<" in flags, in_url="=" in flags)
    return found


def values(kind: str) -> list[str]:
    """The values that a kind names; an open one takes others too."""
    return [each[1:-1] for each in kind.split(" | ") if each.startswith("'")]


def arm_problems(arm_type: str, api_version: str, body: Any) -> list[str]:
    """Every problem of `body` as `path: what`; empty where Microsoft's types find none."""
    return list(_problems(types_of(arm_type, api_version), f"#{arm_type}", body, ""))


def _problems(types: Types, kind: str, value: Any, path: str) -> Iterator[str]:
    if kind.startswith("'"):
        if value not in values(kind) and not (kind.endswith(" | string") and isinstance(value, str)):
            yield f"{path}: not one of the values"
    elif kind.startswith("["):
        if not isinstance(value, list):
            yield f"{path}: not an array"
            return
        for index, each in enumerate(value):
            yield from _problems(types, kind[1:-1], each, f"{path}[{index}]")
    elif kind.startswith(("{", "#")):
        if not isinstance(value, dict):
            yield f"{path}: not an object"
            return
        expected = Object(additional=kind[1:-1]) if kind.startswith("{") else types[kind[1:]]
        yield from _object_problems(types, expected, value, path)
    elif not _is_of(kind, value):
        yield f"{path}: not a {kind}"


def _is_of(kind: str, value: Any) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "any":
            return True
    raise ValueError(f"the table has an unknown kind: {kind}")


def _object_problems(types: Types, expected: Object, body: dict[str, Any], path: str) -> Iterator[str]:
    properties, additional = expected.properties, expected.additional
    if expected.discriminator:
        given = body.get(expected.discriminator)
        if given not in expected.members:
            yield f"{path}.{expected.discriminator}: not one of the values"
            return
        member = member_of(types, expected, given)
        properties, additional = member.properties, member.additional
    for name, each in properties.items():
        if each.required and not each.in_url and body.get(name) is None:
            yield f"{path}.{name}: missing"
    for name, value in body.items():
        here = f"{path}.{name}"
        if name in properties and properties[name].read_only:
            yield f"{here}: read-only"
        elif name in properties and value is not None:
            yield from _problems(types, properties[name].kind, value, here)
        elif name not in properties and additional:
            yield from _problems(types, additional, value, here)
        elif name not in properties:
            yield f"{here}: unknown"


def member_of(types: Types, union: Object, name: str) -> Object:
    """One member of a union with what all of them have."""
    own = types[union.members[name].removeprefix("#")]
    return Object(union.properties | own.properties, own.additional)
