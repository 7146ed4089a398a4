"""Functions of template expressions. Values are those of Microsoft Learn's examples, or what Azure was seen to answer."""

import json
import uuid
from typing import Any

import pytest

from azure_gpu.formats import lenient_json
from azure_gpu.formats.arm_template import Expanded, Scope, expand
from tests.support.rows import each_row

SUBSCRIPTION = "00000000-0000-0000-0000-000000000000"
GUIDS = uuid.UUID("11fb06fb-712d-4ddd-98c7-e71bbd588830")  # Microsoft Learn, bicep-functions-string#guid
SCOPE = Scope(SUBSCRIPTION, "tenant", "rg", "westeurope", "main", {"team": "vision"})
TEMPLATE = {
    "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
    "contentVersion": "1.0.0.0",
    "resources": [],
}


def evaluated(expression: str, scope: Scope = SCOPE) -> Expanded:
    template = {**TEMPLATE, "variables": {"of": {"list": [1, 2], "Name": "x"}, "value": expression}}
    document, problems = lenient_json.read(json.dumps({**template, "outputs": {}}), "t.json")
    assert document is not None, problems
    return expand(document, {}, scope)


def value_of(expression: str, scope: Scope = SCOPE) -> Any:
    expanded = evaluated(expression, scope)
    assert expanded.problems == []
    assert expanded.frame is not None
    return expanded.frame.variables.value("value")[0]


@each_row(
    ("expression", "value"),
    [
        ("[concat('a', 1, true())]", "a1True"),
        ("[concat(createArray(1), createArray(2))]", [1, 2]),
        ("[format('{0}, {1}. {0} {{x}}', 'Hello', 'User')]", "Hello, User. Hello {x}"),
        ("[format('{0:N0}|{0:D6}|{0:000}|{0,6}|{0,-6}|', 1234)]", "1,234|001234|1234|  1234|1234  |"),
        ("['it''s']", "it's"),
        ("[toLower('ABC')]", "abc"),
        ("[toUpper('abc')]", "ABC"),
        ("[trim('  x ')]", "x"),
        ("[substring('one two three', 4, 3)]", "two"),
        ("[replace('123-123-1234', '-', '')]", "1231231234"),
        ("[split('one;two,three', createArray(';', ','))]", ["one", "two", "three"]),
        ("[join(createArray('one', 2), ' ')]", "one 2"),
        ("[padLeft('123', 10, '0')]", "0000000123"),
        ("[padLeft(5, 3)]", "  5"),
        ("[startsWith('abcdef', 'AB')]", True),
        ("[endsWith('abcdef', 'F')]", True),
        ("[indexOf('test', 't')]", 0),
        ("[lastIndexOf('test', 't')]", 3),
        ("[indexOf('abcdef', 'z')]", -1),
        ("[base64('one, two, three')]", "b25lLCB0d28sIHRocmVl"),
        ("[base64ToString('b25lLCB0d28sIHRocmVl')]", "one, two, three"),
        ("[base64ToJson(base64('{\"one\": 1}')).one]", 1),
        ("[dataUri('Hello')]", "data:text/plain;charset=utf8;base64,SGVsbG8="),
        ("[uri('http://contoso.org/firstpath', 'myscript.sh')]", "http://contoso.org/myscript.sh"),
        ("[uri('http://contoso.org/firstpath/', 'myscript.sh')]", "http://contoso.org/firstpath/myscript.sh"),
        ("[uriComponent('http://a b')]", "http%3A%2F%2Fa%20b"),
        ("[uriComponentToString('a%20b')]", "a b"),
        ("[string(createObject('a', createArray(1, true())))]", '{"a":[1,true]}'),
        ("[int('10')]", 10),
        ("[bool('true')]", True),
        ("[json('{\"a\": [1]}').a[0]]", 1),
        ("[add(5, 3)]", 8),
        ("[sub(7, 3)]", 4),
        ("[mul(5, -3)]", -15),
        ("[div(8, 3)]", 2),
        ("[div(-8, 3)]", -2),
        ("[mod(7, 3)]", 1),
        ("[mod(-7, 3)]", -1),
        ("[min(0, 3, 2)]", 0),
        ("[max(createArray(0, 3, 2))]", 3),
        ("[range(5, 3)]", [5, 6, 7]),
        ("[equals(1, '1')]", False),
        ("[equals(createArray(1, createObject('a', 1)), createArray(1, createObject('a', 1)))]", True),
        ("[not(false())]", True),
        ("[and(true(), true(), false())]", False),
        ("[or(false(), true())]", True),
        ("[greater(2, 1)]", True),
        ("[less('a', 'b')]", True),
        ("[greaterOrEquals(1, 1)]", True),
        ("[lessOrEquals(2, 1)]", False),
        ("[if(equals(1, 1), 'yes', div(1, 0))]", "yes"),
        ("[length('abc')]", 3),
        ("[length(createObject('a', 1, 'b', 2))]", 2),
        ("[empty('')]", True),
        ("[empty(null())]", True),
        ("[contains('OneTwo', 'Two')]", True),
        ("[contains(createArray(1, 2), 2)]", True),
        ("[contains(createObject('One', 1), 'one')]", True),
        ("[first('abc')]", "a"),
        ("[last(createArray(1, 2))]", 2),
        ("[first(createArray())]", None),
        ("[take('abcdef', 2)]", "ab"),
        ("[skip(createArray(1, 2, 3), 2)]", [3]),
        ("[union(createObject('a', 1, 'n', createObject('x', 1)), createObject('b', 2, 'n', createObject('y', 2)))]",
         {"a": 1, "n": {"x": 1, "y": 2}, "b": 2}),
        ("[union(createArray(1, 2), createArray(2, '2', true()))]", [1, 2, "2", True]),
        ("[intersection(createArray(1, 2, 3), createArray(3, 2))]", [2, 3]),
        ("[intersection(createObject('a', 1, 'b', 2), createObject('a', 1, 'b', 3))]", {"a": 1}),
        ("[coalesce(null(), null(), 'x')]", "x"),
        ("[array('a')]", ["a"]),
        ("[items(createObject('b', 1, 'a', 2))[0].key]", "a"),
        ("[variables('OF').name]", "x"),
        ("[variables('of')['list'][1]]", 2),
        ("[dateTimeAdd('2020-04-07 14:53:14Z', 'P3Y')]", "2023-04-07T14:53:14Z"),
        ("[dateTimeAdd('2020-01-31T00:00:00Z', 'P1M', 'yyyy-MM-dd')]", "2020-02-29"),
        ("[dateTimeAdd('20200407T145314Z', '-PT1H')]", "2020-04-07T13:53:14Z"),
        ("[dateTimeToEpoch('2022-03-01T00:00:00Z')]", 1646092800),
        ("[resourceGroup().location]", "westeurope"),
        ("[resourceGroup().tags.team]", "vision"),
        ("[subscription().subscriptionId]", SUBSCRIPTION),
        ("[tenant().tenantId]", "tenant"),
        ("[deployment().name]", "main"),
        ("[resourceId('A.B/c', 'x')]", f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/A.B/c/x"),
        ("[resourceId('other', 'A.B/c/d', 'x', 'y')]",
         f"/subscriptions/{SUBSCRIPTION}/resourceGroups/other/providers/A.B/c/x/d/y"),
        ("[resourceId('s', 'g', 'A.B/c', 'x')]", "/subscriptions/s/resourceGroups/g/providers/A.B/c/x"),
        ("[subscriptionResourceId('A.B/c', 'x')]", f"/subscriptions/{SUBSCRIPTION}/providers/A.B/c/x"),
        ("[extensionResourceId('/x', 'A.B/c', 'y')]", "/x/providers/A.B/c/y"),
        ("[[no expression]", "[no expression]"),
        ("[almost", "[almost"),
    ],
)  # fmt: skip
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


@each_row(
    ("expression", "message"),
    [
        ("[nothing('x')]", "there is no function 'nothing'"),
        ("[concatt('x')]", "there is no function 'concatt'"),
        ("[map(createArray(1), 'x')]", "the function 'map' is not supported here"),
        ("[concat('a',]", "the expression ends, where a function, a text in single quotes or a number is expected"),
        ("[concat('a']", "the expression ends, where a comma or the closing bracket is expected"),
        ("[concat('a')) ]", "')' stands at position 12, where the expression should end"),
        ("[concat(\"a\")]", "'\"a\")' at position 8 can't be read"),
        ("[parameters]", "'parameters' is not called"),
        ("[substring('abc', 2, 5)]", "substring: 5 characters from position 2 on don't lie in a text of 3"),
        ("[toLower(1)]", "the argument of toLower is a number, not a text"),
        ("[add('1', 2)]", "argument 1 of add is a text, not a whole number"),
        ("[add(1)]", "add takes 2 arguments and is given 1"),
        ("[length()]", "length takes 1 argument and is given 0"),
        ("[div(1, 0)]", "div: the divisor is 0"),
        ("[mul(9223372036854775807, 2)]", "the result of mul is too large for a number"),
        ("[variables('of').nothing]", "there is no property 'nothing'; there are list, Name"),
        ("[variables('of').list[2]]", "the list has 2 values; there is none at position 2, counted from 0"),
        ("[variables('off')]", "the template has no variable 'off'"),
        ("[parameters('p')]", "the template has no parameter 'p'"),
        ("[if('x', 1, 2)]", "the condition of if is a text, not true or false"),
        ("[resourceId('A.B/c/d', 'x')]", "the type 'A.B/c/d' takes 2 names and 1 is given"),
        ("[resourceId('x', 'y')]", "resourceId: it takes [subscription,] [resource group,] a type with a slash in it, and names"),
        ("[reference('x')]", "reference is not allowed here: its answer is known only while the resources are made"),
        ("[newGuid()]", "newGuid is allowed only in the default value of a parameter"),
        ("[copyIndex()]", "copyIndex: there is no copy loop here"),
        ("[json('{')]", "json: the text is not JSON; see its line 1"),
        ("[format('{1}', 'x')]", "format: {1} has no argument; 1 are given after the pattern"),
        ("[range(0, 10001)]", "range: the count is not 0 to 10000"),
        ("[base64ToString('?')]", "base64ToString: the text is not base64 of a text"),
        ("[" + "concat(" * 60 + "'x'" + ")" * 60 + "]", "calls are nested more than 40 deep in an expression"),
        ("[concat('" + "x" * 25_000 + "')]", "the expression is longer than 24576 characters"),
        ("[padLeft('x', 999999)]", "padLeft: the result is longer than 131072 characters"),
        ("[dateTimeAdd('2020-01-01', 'soon')]", "dateTimeAdd: the duration is not ISO 8601"),
    ],
)  # fmt: skip
def test_a_wrong_expression_is_a_problem_with_its_place(expression: str, message: str) -> None:
    problems = evaluated(expression).problems
    assert [(problem.path, problem.message, problem.value) for problem in problems] == [
        ("t.json:1: variables.value", message, expression)
    ]


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("[resourceGroup().location]", "the location of the resource group is not known here"),
        ("[resourceGroup().name]", "the resource group is not known here"),
        ("[subscription().id]", "the subscription is not known here"),
        ("[tenant().tenantId]", "the tenant is not known here"),
        ("[deployment().name]", "the deployment's name is not known here"),
        ("[resourceId('A.B/c', 'x')]", "the subscription is not known here"),
        ("[environment().name]", "the Azure cloud that is deployed to is not known here"),
        ("[string(resourceGroup())]", "the resource group and the location of the resource group is not known here"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_named(expression: str, what: str) -> None:
    assert [problem.message for problem in evaluated(expression, Scope()).problems] == [what]
