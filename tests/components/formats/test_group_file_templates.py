"""Container groups in templates: what parameters, variables and expressions make of them, and what only Azure knows."""

import json
from typing import Any

from azure_gpu.catalog.problems import Problem, Severity, errors
from azure_gpu.formats.arm_template import Scope
from azure_gpu.formats.container_group_file import GroupInFile, read
from tests.support.container_group_files import PASSWORD, TEMPLATE_2021


def groups_of(text: str, **parameters: Any) -> tuple[list[GroupInFile], list[Problem]]:
    return read(text, "t.json", parameters)


def told(text: str, **parameters: Any) -> list[tuple[str, str]]:
    return [(problem.path, problem.message) for problem in errors(groups_of(text, **parameters)[1])]


def test_parameters_are_put_in_and_text_becomes_what_the_parameter_wants() -> None:
    groups, problems = groups_of(TEMPLATE_2021, prefix="day", cpuCores="3")
    assert errors(problems) == []
    assert [group.name for group in groups] == ["day-train", "day-report"]
    assert groups[0].body["properties"]["containers"][0]["properties"]["resources"]["requests"]["cpu"] == 3


def test_a_secure_parameter_needs_no_value_and_is_never_shown() -> None:
    for parameters in ({}, {"registryPassword": PASSWORD}, {"registrypassword": PASSWORD}):
        groups, problems = groups_of(TEMPLATE_2021, **parameters)
        assert errors(problems) == []
        assert "properties.imageRegistryCredentials[0].password" in groups[0].secrets
        assert PASSWORD not in str(groups) + str(problems)


def test_a_text_that_a_secure_parameter_is_part_of_is_a_secret() -> None:
    text = TEMPLATE_2021.replace(
        "[if(equals", '[concat(\'x\', parameters(\'registryPassword\'))]"}, {"name": "B", "value": "[if(equals'
    )
    groups, _ = groups_of(text)
    variables = groups[0].body["properties"]["containers"][0]["properties"]["environmentVariables"]
    assert variables[1] == {"name": "MODE", "secureValue": "[secret]"}
    assert "properties.containers[0].properties.environmentVariables[1].secureValue" in groups[0].secrets


def test_a_missing_parameter_is_named_with_its_line() -> None:
    text = TEMPLATE_2021.replace('"prefix": {"type": "string", "defaultValue": "night"}', '"prefix": {"type": "string"}')
    assert ("t.json:6: parameters.prefix", "the value for the template parameter 'prefix' is not provided") in told(text)


def test_a_circle_of_dependencies_is_passed_on() -> None:
    text = TEMPLATE_2021.replace(
        '"location": "eastus",', '"location": "eastus", "dependsOn": ["[concat(parameters(\'prefix\'), \'-report\')]"],'
    )
    found = told(text)
    assert [path for path, _ in found] == ["t.json:29: resources[1].dependsOn"]
    assert "circular dependency" in found[0][1]


def test_an_expression_that_needs_azure_is_named() -> None:
    text = TEMPLATE_2021.replace('"storageAccountName": "examplefiles"', '"storageAccountName": "[reference(\'x\').name]"')
    (only,) = told(text)
    assert only == (
        "t.json:76: resources[2].properties.volumes[0].azureFile.storageAccountName",
        "the value of this expression isn't known here",
    )


def test_what_other_resources_are_called_doesnt_matter_until_a_group_needs_it() -> None:
    assert told(TEMPLATE_2021) == []
    text = TEMPLATE_2021.replace('"storageAccountName": "examplefiles"', '"storageAccountName": "[variables(\'account\')]"')
    assert ("t.json:13: variables.account", "the resource group is not known here") in told(text)


def test_a_group_whose_name_needs_the_resource_group_is_named_by_the_stack() -> None:
    text = TEMPLATE_2021.replace("[concat(parameters('prefix'), '-report')]", "[concat('r', uniqueString(resourceGroup().id))]")
    groups, problems = groups_of(text)
    assert [group.name for group in groups] == ["night-train", ""]
    assert errors(problems) == []
    named = [problem for problem in problems if problem.path.endswith("resources[2].name")]
    assert [(problem.severity, problem.message) for problem in named] == [
        (Severity.WARNING, "the resource group is not known here")
    ]


def test_a_key_that_a_function_asks_for_is_a_secret_wherever_it_stands() -> None:
    text = TEMPLATE_2021.replace(
        "[if(equals", '[concat(\'a;\', listKeys(\'x\', \'2019-06-01\').keys[0].value)]"}, {"name": "B", "value": "[if(equals'
    )
    groups, problems = groups_of(text)
    assert errors(problems) == []
    assert groups[0].body["properties"]["containers"][0]["properties"]["environmentVariables"][1]["secureValue"] == "[secret]"


def test_a_location_is_the_resource_groups_where_that_is_known() -> None:
    groups, _ = read(TEMPLATE_2021, "t.json", {}, Scope(location="westeurope"))
    assert [group.body.get("location") for group in groups] == ["eastus", "westeurope"]


def test_a_group_in_a_nested_deployment_is_found() -> None:
    inner = TEMPLATE_2021[TEMPLATE_2021.index("{") :].replace("// two groups that share a file share\n", "")
    parameters = {"registryPassword": {"value": PASSWORD * 3}, "prefix": {"value": "far"}}
    deployment = {
        "type": "Microsoft.Resources/deployments",
        "apiVersion": "2021-04-01",
        "name": "inner",
        "properties": {
            "mode": "Incremental",
            "expressionEvaluationOptions": {"scope": "inner"},
            "parameters": parameters,
            "template": json.loads(inner),
        },
    }
    schema = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
    text = json.dumps({"$schema": schema, "contentVersion": "1.0.0.0", "resources": [deployment]}, indent=1)
    groups, problems = groups_of(text)
    assert [group.name for group in groups] == ["far-train", "far-report"]
    assert PASSWORD not in str(groups) + str(problems)
