"""What a change of the package schema breaks for users of the one before: their programs no longer compile, or are refused.

In: two schemas. Out: one line for each thing that is gone or narrower. A schema is a contract in both directions: of an argument,
everything that was taken has to be taken still; of an output, nothing may come that didn't come before. Names of types count, as
programs in languages with types name them.

`python -m tests.components.host.contract` prints what of today's schema is the contract, for tests/data/released_schema.json.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Spec = Mapping[str, Any]
_TYPE = "#/types/"
_ANY = "pulumi.json#/Any"
_WIDER = {("integer", "number")}


class Break(NamedTuple):
    """One thing that breaks."""

    where: str
    """What a changelog names: `BatchPool.size`, `BatchStartTask.command`, `ClusterTier`."""
    what: str

    def __str__(self) -> str:
        return f"`{self.where}`: {self.what}"


def breaks(before: Spec, after: Spec) -> list[Break]:
    """Everything that breaks, in the order of the schema before."""
    return list(dict.fromkeys(_Change(before, after).found()))


def skeleton(schema: Spec) -> dict[str, Any]:
    """What of a schema is the contract: without descriptions, and what is for one language."""
    kept = {key: schema[key] for key in ("name", "version", "types", "resources")}
    return _without(kept, {"description", "language"})


def _without(value: Any, keys: set[str]) -> Any:
    if isinstance(value, Mapping):
        of_names = {"properties", "inputProperties", "types", "resources"}
        return {
            key: {name: _without(each, keys) for name, each in inner.items()} if key in of_names else _without(inner, keys)
            for key, inner in value.items()
            if key not in keys
        }
    return [_without(each, keys) for each in value] if isinstance(value, list) else value


def _name(token: str) -> str:
    return token.rpartition(":")[2]


@dataclass(frozen=True, slots=True)
class _Change:
    before: Spec
    after: Spec

    def found(self) -> Iterator[Break]:
        if self.before["name"] != self.after["name"]:
            yield Break(self.before["name"], f"the package is called {self.after['name']}")
        for token, resource in self.before["resources"].items():
            if token not in self.after["resources"]:
                yield Break(_name(token), "this component is gone")
            else:
                yield from self._resource(_name(token), resource, self.after["resources"][token])
        inputs, outputs = self._used("inputProperties"), self._used("properties")
        for token, old in self.before["types"].items():
            if token not in self.after["types"]:
                yield Break(_name(token), "this type is gone")
                continue
            new = self.after["types"][token]
            if ("enum" in old) != ("enum" in new):
                yield Break(_name(token), "an object and a choice can't stand for each other")
                continue
            if token in inputs:
                yield from self._taken(_name(token), old, new)
            if token in outputs:
                yield from self._given(_name(token), old, new)

    def _resource(self, name: str, old: Spec, new: Spec) -> Iterator[Break]:
        yield from self._taken(
            name,
            {"properties": old["inputProperties"], "required": old["requiredInputs"]},
            {"properties": new["inputProperties"], "required": new["requiredInputs"]},
        )
        yield from self._given(name, old, new)

    def _taken(self, name: str, old: Spec, new: Spec) -> Iterator[Break]:
        """What a program gives."""
        gone = {each["value"] for each in old.get("enum", ())} - {each["value"] for each in new.get("enum", ())}
        for value in sorted(gone):
            yield Break(name, f"the choice {value} is gone")
        for key, spec in old.get("properties", {}).items():
            if key not in new["properties"]:
                yield Break(f"{name}.{key}", "this key is gone")
            elif not self._takes(new["properties"][key], spec, self.after):
                yield Break(f"{name}.{key}", f"this key takes {_shown(new['properties'][key])} and took {_shown(spec)}")
        for key in new.get("required", ()):
            if key not in old["properties"]:
                yield Break(f"{name}.{key}", "this new key is needed")
            elif key not in old["required"]:
                yield Break(f"{name}.{key}", "this key is needed now")

    def _given(self, name: str, old: Spec, new: Spec) -> Iterator[Break]:
        """What a program gets."""
        for key, spec in old.get("properties", {}).items():
            if key not in new["properties"]:
                yield Break(f"{name}.{key}", "this output is gone")
                continue
            if not self._takes(spec, new["properties"][key], self.before):
                yield Break(f"{name}.{key}", f"this output is {_shown(new['properties'][key])} and was {_shown(spec)}")
            if key in old.get("required", ()) and key not in new.get("required", ()):
                yield Break(f"{name}.{key}", "this output may be missing now")

    def _takes(self, wide: Spec, narrow: Spec, of_wide: Spec) -> bool:
        """Whether everything that is `narrow` is `wide`. Named types are compared where they are defined, by their names here."""
        if wide.get("plain") and not narrow.get("plain"):
            return False
        if "oneOf" in narrow:
            return all(self._takes(wide, _as_plain(each, narrow), of_wide) for each in narrow["oneOf"])
        if "oneOf" in wide:
            return any(self._takes(_as_plain(each, wide), narrow, of_wide) for each in wide["oneOf"])
        if wide.get("$ref") == _ANY:
            return True
        if "$ref" in narrow or "$ref" in wide:
            return wide.get("$ref") == narrow.get("$ref") or self._is_text(narrow, wide)
        kinds = narrow["type"], wide["type"]
        if kinds[0] != kinds[1]:
            return kinds in _WIDER
        return all(self._takes(wide[held], narrow[held], of_wide) for held in ("items", "additionalProperties") if held in narrow)

    def _is_text(self, narrow: Spec, wide: Spec) -> bool:
        """Whether one is a choice, and the other takes any text."""
        held = {**self.before["types"], **self.after["types"]}.get(narrow.get("$ref", "").removeprefix(_TYPE), {})
        return "enum" in held and wide.get("type") == "string"

    def _used(self, where: str) -> set[str]:
        """The types that are in arguments, or in outputs, of the schema before."""
        found: set[str] = set()
        waiting: list[Any] = [each[where] for each in self.before["resources"].values()]
        while waiting:
            value = waiting.pop()
            if isinstance(value, Mapping):
                token = str(value.get("$ref", "")).removeprefix(_TYPE)
                if token in self.before["types"] and token not in found:
                    found.add(token)
                    waiting.append(self.before["types"][token])
                waiting += value.values()
            elif isinstance(value, list):
                waiting += value
        return found


def _as_plain(each: Spec, union: Spec) -> Spec:
    """A form of a union, which is plain where the whole of it is."""
    return {**each, "plain": True} if union.get("plain") else each


def _shown(spec: Spec) -> str:
    """A type in a few words."""
    if "oneOf" in spec:
        return " or ".join(_shown(_as_plain(each, spec)) for each in spec["oneOf"])
    plain = "plain " if spec.get("plain") else ""
    if "$ref" in spec:
        return f"{plain}{'anything' if spec['$ref'] == _ANY else _name(spec['$ref'])}"
    held = [f" of {_shown(spec[kind])}" for kind in ("items", "additionalProperties") if kind in spec]
    return f"{plain}{spec['type']}{''.join(held)}"


if __name__ == "__main__":
    from azure_gpu.host.schema import package

    print(json.dumps(skeleton(package()), indent=1))
