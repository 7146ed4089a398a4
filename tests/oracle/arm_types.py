"""A judge of ARM bodies that knows nothing of this project's own shapes: Microsoft's generated types, kept beside the checkout.

In: an ARM type, an API version and a body. Out: every problem as a line. Format of the files: `../shared/azure-types/README.md`.
"""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "azure-types"
MISSING_REASON = "needs Microsoft's ARM types in ../shared/azure-types beside the checkout"
# Types that no file in that folder has. `test_gallery_shapes.py` holds those of galleries against Azure's own client.
WITHOUT_A_FILE = frozenset(
    {
        "Microsoft.Compute/disks",
        "Microsoft.Compute/galleries",
        "Microsoft.Compute/galleries/images",
        "Microsoft.Compute/galleries/images/versions",
        "Microsoft.Compute/virtualMachines/runCommands",
        "Microsoft.DevTestLab/schedules",
        "Microsoft.Insights/autoscaleSettings",
        "Microsoft.Network/bastionHosts",
        "Microsoft.Network/privateEndpoints/privateDnsZoneGroups",
        "Microsoft.Resources/deployments",
        "Microsoft.Storage/storageAccounts/blobServices",
    }
)
REQUIRED, READ_ONLY, WRITE_ONLY, FIXED = 1, 2, 4, 8


@functools.cache
def types_of(arm_type: str, api_version: str) -> list[dict[str, Any]]:
    """The file of types that holds `arm_type` at `api_version`."""
    path = FOLDER / f"{arm_type.split('/')[0].lower()}_{api_version}.json"
    return json.loads(path.read_text(encoding="utf-8"))


def resource_body(arm_type: str, api_version: str) -> dict[str, Any]:
    types = types_of(arm_type, api_version)
    wanted = f"{arm_type}@{api_version}".lower()
    (resource,) = (each for each in types if each["$type"] == "ResourceType" and each["name"].lower() == wanted)
    return follow(types, resource["body"])


def follow(types: list[dict[str, Any]], reference: dict[str, str]) -> dict[str, Any]:
    return types[int(reference["$ref"].removeprefix("#/"))]


def arm_problems(arm_type: str, api_version: str, body: Any) -> list[str]:
    """Every problem of `body` as `path: what`; empty where Microsoft's types find none."""
    return list(_problems(types_of(arm_type, api_version), resource_body(arm_type, api_version), body, ""))


def _problems(types: list[dict[str, Any]], expected: dict[str, Any], value: Any, path: str) -> Iterator[str]:
    match expected["$type"]:
        case "ObjectType" | "DiscriminatedObjectType" if not isinstance(value, dict):
            yield f"{path}: not an object"
        case "ObjectType":
            additional = expected.get("additionalProperties")
            yield from _object_problems(types, expected["properties"], additional, value, path)
        case "DiscriminatedObjectType":
            yield from _discriminated_problems(types, expected, value, path)
        case "ArrayType":
            if not isinstance(value, list):
                yield f"{path}: not an array"
                return
            for index, each in enumerate(value):
                yield from _problems(types, follow(types, expected["itemType"]), each, f"{path}[{index}]")
        case "UnionType":
            if all(list(_problems(types, follow(types, each), value, path)) for each in expected["elements"]):
                yield f"{path}: not one of the values"
        case "StringLiteralType" if value != expected["value"]:
            yield f"{path}: not '{expected['value']}'"
        case "StringType" if not isinstance(value, str):
            yield f"{path}: not a string"
        case "IntegerType" if isinstance(value, bool) or not isinstance(value, int | float):
            yield f"{path}: not a number"
        case "BooleanType" if not isinstance(value, bool):
            yield f"{path}: not a boolean"


def _object_problems(
    types: list[dict[str, Any]], properties: dict[str, Any], additional: Any, body: dict[str, Any], path: str
) -> Iterator[str]:
    for name, each in properties.items():
        if each["flags"] & REQUIRED and not each["flags"] & FIXED and body.get(name) is None:
            yield f"{path}.{name}: missing"
    for name, value in body.items():
        here = f"{path}.{name}"
        if name in properties and properties[name]["flags"] & READ_ONLY:
            yield f"{here}: read-only"
        elif name in properties and value is not None:
            yield from _problems(types, follow(types, properties[name]["type"]), value, here)
        elif name not in properties and additional is not None:
            yield from _problems(types, follow(types, additional), value, here)
        elif name not in properties:
            yield f"{here}: unknown"


def _discriminated_problems(
    types: list[dict[str, Any]], expected: dict[str, Any], body: dict[str, Any], path: str
) -> Iterator[str]:
    given = body.get(expected["discriminator"])
    if given not in expected["elements"]:
        yield f"{path}.{expected['discriminator']}: not one of the values"
        return
    element = follow(types, expected["elements"][given])
    properties = expected["baseProperties"] | element["properties"]
    yield from _object_problems(types, properties, element.get("additionalProperties"), body, path)
