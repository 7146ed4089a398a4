"""Functions of template expressions: the examples of Microsoft Learn with the outputs that it prints for them.

Source: MicrosoftDocs/azure-docs, articles/azure-resource-manager/templates/template-functions-{array,comparison,date,logical,
numeric,object,string}.md; positions in lists: azure-resource-manager/bicep/bicep-functions-array.md.
"""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from azure_gpu.formats import lenient_json
from azure_gpu.formats.arm_template import Scope, expand
from azure_gpu.formats.arm_template.arguments import Arguments
from azure_gpu.formats.arm_template.date_functions import written
from tests.components.tables import of_table

# What the examples take as parameters.
GIVEN: dict[str, Any] = {
    "oneTwoThree": ["one", "two", "three"],
    "twoThree": ["two", "three"],
    "threeFour": ["three", "four"],
    "abc": {"one": "a", "two": "b", "three": "c"},
    "azc": {"one": "a", "two": "z", "three": "c"},
    "c1": {"one": "a", "two": "b", "three": "c1"},
    "c2": {"three": "c2", "four": "d", "five": "e"},
    "numbers": [0, 3, 2, 5, 4],
    "fourFiveSix": [4, 5, 6],
    "lists": [["one", "two", "three"], [4, 5, 6]],
    "again": [1, 2, 3, 1],
    "efgh": {"a": "b", "c": "d"},
    "nulls": {"null1": None, "null2": None, "string": "default", "int": 1, "object": {"first": "default"}, "array": [1]},
    "toText": {"valueA": 10, "valueB": "Example Text"},
    "four": {"propA": "one", "propB": "two", "propC": "three", "propD": {"propD-1": "sub", "propD-2": "sub"}},
    "first": ["1-1", "1-2", "1-3"],
    "second": ["2-1", "2-2", "2-3"],
    "data": "{'one': 'a', 'two': 'b'}",
    "dashes": "123-123-1234",
    "mixed": """{"it's": 'a "b"', 'c': "d's"}""",
}


def value_of(expression: str) -> Any:
    template = {
        "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "variables": {**GIVEN, "value": expression},
        "resources": [],
    }
    document, problems = lenient_json.read(json.dumps(template), "t.json")
    assert document is not None, problems
    expanded = expand(document, {}, Scope())
    assert expanded.problems == []
    assert expanded.frame is not None
    return expanded.frame.variables.value("value")[0]


@of_table("expression", "value")
def test_an_example_of_the_documentation_has_the_documented_output(expression: str, value: Any) -> None:
    answered = value_of(f"[{expression}]")
    assert (answered, type(answered)) == (value, type(value))


@pytest.mark.parametrize(("form", "value"), [("", "20190305T175318Z"), ("d", "03/05/2019"), ("M d", "3 5")])
def test_the_time_of_a_deployment_is_written_as_documented(form: str, value: str) -> None:
    instant = datetime(2019, 3, 5, 17, 53, 18, tzinfo=UTC)
    assert written(instant, form, Arguments("utcNow", [form])) == value


def test_either_quotes_are_read_and_those_inside_are_kept() -> None:
    assert value_of("[json(variables('mixed'))]") == {"it's": 'a "b"', "c": "d's"}
