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
from tests.support.rows import each_row

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


@each_row(
    ("expression", "value"),
    [
        # array
        ("array(1)", [1]),
        ("array('efgh')", ["efgh"]),
        ("array(variables('efgh'))", [{"a": "b", "c": "d"}]),
        ("concat(variables('first'), variables('second'))", ["1-1", "1-2", "1-3", "2-1", "2-2", "2-3"]),
        ("contains('OneTwoThree', 'e')", True),
        ("contains('OneTwoThree', 'z')", False),
        ("contains(variables('abc'), 'one')", True),
        ("contains(variables('abc'), 'a')", False),
        ("contains(variables('oneTwoThree'), 'three')", True),
        ("contains(variables('oneTwoThree'), 'four')", False),
        ("createArray('a', 'b', 'c')", ["a", "b", "c"]),
        ("createArray(1, 2, 3)", [1, 2, 3]),
        ("createArray(variables('abc'))", [{"one": "a", "two": "b", "three": "c"}]),
        ("createArray(variables('oneTwoThree'))", [["one", "two", "three"]]),
        ("createArray()", []),
        ("empty(createArray())", True),
        ("empty(createObject())", True),
        ("empty('')", True),
        ("first(variables('oneTwoThree'))", "one"),
        ("first('One Two Three')", "O"),
        ("indexOf(variables('oneTwoThree'), 'one')", 0),
        ("lastIndexOf(variables('oneTwoThree'), 'two')", 1),
        ("lastIndexOf(variables('oneTwoThree'), 'Three')", -1),
        ("lastIndexOf(variables('fourFiveSix'), 4)", 0),
        ("lastIndexOf(variables('fourFiveSix'), '5')", -1),
        ("indexOf(variables('lists'), variables('fourFiveSix'))", 1),
        ("indexOf(variables('again'), 1)", 0),
        ("lastIndexOf(variables('again'), 1)", 3),
        ("intersection(variables('abc'), variables('azc'))", {"one": "a", "three": "c"}),
        ("intersection(variables('oneTwoThree'), variables('twoThree'))", ["two", "three"]),
        ("last(variables('oneTwoThree'))", "three"),
        ("last('One Two Three')", "e"),
        ("length(variables('oneTwoThree'))", 3),
        ("length('One Two Three')", 13),
        ("length(variables('four'))", 4),
        ("max(variables('numbers'))", 5),
        ("max(0, 3, 2, 5, 4)", 5),
        ("min(variables('numbers'))", 0),
        ("range(5, 3)", [5, 6, 7]),
        ("skip(variables('oneTwoThree'), 2)", ["three"]),
        ("skip('one two three', 4)", "two three"),
        ("take(variables('oneTwoThree'), 2)", ["one", "two"]),
        ("take('one two three', 2)", "on"),
        ("union(variables('c1'), variables('c2'))", {"one": "a", "two": "b", "three": "c2", "four": "d", "five": "e"}),
        ("union(variables('oneTwoThree'), variables('threeFour'))", ["one", "two", "three", "four"]),
        # comparison
        ("coalesce(variables('nulls').null1, variables('nulls').null2, variables('nulls').string)", "default"),
        ("coalesce(variables('nulls').null1, variables('nulls').null2, variables('nulls').int)", 1),
        ("coalesce(variables('nulls').null1, variables('nulls').null2, variables('nulls').object)", {"first": "default"}),
        ("coalesce(variables('nulls').null1, variables('nulls').null2, variables('nulls').array)", [1]),
        ("empty(coalesce(variables('nulls').null1, variables('nulls').null2))", True),
        ("equals(1, 1)", True),
        ("equals(createArray('a', 'b'), createArray('a', 'b'))", True),
        ("equals(variables('efgh'), variables('efgh'))", True),
        ("not(equals(1, 2))", True),
        ("greater(1, 2)", False),
        ("greater('A', 'a')", True),
        ("greaterOrEquals(1, 2)", False),
        ("greaterOrEquals('A', 'a')", True),
        ("less(1, 2)", True),
        ("less('A', 'a')", False),
        ("lessOrEquals(1, 2)", True),
        ("lessOrEquals('A', 'a')", False),
        # numeric and logical
        ("add(5, 3)", 8),
        ("div(8, 3)", 2),
        ("int('4')", 4),
        ("mod(7, 3)", 1),
        ("mul(5, 3)", 15),
        ("sub(7, 3)", 4),
        ("and(bool('true'), bool('false'))", False),
        ("or(bool('true'), bool('false'))", True),
        ("not(bool('true'))", False),
        ("bool(1)", True),
        ("bool(0)", False),
        ("if(equals('a', 'a'), 'yes', 'no')", "yes"),
        # object
        (
            "createObject('intProp', 1, 'stringProp', 'abc', 'boolProp', true(), 'arrayProp', createArray('a', 'b', 'c'), "
            "'objectProp', createObject('key1', 'value1'))",
            {"intProp": 1, "stringProp": "abc", "boolProp": True, "arrayProp": ["a", "b", "c"], "objectProp": {"key1": "value1"}},
        ),
        ("createObject('null', null())", {"null": None}),
        ("json('null')", None),
        ("empty(json('null'))", True),
        # string
        ("base64('one, two, three')", "b25lLCB0d28sIHRocmVl"),
        ("base64ToString(base64('one, two, three'))", "one, two, three"),
        ("base64ToJson(base64(variables('data')))", {"one": "a", "two": "b"}),
        ("dataUri('Hello')", "data:text/plain;charset=utf8;base64,SGVsbG8="),
        ("dataUriToString('data:;base64,SGVsbG8sIFdvcmxkIQ==')", "Hello, World!"),
        ("startsWith('abcdef', 'ab')", True),
        ("startsWith('abcdef', 'A')", True),
        ("startsWith('abcdef', 'e')", False),
        ("endsWith('abcdef', 'ef')", True),
        ("endsWith('abcdef', 'F')", True),
        ("endsWith('abcdef', 'e')", False),
        ("format('{0}, {1}. Formatted number: {2:N0}', 'Hello', 'User', 8175133)", "Hello, User. Formatted number: 8,175,133"),
        ("indexOf('test', 't')", 0),
        ("lastIndexOf('test', 't')", 3),
        ("indexOf('abcdef', 'CD')", 2),
        ("lastIndexOf('abcdef', 'AB')", 0),
        ("indexOf('abcdef', 'z')", -1),
        ("padLeft('123', 10, '0')", "0000000123"),
        ("replace(variables('dashes'), '-', '')", "1231231234"),
        ("replace(variables('dashes'), '1234', 'xxxx')", "123-123-xxxx"),
        ("split('one,two,three', ',')", ["one", "two", "three"]),
        ("split('one;two,three', createArray(',', ';'))", ["one", "two", "three"]),
        ("string(variables('toText'))", '{"valueA":10,"valueB":"Example Text"}'),
        ("string(createArray('a', 'b', 'c'))", '["a","b","c"]'),
        ("string(5)", "5"),
        ("substring('one two three', 4, 3)", "two"),
        ("toLower('One Two Three')", "one two three"),
        ("toUpper('One Two Three')", "ONE TWO THREE"),
        ("trim('    one two three   ')", "one two three"),
        ("uri('http://contoso.com/resources/', 'nested/azuredeploy.json')", "http://contoso.com/resources/nested/azuredeploy.json"),
        ("uriComponent('http://contoso.com/resources/nested/azuredeploy.json')",
         "http%3A%2F%2Fcontoso.com%2Fresources%2Fnested%2Fazuredeploy.json"),
        ("uriComponentToString('http%3A%2F%2Fcontoso.com%2Fresources')", "http://contoso.com/resources"),
        # date
        ("dateTimeToEpoch('2023-05-02T15:16:13Z')", 1683040573),
        ("dateTimeFromEpoch(1683040573)", "2023-05-02T15:16:13Z"),
    ],
)  # fmt: skip
def test_an_example_of_the_documentation_has_the_documented_output(expression: str, value: Any) -> None:
    answered = value_of(f"[{expression}]")
    assert (answered, type(answered)) == (value, type(value))


@pytest.mark.parametrize(("form", "value"), [("", "20190305T175318Z"), ("d", "03/05/2019"), ("M d", "3 5")])
def test_the_time_of_a_deployment_is_written_as_documented(form: str, value: str) -> None:
    instant = datetime(2019, 3, 5, 17, 53, 18, tzinfo=UTC)
    assert written(instant, form, Arguments("utcNow", [form])) == value


def test_either_quotes_are_read_and_those_inside_are_kept() -> None:
    assert value_of("[json(variables('mixed'))]") == {"it's": 'a "b"', "c": "d's"}
