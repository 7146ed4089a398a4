"""The package schema: what the components say today, all of it, in the form that Pulumi takes."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import azure_gpu
from azure_gpu.host.names import camel
from azure_gpu.host.provider import SCHEMA
from azure_gpu.host.schema import text
from azure_gpu.stack import component_reference

COMMITTED: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
PAGES = Path(__file__).parents[3] / "docs" / "components"
COMPONENTS = [each.name for each in component_reference.found()]


def test_the_committed_schema_is_what_the_components_say_today() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == text(), (
        "run: python -m azure_gpu.host --schema > schema.json && mv schema.json components/azure_gpu/host/"
    )


def test_every_component_is_in_it() -> None:
    assert sorted(COMMITTED["resources"]) == [f"azuregpu:index:{name}" for name in COMPONENTS]
    assert len(COMPONENTS) == 13
    assert COMMITTED["version"] == azure_gpu.__version__


def rows(name: str, heading: str) -> list[str]:
    """The first cell of each row of a table on a component's page."""
    [component] = [each for each in component_reference.found() if each.name == name]
    _, _, after = (PAGES / component.page).read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    table = re.split(r"\n(?:## |Only in Python)", after)[0]
    return re.findall(r"^\| `([^`]+)`", table, re.MULTILINE)


def below(spec: dict[str, Any], step: str) -> dict[str, Any]:
    """The property of an object, `<name>` of a map or `[]` of a list, in whichever form of the value has it."""
    for form in spec.get("oneOf", [spec]):
        if step == "<name>" and "additionalProperties" in form:
            return form["additionalProperties"]
        if step == "[]" and "items" in form:
            return form["items"]
        held = COMMITTED["types"].get(form.get("$ref", "").removeprefix("#/types/"), {})
        if step in held.get("properties", {}):
            return held["properties"][step]
    raise KeyError(step)


@pytest.mark.parametrize("name", COMPONENTS)
def test_every_key_and_output_of_a_reference_page_is_in_it(name: str) -> None:
    resource = COMMITTED["resources"][f"azuregpu:index:{name}"]
    keys = rows(name, "Arguments")
    assert keys
    for key in keys:
        first, *steps = (step for part in key.split(".") for step in re.findall(r"\[\]|[^\[]+", part))
        spec = resource["inputProperties"][camel(first)]
        for step in steps:
            spec = below(spec, step if step in ("<name>", "[]") else camel(step))
        assert spec["description"]
    assert [camel(output) for output in rows(name, "Outputs")] == list(resource["properties"])


def references(spec: Any) -> Iterator[str]:
    if isinstance(spec, dict):
        yield from (value for key, value in spec.items() if key == "$ref")
        spec = list(spec.values())
    if isinstance(spec, list):
        for each in spec:
            yield from references(each)


def test_every_type_is_used_and_every_reference_is_there() -> None:
    found = set(references(COMMITTED)) - {"pulumi.json#/Any"}
    types = {f"#/types/{name}" for name in COMMITTED["types"]}
    resources = {f"#/resources/{name}" for name in COMMITTED["resources"]}
    assert types <= found <= types | resources


def test_no_two_things_have_one_name_in_any_language() -> None:
    names = [token.rpartition(":")[2] for token in (*COMMITTED["types"], *COMMITTED["resources"])]
    assert len({name.lower() for name in names}) == len(names)
    for token, spec in (*COMMITTED["types"].items(), *COMMITTED["resources"].items()):
        for properties in (spec.get("properties", {}), spec.get("inputProperties", {})):
            own = {name.lower() for name in properties}
            assert len(own) == len(properties)
            assert token.rpartition(":")[2].lower() not in own, "C# has no member of the name of its class"
            assert not {"id", "urn", "pulumi"} & set(properties)


def test_what_decides_is_plain_and_what_the_state_never_shows_is_secret() -> None:
    pool = COMMITTED["resources"]["azuregpu:index:BatchPool"]["inputProperties"]
    assert pool["size"] == {"type": "string", "plain": True, "description": pool["size"]["description"]}
    assert pool["subnetId"] == {"type": "string", "description": pool["subnetId"]["description"]}
    assert pool["batchAccount"]["oneOf"] == [{"$ref": "#/resources/azuregpu:index:BatchAccount"}, {"type": "string"}]
    assert pool["containers"]["oneOf"] == [
        {"type": "boolean", "plain": True},
        {"$ref": "#/types/azuregpu:index:BatchContainers", "plain": True},
    ]
    task = COMMITTED["types"]["azuregpu:index:BatchStartTask"]["properties"]
    assert task["secretEnvironment"]["secret"] is True
    assert task["secretEnvironment"]["additionalProperties"] == {"type": "string"}
    assert COMMITTED["resources"]["azuregpu:index:EdgeSharing"]["inputProperties"]["kubeconfig"]["secret"] is True
    # Every SDK makes one secret of the whole property, and the names of variables have to be known.
    assert "secret" not in COMMITTED["resources"]["azuregpu:index:ContainerGroup"]["inputProperties"]["secretEnvironment"]


def test_a_description_names_keys_as_the_schema_does() -> None:
    described = json.dumps(COMMITTED)
    quoted = {
        word for words in re.findall(r"`([^`\"]*)`", described) for word in re.findall(r"\b[a-z0-9]+(?:_[a-z0-9]+)+\b", words)
    }
    properties = {
        name
        for each in (*COMMITTED["types"].values(), *COMMITTED["resources"].values())
        for name in (*each.get("properties", ()), *each.get("inputProperties", ()))
    }
    assert {word for word in quoted if camel(word) in properties} <= {"start_task"}, "which is a choice, too"


@pytest.mark.slow
def test_the_engine_takes_it() -> None:
    """The metaschema, and that each SDK can be made of it."""
    pulumi = shutil.which("pulumi")
    assert pulumi is not None, "make engine"
    done = subprocess.run([pulumi, "schema", "check", str(SCHEMA)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
