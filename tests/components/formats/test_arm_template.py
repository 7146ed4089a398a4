"""Whole templates: parameters, variables, conditions, copy loops, children, nested deployments, dependencies, outputs."""

import json
from pathlib import Path
from typing import Any

import pytest

from azure_gpu.formats import lenient_json
from azure_gpu.formats.arm_template import (
    DEFERRED,
    Ask,
    Expanded,
    Scope,
    TemplateResource,
    expand,
    finish,
    finish_outputs,
    read_file,
)
from tests.support.tables import of_table

SCOPE = Scope("sub", "tenant", "rg", "westeurope", "main")
GROUP = "/subscriptions/sub/resourceGroups/rg"
HEAD = {
    "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
    "contentVersion": "1.0.0.0",
}
DOCUMENTS = Path(__file__).parents[3] / "examples" / "documents"


def thing(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "A.B/things", "apiVersion": "2020-01-01", "name": name, **more}


def expanded(parts: dict[str, Any], given: dict[str, Any] | None = None, scope: Scope = SCOPE) -> Expanded:
    document, problems = lenient_json.read(json.dumps({**HEAD, "resources": [], **parts}, indent=1), "t.json")
    assert document is not None, problems
    return expand(document, given or {}, scope)


def resources(*entries: Any, **parts: Any) -> tuple[TemplateResource, ...]:
    whole = expanded({"resources": list(entries), **parts})
    assert whole.problems == []
    return whole.resources


def messages(*entries: Any, **parts: Any) -> list[str]:
    return [problem.message for problem in expanded({"resources": list(entries), **parts}).problems]


def test_the_template_of_the_source_document_is_one_container_group() -> None:
    document, problems = lenient_json.read((DOCUMENTS / "gpudeploy.json").read_text(), "gpudeploy.json")
    assert document is not None, problems
    whole = expand(document, {}, Scope(location="eastus"))
    assert whole.problems == []
    (group,) = whole.resources
    assert (group.type, group.name, group.path) == (
        "Microsoft.ContainerInstance/containerGroups",
        "gpucontainergrouprm",
        "resources[0]",
    )
    assert group.body["location"] == "eastus"
    (container,) = group.body["properties"]["containers"]
    assert container["name"] == "gpucontainer"
    assert container["properties"]["image"] == "microsoft/samples-tf-mnist-demo:gpu"
    assert container["properties"]["resources"]["requests"]["gpu"] == {"count": 1, "sku": "V100"}


# Parameters


def test_missing_and_unknown_parameters_are_told_all_at_once() -> None:
    parameters = {"one": {"type": "string"}, "two": {"type": "int"}, "three": {"type": "int", "defaultValue": 3}}
    problems = expanded({"parameters": parameters}, {"won": 1, "TWO": 2}).problems
    assert [(problem.path, problem.message) for problem in problems] == [
        ("t.json:6: parameters.one", "the value for the template parameter 'one' is not provided"),
        ("t.json:5: parameters", "a value is given for 'won', which isn't a parameter of the template"),
    ]


@of_table("declared", "value", "message")
def test_a_value_that_its_parameter_does_not_take_is_a_problem(declared: Any, value: Any, message: str) -> None:
    assert [problem.message for problem in expanded({"parameters": {"p": declared}}, {"p": value}).problems] == [message]


def test_a_default_may_use_other_parameters() -> None:
    parameters = {
        "a": {"type": "string", "defaultValue": "[concat(parameters('b'), '!')]"},
        "b": {"type": "string", "defaultValue": "b"},
        "id": {"type": "string", "defaultValue": "[newGuid()]"},
        "day": {"type": "string", "defaultValue": "[utcNow('yyyy-MM-dd')]"},
    }
    values = expanded({"parameters": parameters}, {"b": "c"}).parameters
    assert values["a"] == "c!"
    assert (len(values["id"]), len(values["day"])) == (36, 10)


def test_what_comes_from_a_secure_parameter_is_marked_and_in_no_problem() -> None:
    properties = {"a": "[variables('header')]", "b": ["c", "[parameters('key')]"], "d": "[add(parameters('key'), 1)]"}
    whole = expanded(
        {
            "parameters": {"key": {"type": "securestring"}, "other": {"type": "secureObject", "allowedValues": [{"x": 1}]}},
            "variables": {"header": "[concat('Bearer ', parameters('key'))]"},
            "resources": [thing("x", properties=properties)],
        },
        {"key": "hunter2", "other": {"x": "hunter2"}},
    )
    (resource,) = whole.resources
    assert resource.secrets == ("properties.a", "properties.b[1]", "properties.d")
    assert resource.body["properties"]["a"] == "Bearer hunter2"
    assert len(whole.problems) == 2
    assert "hunter2" not in str(whole.problems)
    assert whole.secure_parameters == {"key", "other"}


def test_a_parameter_file_is_read_and_a_key_vaults_secret_refused() -> None:
    text = (
        '{"$schema": "…", "contentVersion": "1.0.0.0", "parameters": {\n"a": {"value": [1]},\n"b": {"reference": {}},\n"c": 3}}'
    )
    document, _ = lenient_json.read(text, "p.json")
    assert document is not None
    values, problems = read_file(document)
    assert values == {"a": [1]}
    assert [(problem.path, problem.message) for problem in problems] == [
        ("p.json:3: parameters.b", "the parameter 'b' is a key vault's secret, which is not read here"),
        ("p.json:4: parameters.c", "the parameter 'c' has no value"),
    ]


# Variables


def test_variables_that_need_each_other_are_one_problem_that_names_the_circle() -> None:
    variables = {"a": "[variables('b')]", "b": "[concat(variables('c'))]", "c": "[variables('a')]"}
    assert messages(thing("[variables('a')]"), variables=variables) == ["the variables a → b → c → a need each other in a circle"]


def test_a_failed_variable_is_told_once_and_not_where_it_is_used() -> None:
    found = messages(thing("x", tags={"a": "[variables('a')]"}), thing("[variables('a')]"), variables={"a": "[nothing()]"})
    assert found == ["there is no function 'nothing'"]


def test_copy_makes_lists_in_variables() -> None:
    variables = {
        "copy": [{"name": "many", "count": 2, "input": {"at": "[copyIndex('many', 1)]"}}],
        "inside": {"copy": [{"name": "list", "count": "[length(variables('many'))]", "input": "[copyIndex('list')]"}], "x": 1},
    }
    (resource,) = resources(
        thing("x", properties={"a": "[variables('many')]", "b": "[variables('inside')]"}), variables=variables
    )
    assert resource.body["properties"] == {"a": [{"at": 1}, {"at": 2}], "b": {"list": [0, 1], "x": 1}}


# Resources


def test_conditions_leave_resources_out_and_what_depends_on_them_waits_for_nothing() -> None:
    (kept,) = resources(thing("no", condition="[equals(1, 2)]"), thing("yes", condition=True, dependsOn=["no"]))
    assert (kept.name, kept.depends_on) == ("yes", ())


def test_a_copy_loop_makes_resources_and_can_be_waited_for() -> None:
    loop = thing("[concat('n', copyIndex(1))]", copy={"name": "loop", "count": 3}, properties={"at": "[copyIndex()]"})
    *rounds, after = resources(loop, thing("after", dependsOn=["loop"]))
    assert [each.name for each in rounds] == ["n1", "n2", "n3"]
    assert [each.body["properties"] for each in rounds] == [{"at": 0}, {"at": 1}, {"at": 2}]
    assert after.depends_on == ("a.b/things/n1", "a.b/things/n2", "a.b/things/n3")


def test_a_serial_loop_waits_batch_by_batch() -> None:
    loop = thing("[concat('n', copyIndex())]", copy={"name": "l", "count": 4, "mode": "Serial", "batchSize": 2})
    assert [len(each.depends_on) for each in resources(loop)] == [0, 0, 2, 2]


def test_a_loop_over_properties_sees_the_loop_around_it() -> None:
    disks = {"copy": [{"name": "disks", "count": 2, "input": {"lun": "[copyIndex('disks')]", "of": "[copyIndex()]"}}]}
    _, second = resources(thing("[concat('n', copyIndex())]", copy={"name": "l", "count": 2}, properties=disks))
    assert second.body["properties"] == {"disks": [{"lun": 0, "of": 1}, {"lun": 1, "of": 1}]}


@pytest.mark.parametrize("count", [-1, 801, "x", 1.5])
def test_a_loop_runs_at_most_as_often_as_azures(count: Any) -> None:
    found = messages(thing("[concat('n', copyIndex())]", copy={"name": "l", "count": count}))
    assert found == ["the count of a copy loop is not a whole number from 0 to 800"]


def test_children_take_type_and_name_of_what_they_are_written_in() -> None:
    child = {"type": "parts", "apiVersion": "2020-01-01", "name": "b", "dependsOn": ["a"]}
    _, part = resources(thing("a", resources=[child]))
    assert (part.type, part.name, part.id) == ("A.B/things/parts", "a/b", f"{GROUP}/providers/A.B/things/a/parts/b")
    assert part.depends_on == ("a.b/things/a",)


@pytest.mark.parametrize(
    "entry",
    ["two", "A.B/things/two", "[resourceId('A.B/things', 'two')]", "[concat('A.B/things/', 'TWO')]"],
)
def test_a_dependency_is_named_in_every_way_that_azure_takes(entry: str) -> None:
    one, _ = resources(thing("one", dependsOn=[entry]), thing("two"))
    assert one.depends_on == ("a.b/things/two",)


def test_dependencies_are_found_without_knowing_the_subscription() -> None:
    entry = thing("one", dependsOn=["[resourceId('A.B/things', 'two')]"])
    whole = expanded({"resources": [entry, thing("two")]}, scope=Scope())
    assert whole.problems == []
    assert whole.resources[0].depends_on == ("a.b/things/two",)


def test_a_reference_is_a_dependency() -> None:
    one, _ = resources(thing("one", properties={"a": "[reference('two').b]"}), thing("two"))
    assert one.depends_on == ("a.b/things/two",)
    assert one.unresolved == {"properties.a": "[reference('two').b]"}


def test_a_circle_of_dependencies_is_named() -> None:
    entries = [thing("a", dependsOn=["b"]), thing("b", dependsOn=["c"]), thing("c", dependsOn=["a"])]
    assert messages(*entries) == ["circular dependency: A.B/things 'a' → A.B/things 'b' → A.B/things 'c' → A.B/things 'a'"]


@of_table("entries", "message")
def test_what_is_wrong_with_a_resource_is_told(entries: list[Any], message: str) -> None:
    assert messages(*entries) == [message]


def test_symbolic_names_are_understood() -> None:
    parts = {
        "languageVersion": "2.0",
        "resources": {
            "first": thing("a"),
            "there": thing("old", existing=True),
            "second": thing("b", dependsOn=["first"], properties={"x": "[reference('there').y]"}),
        },
    }
    whole = expanded(parts)
    assert whole.problems == []
    assert [(each.name, each.depends_on) for each in whole.resources] == [("a", ()), ("b", ("a.b/things/a",))]


# Nested deployments and outputs


def nested(scope: str, template: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    return {
        "type": "Microsoft.Resources/deployments",
        "apiVersion": "2022-09-01",
        "name": "inside",
        "properties": {
            "mode": "Incremental",
            "expressionEvaluationOptions": {"scope": scope},
            "parameters": {name: {"value": value} for name, value in parameters.items()},
            "template": {**HEAD, **template},
        },
    }


def test_a_nested_template_sees_its_own_names_in_inner_scope_and_those_around_it_in_outer_scope() -> None:
    template = {"variables": {"who": "inner"}, "resources": [thing("[variables('who')]")]}
    for scope, name in (("inner", "inner"), ("outer", "outer")):
        whole = expanded({"variables": {"who": "outer"}, "resources": [nested(scope, template)]})
        assert whole.problems == []
        assert [each.name for each in whole.everything()] == [name]


def test_problems_of_a_nested_template_have_their_place_in_the_file() -> None:
    whole = expanded({"resources": [nested("inner", {"resources": [thing("[parameters('p')]")]}, q=1)]})
    assert [problem.path.partition(": ")[2] for problem in whole.problems] == [
        "resources[0].properties.template.parameters",
        "resources[0].properties.template.resources[0].name",
    ]


def test_a_nested_template_that_waits_for_a_parameter_is_left_as_it_is() -> None:
    template = {"parameters": {"p": {"type": "string"}}, "resources": [thing("[parameters('p')]")]}
    whole = expanded({"resources": [thing("a"), nested("inner", template, p="[reference('a').id]")]})
    assert whole.problems == []
    assert whole.resources[1].expanded is None
    assert whole.resources[1].depends_on == ("a.b/things/a",)


def test_what_only_a_running_deployment_knows_is_answered_later() -> None:
    whole = expanded(
        {
            "resources": [thing("a"), thing("b", tags={"x": "[concat(reference('a').c, listKeys('a', '2020-01-01').d)]"})],
            "outputs": {"o": {"type": "string", "value": "[reference('a', '2019-01-01', 'Full').location]"}},
        }
    )
    asked: list[Ask] = []

    def runtime(ask: Ask) -> Any:
        asked.append(ask)
        if ask.function == "listKeys":
            return {"d": "key"}
        return {"location": "here"} if ask.full else {"c": "answer"}

    finished = finish(whole.resources[1], runtime)
    assert (finished.body["tags"], finished.waiting) == ({"x": "answerkey"}, False)
    assert asked == [
        Ask("reference", f"{GROUP}/providers/A.B/things/a", "2020-01-01"),
        Ask("listKeys", f"{GROUP}/providers/A.B/things/a", "2020-01-01"),
    ]
    assert finish(whole.resources[1], lambda _: DEFERRED).waiting
    assert finish_outputs(whole, runtime).outputs["o"].value == "here"
    wrong = finish(whole.resources[1], lambda _: {"nothing": 1})
    assert [problem.message for problem in wrong.problems] == ["there is no property 'c'; there are nothing"]


def test_outputs_have_types_loops_and_conditions() -> None:
    outputs = {
        "one": {"type": "int", "value": "[add(1, 2)]"},
        "many": {"type": "array", "copy": {"count": 2, "input": "[copyIndex()]"}},
        "none": {"type": "string", "value": "x", "condition": False},
        "key": {"type": "secureString", "value": "x"},
    }
    found = expanded({"outputs": outputs}).outputs
    assert {name: (output.value, output.secure) for name, output in found.items()} == {
        "one": (3, False),
        "many": ([0, 1], False),
        "key": ("x", True),
    }
    assert [problem.message for problem in expanded({"outputs": {"o": {"type": "int", "value": "x"}}}).problems] == [
        "the output 'o' is of type int, and its value is a text"
    ]


def test_what_is_no_template_is_told() -> None:
    document, _ = lenient_json.read('{"resource": []}', "t.json")
    assert document is not None
    assert [problem.message for problem in expand(document, {}, SCOPE).problems] == [
        "the template has no $schema",
        "the template has no contentVersion",
        "the template has no resources",
        "a template has no 'resource'",
    ]
    other = {"$schema": "https://schema.management.azure.com/schemas/2018-05-01/subscriptionDeploymentTemplate.json#"}
    assert [problem.message for problem in expanded(other).problems] == [
        "a template that is deployed to a subscription is not supported here"
    ]
