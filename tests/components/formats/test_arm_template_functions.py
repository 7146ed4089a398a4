"""Functions of template expressions. Values are those of Microsoft Learn's examples, or what Azure was seen to answer.

Source of the documented outputs: MicrosoftDocs/azure-docs, articles/azure-resource-manager/templates/template-functions-{array,
comparison,date,logical,numeric,object,string}.md; positions in lists: azure-resource-manager/bicep/bicep-functions-array.md.
"""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

from azure_gpu.formats import lenient_json
from azure_gpu.formats.arm_template import Expanded, Scope, expand
from azure_gpu.formats.arm_template.context_functions import written
from azure_gpu.formats.arm_template.values import Arguments
from tests.support.tables import of_table

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
GUIDS = uuid.UUID("11fb06fb-712d-4ddd-98c7-e71bbd588830")  # Microsoft Learn, bicep-functions-string#guid
SCOPE = Scope(SUBSCRIPTION, "tenant", "rg", "westeurope", "main", {"team": "vision"})
TEMPLATE = {
    "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
    "contentVersion": "1.0.0.0",
    "resources": [],
}


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


def evaluated(expression: str, scope: Scope = SCOPE) -> Expanded:
    template = {**TEMPLATE, "variables": {**GIVEN, "of": {"list": [1, 2], "Name": "x"}, "value": expression}}
    document, problems = lenient_json.read(json.dumps({**template, "outputs": {}}), "t.json")
    assert document is not None, problems
    return expand(document, {}, scope)


def value_of(expression: str, scope: Scope = SCOPE) -> Any:
    expanded = evaluated(expression, scope)
    assert expanded.problems == []
    assert expanded.frame is not None
    return expanded.frame.variables.value("value")[0]


@of_table("expression", "value")
def test_a_function_answers_what_azure_answers(expression: str, value: Any) -> None:
    answered = value_of(expression)
    assert (answered, type(answered)) == (value, type(value))


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (["tyeth"], "zcztcwvu6iyg6"),  # stackoverflow.com/questions/43295720
        (["test"], "rbgf3xv4ufgzg"),  # this and the next: people who compared with deployments
        (["hello", "world"], "a7wkljktk6wne"),
        (["/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/my-rg"], "bmg7c6xu4tw46"),
    ],
)
def test_unique_strings_are_those_of_azure(texts: list[str], answer: str) -> None:
    quoted = ", ".join(f"'{text}'" for text in texts)
    assert value_of(f"[uniqueString({quoted})]") == answer


def test_a_guid_is_the_uuid_of_its_arguments_in_azures_namespace() -> None:
    assert value_of("[guid('a', 'b')]") == value_of("[guid('a-b')]") == str(uuid.uuid5(GUIDS, "a-b"))


@of_table(
    "expression",
    "message",
    more=[
        ("[" + "concat(" * 60 + "'x'" + ")" * 60 + "]", "calls are nested more than 40 deep in an expression"),
        ("[concat('" + "x" * 25_000 + "')]", "the expression is longer than 24576 characters"),
    ],
)
def test_a_wrong_expression_is_a_problem_with_its_place(expression: str, message: str) -> None:
    problems = evaluated(expression).problems
    assert [(problem.path, problem.message, problem.value) for problem in problems] == [
        ("t.json:1: variables.value", message, expression)
    ]


@of_table("expression", "what")
def test_what_is_not_known_is_named(expression: str, what: str) -> None:
    assert [problem.message for problem in evaluated(expression, Scope()).problems] == [what]


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
