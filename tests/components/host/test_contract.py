"""The package schema as a contract: what breaks programs needs a line in the changelog, and nothing of it goes unseen."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from azure_gpu.host.provider import SCHEMA
from tests.components.host.contract import breaks, skeleton
from tests.support.rows import each_row

ROOT = Path(__file__).parents[3]
RELEASED = ROOT / "tests" / "data" / "released_schema.json"
TODAY: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
ENTRY = re.compile(r"^## (\d+\.\d+\.\d+) - ", re.MULTILINE)
RENEW = f"python -m tests.components.host.contract > {RELEASED.relative_to(ROOT)}"


def test_what_breaks_a_program_is_in_the_changelog_by_its_name() -> None:
    _, _, rest = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n## ")
    newest = rest.partition("\n## ")[0]
    unsaid = [str(each) for each in breaks(json.loads(RELEASED.read_text()), TODAY) if f"`{each.where}`" not in newest]
    assert unsaid == [], "programs in other languages break: name each in the newest section of CHANGELOG.md"


def test_the_contract_is_the_one_of_the_last_release() -> None:
    """Of the first version that has one until the next one is begun."""
    versions = ENTRY.findall((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    expected = versions[0] if versions[0] == "0.2.0" else versions[1]
    assert json.loads(RELEASED.read_text())["version"] == expected, f"check out version {expected}, and run: {RENEW}"


def changed(change: Callable[[dict[str, Any]], object]) -> list[str]:
    """What breaks by a change of today's schema."""
    after = copy.deepcopy(TODAY)
    change(after)
    return [str(each) for each in breaks(TODAY, after)]


def inputs(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return schema["resources"][f"azuregpu:index:{name}"]["inputProperties"]


def of_type(schema: dict[str, Any], name: str) -> dict[str, Any]:
    return schema["types"][f"azuregpu:index:{name}"]


BREAKING: dict[str, tuple[Callable[[dict[str, Any]], object], list[str]]] = {
    "a component gone": (
        lambda schema: schema["resources"].pop("azuregpu:index:Budget"),
        ["`Budget`: this component is gone"],
    ),
    "a key gone": (lambda schema: inputs(schema, "BatchPool").pop("size"), ["`BatchPool.size`: this key is gone"]),
    "a key of an object gone": (
        lambda schema: of_type(schema, "BatchStartTask")["properties"].pop("command"),
        ["`BatchStartTask.command`: this key is gone"],
    ),
    "plain made of an input": (
        lambda schema: inputs(schema, "BatchPool")["subnetId"].update(plain=True),
        ["`BatchPool.subnetId`: this key takes plain string and took string"],
    ),
    "plain made of an input in a map": (
        lambda schema: inputs(schema, "BatchPool")["tags"]["additionalProperties"].update(plain=True),
        ["`BatchPool.tags`: this key takes plain object of plain string and took plain object of string"],
    ),
    "a type narrowed": (
        lambda schema: inputs(schema, "Budget")["monthlyUsd"].update(type="integer"),
        ["`Budget.monthlyUsd`: this key takes plain integer and took plain number"],
    ),
    "a form gone": (
        lambda schema: inputs(schema, "BatchPool")["batchAccount"]["oneOf"].pop(),
        ["`BatchPool.batchAccount`: this key takes BatchAccount and took BatchAccount or string"],
    ),
    "a choice gone": (lambda schema: of_type(schema, "ClusterTier")["enum"].pop(), ["`ClusterTier`: the choice premium is gone"]),
    "a new key that is needed": (
        lambda schema: (
            inputs(schema, "Budget").update(owner={"type": "string"}),
            schema["resources"]["azuregpu:index:Budget"]["requiredInputs"].append("owner"),
        ),
        ["`Budget.owner`: this new key is needed"],
    ),
    "a key that is needed now": (
        lambda schema: of_type(schema, "BatchStartTask")["required"].append("retries"),
        ["`BatchStartTask.retries`: this key is needed now"],
    ),
    "a type gone": (
        lambda schema: (
            schema["types"].update({"azuregpu:index:Shutoff": schema["types"].pop("azuregpu:index:VmShutdown")}),
            inputs(schema, "GpuVm")["shutdown"]["oneOf"][1].update({"$ref": "#/types/azuregpu:index:Shutoff"}),
        ),
        [
            "`GpuVm.shutdown`: this key takes plain boolean or plain Shutoff and took plain boolean or plain VmShutdown",
            "`VmShutdown`: this type is gone",
        ],
    ),
    "an output gone": (
        lambda schema: schema["resources"]["azuregpu:index:GpuCluster"]["properties"].pop("kubeconfig"),
        ["`GpuCluster.kubeconfig`: this output is gone"],
    ),
    "an output that may be missing": (
        lambda schema: schema["resources"]["azuregpu:index:GpuCluster"]["required"].remove("clusterId"),
        ["`GpuCluster.clusterId`: this output may be missing now"],
    ),
    "an output widened": (
        lambda schema: schema["resources"]["azuregpu:index:GpuCluster"]["properties"]["clusterId"].update(
            {"oneOf": [{"type": "string"}, {"type": "number"}]}
        ),
        ["`GpuCluster.clusterId`: this output is string or number and was string"],
    ),
}


@each_row("name", BREAKING)
def test_what_breaks_is_told_by_its_name(name: str) -> None:
    change, expected = BREAKING[name]
    assert changed(change) == expected


HARMLESS: dict[str, Callable[[dict[str, Any]], object]] = {
    "other words": lambda schema: inputs(schema, "BatchPool")["size"].update(description="A size."),
    "a new key": lambda schema: inputs(schema, "BatchPool").update(colour={"type": "string", "plain": True}),
    "a new output": lambda schema: schema["resources"]["azuregpu:index:Budget"]["properties"].update(spent={"type": "number"}),
    "a new choice": lambda schema: of_type(schema, "ClusterTier")["enum"].append({"name": "Gold", "value": "gold"}),
    "an input made of plain": lambda schema: inputs(schema, "BatchPool")["size"].pop("plain"),
    "a number of a whole number": lambda schema: inputs(schema, "BatchPool")["taskSlots"].update(type="number"),
    "another form": lambda schema: inputs(schema, "BatchPool")["batchAccount"]["oneOf"].append({"type": "boolean"}),
    "any text for a choice": lambda schema: inputs(schema, "GpuCluster").update(tier={"type": "string", "plain": True}),
    "a key that isn't needed any more": lambda schema: of_type(schema, "BatchStartTask")["required"].clear(),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_breaks_nobody_is_told_to_nobody(name: str) -> None:
    assert changed(HARMLESS[name]) == []


def test_the_contract_is_all_that_can_break() -> None:
    assert breaks(TODAY, skeleton(TODAY)) == breaks(skeleton(TODAY), TODAY) == []
    for change, expected in BREAKING.values():
        after = copy.deepcopy(TODAY)
        change(after)
        assert [str(each) for each in breaks(skeleton(TODAY), skeleton(after))] == expected


# Schemas of one component, whose argument is of any type, small enough to say of every value whether it is taken.
SCALARS: dict[str, list[Any]] = {"string": ["red", "blue"], "integer": [1], "number": [1, 1.5], "boolean": [True]}
CHOICES = st.lists(st.sampled_from(["red", "blue"]), min_size=1, max_size=2, unique=True)
PLAIN = st.sampled_from([{}, {"plain": True}])


def types(deep: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        st.builds(lambda items, plain: {"type": "array", "items": items, **plain}, deep, PLAIN),
        st.builds(lambda items, plain: {"type": "object", "additionalProperties": items, **plain}, deep, PLAIN),
        st.builds(lambda forms, plain: {"oneOf": forms, **plain}, st.lists(deep, min_size=2, max_size=3), PLAIN),
    )


TYPE = st.recursive(
    st.one_of(
        st.builds(lambda kind, plain: {"type": kind, **plain}, st.sampled_from(sorted(SCALARS)), PLAIN),
        st.builds(lambda plain: {"$ref": "#/types/p:index:Colour", **plain}, PLAIN),
        st.builds(lambda plain: {"$ref": "#/types/p:index:Thing", **plain}, PLAIN),
        st.just({"$ref": "pulumi.json#/Any"}),
    ),
    types,
    max_leaves=4,
)


@st.composite
def schemas(draw: st.DrawFn) -> dict[str, Any]:
    keys = draw(st.dictionaries(st.sampled_from("ab"), TYPE, min_size=1))
    of_thing = draw(st.dictionaries(st.sampled_from("xy"), st.sampled_from([{"type": kind} for kind in SCALARS])))
    return {
        "name": "p",
        "version": "1.0.0",
        "types": {
            "p:index:Colour": {"type": "string", "enum": [{"value": each} for each in draw(CHOICES)]},
            "p:index:Thing": {
                "type": "object",
                "properties": of_thing,
                "required": sorted(draw(st.sets(st.sampled_from(sorted(of_thing))))) if of_thing else [],
            },
        },
        "resources": {
            "p:index:Kind": {
                "inputProperties": keys,
                "requiredInputs": sorted(draw(st.sets(st.sampled_from(sorted(keys))))),
                "properties": {},
                "required": [],
            }
        },
    }


class Later:
    """A value that isn't known yet."""

    def __init__(self, value: Any) -> None:
        self.value = value


def values(spec: dict[str, Any], schema: dict[str, Any]) -> Iterator[Any]:
    """Some values of a type, at least one of every form, known now and later."""
    for value in _known(spec, schema):
        yield value
        if not spec.get("plain") and not isinstance(value, Later):
            yield Later(value)


def _known(spec: dict[str, Any], schema: dict[str, Any]) -> Iterator[Any]:
    if "oneOf" in spec:
        for form in spec["oneOf"]:
            yield from values({**form, **({"plain": True} if spec.get("plain") else {})}, schema)
    elif spec.get("$ref") == "pulumi.json#/Any":
        yield from ("red", 1, ["red"])
    elif "$ref" in spec:
        named = schema["types"][spec["$ref"].removeprefix("#/types/")]
        if "enum" in named:
            yield from (each["value"] for each in named["enum"])
        else:
            for keys in (named["required"], sorted(named["properties"])):
                yield {key: next(iter(_known(named["properties"][key], schema))) for key in keys}
    elif spec["type"] == "array":
        yield from ([each] for each in values(spec["items"], schema))
    elif spec["type"] == "object":
        yield from ({"key": each} for each in values(spec["additionalProperties"], schema))
    else:
        yield from SCALARS[spec["type"]]


def takes(spec: dict[str, Any], value: Any, schema: dict[str, Any]) -> bool:
    """Whether a type takes a value: what the detector has to be right about, said in another way."""
    if spec.get("$ref") == "pulumi.json#/Any":
        return not (isinstance(value, Later) and spec.get("plain"))
    if isinstance(value, Later):
        return not spec.get("plain") and takes(spec, value.value, schema)
    if "oneOf" in spec:
        plain = {"plain": True} if spec.get("plain") else {}
        return any(takes({**form, **plain}, value, schema) for form in spec["oneOf"])
    if "$ref" in spec:
        named = schema["types"][spec["$ref"].removeprefix("#/types/")]
        if "enum" in named:
            return value in [each["value"] for each in named["enum"]]
        return (
            isinstance(value, dict)
            and set(named["required"]) <= value.keys() <= named["properties"].keys()
            and all(takes(named["properties"][key], each, schema) for key, each in value.items())
        )
    if spec["type"] == "array":
        return isinstance(value, list) and all(takes(spec["items"], each, schema) for each in value)
    if spec["type"] == "object":
        return isinstance(value, dict) and all(takes(spec["additionalProperties"], each, schema) for each in value.values())
    python = {"string": str, "integer": int, "number": int | float, "boolean": bool}[spec["type"]]
    return isinstance(value, python) and (isinstance(value, bool) == (spec["type"] == "boolean"))


def nodes(spec: Any) -> Iterator[dict[str, Any]]:
    """A type and all that it is made of."""
    yield spec
    for held in (*spec.get("oneOf", ()), *(spec[key] for key in ("items", "additionalProperties") if key in spec)):
        yield from nodes(held)


def edit(schema: dict[str, Any], data: st.DataObject) -> None:
    """One small change, of any kind."""
    kind, thing = schema["resources"]["p:index:Kind"], schema["types"]["p:index:Thing"]
    key = data.draw(st.sampled_from(sorted(kind["inputProperties"])))
    node = data.draw(st.sampled_from(list(nodes(kind["inputProperties"][key]))))
    match data.draw(st.sampled_from(["plain", "open", "other", "both", "choice", "need", "need in it", "gone in it"])):
        case "plain":
            node["plain"] = True
        case "open":
            node.pop("plain", None)
        case "other":
            replaced = data.draw(TYPE)
            node.clear()
            node.update(replaced)
        case "both":
            spec = dict(node)
            node.clear()
            node.update(oneOf=[spec, data.draw(TYPE)])
        case "choice":
            schema["types"]["p:index:Colour"]["enum"] = [{"value": each} for each in data.draw(CHOICES)]
        case "need":
            kind["requiredInputs"] = sorted({*kind["requiredInputs"]} ^ {key})
        case "need in it":
            thing["required"] = sorted(thing["properties"])
        case _:
            thing["properties"] = dict(list(thing["properties"].items())[1:])
            thing["required"] = [each for each in thing["required"] if each in thing["properties"]]


@given(schemas(), st.data(), st.integers(1, 2))
def test_a_program_that_was_taken_is_taken_unless_something_is_told(
    before: dict[str, Any], data: st.DataObject, edits: int
) -> None:
    after = copy.deepcopy(before)
    for _ in range(edits):
        edit(after, data)
    if breaks(before, after):
        return
    old, new = (each["resources"]["p:index:Kind"] for each in (before, after))
    assert set(new["requiredInputs"]) <= set(old["requiredInputs"])
    for key, spec in old["inputProperties"].items():
        for value in values(spec, before):
            assert takes(new["inputProperties"][key], value, after), (key, value, spec, new["inputProperties"][key])


@given(schemas(), st.data())
def test_a_schema_that_only_grows_breaks_nobody(before: dict[str, Any], data: st.DataObject) -> None:
    after = copy.deepcopy(before)
    kind = after["resources"]["p:index:Kind"]
    for key, spec in kind["inputProperties"].items():
        more = data.draw(TYPE)
        plain = {"plain": True} if spec.get("plain") and data.draw(st.booleans()) else {}
        kind["inputProperties"][key] = {"oneOf": [spec, more], **plain} if data.draw(st.booleans()) else spec
    kind["inputProperties"]["new"] = data.draw(TYPE)
    kind["requiredInputs"] = []
    after["types"]["p:index:Colour"]["enum"].append({"value": "green"})
    assert breaks(before, after) == []


@given(schemas())
def test_a_schema_breaks_nothing_of_itself(schema: dict[str, Any]) -> None:
    assert breaks(schema, copy.deepcopy(schema)) == []
