"""Templates of any content: the evaluator answers with problems and in time, and raises nothing."""

import json
import time
from typing import Any
from unittest import mock

from hypothesis import given, settings, strategies as st

from azure_gpu.formats import lenient_json
from azure_gpu.formats.arm_template import Scope, expand, finish, finish_outputs, values
from azure_gpu.formats.document import Document
from tests.support.examples import examples
from tests.support.tables import of_table

HEAD = {
    "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
    "contentVersion": "1.0.0.0",
}
SCOPES = st.sampled_from([Scope(), Scope("sub", "tenant", "rg", "westeurope", "main")])
NAMES = [
    "parameters", "variables", "concat", "format", "resourceId", "reference", "listKeys", "if", "equals", "createArray",
    "createObject", "union", "intersection", "range", "json", "string", "int", "length", "first", "take", "copyIndex", "min",
    "resourceGroup", "substring", "split", "join", "padLeft", "base64ToString", "items", "contains", "add",
    "div", "nothing", "coalesce",
]  # fmt: skip
LITERALS = st.sampled_from(["'a'", "'b'", "'A.B/things'", "0", "-1", "7", "'{0}'", "'[1]'", "'P1D'", "''"])
EXPRESSIONS = st.recursive(
    LITERALS,
    lambda inner: (
        st.builds(lambda name, given: f"{name}({', '.join(given)})", st.sampled_from(NAMES), st.lists(inner, max_size=3))
        | st.builds(lambda of, name: f"{of}.{name}", inner, st.sampled_from(["a", "b", "location", "id"]))
        | st.builds(lambda of, by: f"{of}[{by}]", inner, inner)
    ),
    max_leaves=8,
).map(lambda text: f"[{text}]")
TEXTS = (
    EXPRESSIONS
    | st.text(alphabet="[]()'a,. ", max_size=12)
    | st.sampled_from(["a", "b", "A.B/things", "A.B/things/parts", "a/b"])
)
KEYS = st.sampled_from(
    ["a", "b", "type", "name", "apiVersion", "properties", "copy", "count", "input", "condition", "dependsOn", "resources",
     "value", "defaultValue", "template", "mode", "parameters", "allowedValues", "minValue", "scope", "tags", "[concat('k')]"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 900) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)
RESOURCE = st.fixed_dictionaries(
    {"type": st.sampled_from(["A.B/things", "A.B/things/parts", "Microsoft.Resources/deployments"]), "apiVersion": st.just("1"),
     "name": TEXTS},
    optional={"properties": JSON, "dependsOn": JSON, "copy": JSON, "condition": JSON, "resources": JSON, "tags": JSON,
              "scope": TEXTS},
)  # fmt: skip
PARAMETER = st.fixed_dictionaries({"type": st.sampled_from(["string", "int", "object"])}, optional={"defaultValue": JSON})
OUTPUT = st.fixed_dictionaries({"type": st.just("string"), "value": JSON})
TEMPLATE = st.fixed_dictionaries(
    {"resources": st.lists(RESOURCE | JSON, max_size=3) | JSON},
    optional={
        "parameters": st.dictionaries(KEYS, PARAMETER | JSON, max_size=3) | JSON,
        "variables": st.dictionaries(KEYS, JSON, max_size=3) | JSON,
        "outputs": st.dictionaries(KEYS, OUTPUT | JSON, max_size=2) | JSON,
        "functions": JSON,
    },
)  # fmt: skip


@settings(max_examples=examples(400), deadline=None)
@given(template=TEMPLATE, given_values=st.dictionaries(KEYS, JSON, max_size=2), scope=SCOPES)
def test_no_template_upsets_the_evaluator(template: dict[str, Any], given_values: dict[str, Any], scope: Scope) -> None:
    whole = expand(Document("t.json", {**HEAD, **template}, {}), given_values, scope)
    json.dumps([resource.body for resource in whole.resources])
    for resource in whole.everything():
        finish(resource, lambda _: {"a": "x"})
    finish_outputs(whole, lambda _: "x")


@settings(max_examples=examples(300), deadline=None)
@given(expression=EXPRESSIONS | st.text(max_size=30).map(lambda text: f"[{text}]"))
def test_every_expression_has_a_value_or_a_problem(expression: str) -> None:
    document = Document("t.json", {**HEAD, "resources": [], "variables": {"a": expression}}, {})
    whole = expand(document, {}, Scope("sub", "tenant", "rg", "westeurope", "main"))
    assert whole.frame is not None
    assert whole.problems or "a" in whole.frame.variables.values()


@given(value=JSON)
def test_whatever_stands_where_a_template_should_is_a_problem_or_a_template(value: Any) -> None:
    assert expand(Document("t.json", value, {}), {}, Scope()).problems


def loop(name: str, of: Any) -> dict[str, Any]:
    return {"copy": [{"name": name, "count": 800, "input": of}]}


def doubling() -> dict[str, str]:
    return {f"v{index}": f"[createArray(variables('v{index + 1}'), variables('v{index + 1}'))]" for index in range(200)} | {
        "v200": "x"
    }


def deployments_in_each_other(depth: int) -> dict[str, Any]:
    inner = deployments_in_each_other(depth - 1) if depth else {"type": "A.B/things", "apiVersion": "1", "name": "x"}
    properties = {"mode": "Incremental", "template": {**HEAD, "resources": [inner]}}
    return {
        "type": "Microsoft.Resources/deployments", "apiVersion": "1", "name": "[concat('n', copyIndex())]",
        "copy": {"name": "loop", "count": 800}, "properties": properties,
    }  # fmt: skip


@of_table(
    "parts",
    more=[
        {"variables": doubling()},
        {"variables": {f"v{index}": f"[variables('v{index + 1}')]" for index in range(250)} | {"v250": "x"}},
        {"variables": {"big": "[range(0, 9000)]"} | {f"v{index}": "[length(string(variables('big')))]" for index in range(200)}},
        {"variables": {"t": "[padLeft('', 131000, 'x')]", "f": "[format('" + "{0}" * 7000 + "', variables('t'))]"}},
        {"resources": [deployments_in_each_other(4)]},
    ],
)
def test_a_hostile_template_ends_soon(parts: dict[str, Any]) -> None:
    document, problems = lenient_json.read(json.dumps({**HEAD, "resources": [], **parts}), "t.json")
    assert document is not None, problems
    before = time.process_time()
    with mock.patch.object(values, "MAX_WORK", values.MAX_WORK // 20):
        expand(document, {}, Scope("sub", "tenant", "rg", "westeurope", "main"))
    assert time.process_time() - before < 20  # without limits: hours
