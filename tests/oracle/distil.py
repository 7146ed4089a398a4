"""Writes `tests/data/arm_types.txt`: what ARM takes of the types that the program declares, as names, kinds, flags and values.

    python -m tests.oracle.distil <folder> > tests/data/arm_types.txt

The folder is a checkout of https://github.com/Azure/bicep-types-az, which Microsoft generates from its API descriptions, or one
that has its files as `<namespace>_<API version>.json`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from azure_gpu.formats.azure_types import ALL, AzureType
from localazure.shapes import default_api_version
from tests.oracle.arm_types import WITHOUT_TYPES

HEADING = """\
# Types of ARM's request bodies, of Azure/bicep-types-az at 1f896de2 (2026-08-20). Written by tests/oracle/distil.py.
# Flags: * required, < read-only, = repeats the URL. Kinds: #object, [kind] list, {kind} map, 'value' | 'value' | string.
"""
REQUIRED, READ_ONLY, FIXED = 1, 2, 8
FLAGS = {REQUIRED: "*", READ_ONLY: "<", FIXED: "="}
PLAIN = {"StringType": "string", "IntegerType": "number", "BooleanType": "boolean", "AnyType": "any"}


def table(folder: Path) -> str:
    by_file: dict[tuple[str, str], list[AzureType]] = {}
    for each in sorted(ALL, key=lambda each: each.arm_type):
        if each.arm_type not in WITHOUT_TYPES:
            by_file.setdefault((each.arm_type.split("/")[0], default_api_version(each)), []).append(each)
    return HEADING + "".join(_File(folder, *key, types).text() for key, types in by_file.items())


class _File:
    """One file of types, and the objects that its resources reach."""

    def __init__(self, folder: Path, namespace: str, version: str, types: list[AzureType]) -> None:
        flat = folder / f"{namespace.lower()}_{version}.json"
        found = [flat] if flat.exists() else folder.glob(f"generated/*/{namespace.lower()}/{version}/types.json")
        texts = [path.read_text(encoding="utf-8") for path in sorted(found)]
        [text] = [text for text in texts if f'"{types[0].arm_type}@' in text]
        self._types: list[dict[str, Any]] = json.loads(text)
        self._resources = types
        self._heading = f"{namespace}@{version}"
        self._names: dict[int, str] = {}
        self._waiting: list[int] = []

    def text(self) -> str:
        lines = [self._heading]
        bodies = {each["name"].partition("@")[0].lower(): each["body"] for each in self._types if each["$type"] == "ResourceType"}
        for each in self._resources:
            body = bodies[each.arm_type.lower()]
            if self._kind(body) != f"#{each.arm_type}":
                raise ValueError(f"{each.arm_type} isn't the name of its body")
        while self._waiting:
            number = self._waiting.pop(0)
            lines += [self._names[number], *(f" {line}" for line in self._object(self._types[number]))]
        return "\n".join(["", *lines, ""])

    def _object(self, type_: dict[str, Any]) -> Iterator[str]:
        for name, each in type_.get("properties", type_.get("baseProperties", {})).items():
            yield f"{name}{self._flags(each['flags'])} {self._kind(each['type'])}"
        if "additionalProperties" in type_:
            yield f"* {self._kind(type_['additionalProperties'])}"
        for name, each in type_.get("elements", {}).items():
            yield f"{type_['discriminator']}={name} {self._kind(each)}"

    def _flags(self, flags: int) -> str:
        return "".join(sign for flag, sign in FLAGS.items() if flags & flag)

    def _kind(self, reference: dict[str, str]) -> str:
        number = int(reference["$ref"].rpartition("/")[2])
        type_ = self._types[number]
        match type_["$type"]:
            case "ObjectType" if not type_["properties"] and "additionalProperties" in type_:
                return f"{{{self._kind(type_['additionalProperties'])}}}"
            case "ObjectType" | "DiscriminatedObjectType":
                if number not in self._names:
                    self._names[number] = self._free_name(type_["name"])
                    self._waiting.append(number)
                return f"#{self._names[number]}"
            case "ArrayType":
                return f"[{self._kind(type_['itemType'])}]"
            case "UnionType":
                return " | ".join(dict.fromkeys(self._kind(each) for each in type_["elements"]))
            case "StringLiteralType":
                return f"'{type_['value']}'"
            case plain:
                return PLAIN[plain]

    def _free_name(self, name: str) -> str:
        taken = set(self._names.values())
        return next(each for each in (name, *(f"{name}~{number}" for number in range(2, 99))) if each not in taken)


if __name__ == "__main__":
    sys.stdout.write(table(Path(sys.argv[1])))
