"""Template deployments over HTTP: what a template makes, in which order, what its outputs are, and what the records tell."""

import json
from typing import Any

from tests.localazure.conftest import new_group
from tests.support.embedded import CHECKOUT, EmbeddedAzure

VERSION = "2025-04-01"
SCHEMA = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
IDENTITY = "Microsoft.ManagedIdentity/userAssignedIdentities"
CONTAINER_GROUP = "Microsoft.ContainerInstance/containerGroups"
ACCOUNT = "Microsoft.Storage/storageAccounts"
# What fails while it runs, where a region has no capacity: what depends on nothing is judged before anything is made.
SOLD_OUT = {
    "type": CONTAINER_GROUP, "apiVersion": "2023-05-01", "name": "sold-out", "location": "westeurope", "dependsOn": ["fine"],
    "properties": {
        "osType": "Linux",
        "containers": [
            {"name": "main", "properties": {"image": "python:3.11", "resources": {"requests": {"cpu": 1, "memoryInGB": 1}}}}
        ],
    },
}  # fmt: skip


def template(*resources: Any, **parts: Any) -> dict[str, Any]:
    return {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "resources": list(resources), **parts}


def identity(name: str, **more: Any) -> dict[str, Any]:
    return {"type": IDENTITY, "apiVersion": "2023-01-31", "name": name, "location": "[resourceGroup().location]", **more}


def body(content: Any, mode: str = "Incremental", **parameters: Any) -> dict[str, Any]:
    values = {name: {"value": value} for name, value in parameters.items()}
    return {"properties": {"mode": mode, "parameters": values, "template": content}}


def path(group: str, name: str) -> str:
    return f"{group}/providers/Microsoft.Resources/deployments/{name}"


def deployed(azure: EmbeddedAzure, group: str, sent: dict[str, Any], name: str = "main") -> dict[str, Any]:
    """The deployment after it has ended."""
    answer = azure.put(path(group, name), sent, VERSION)
    assert answer.status_code in (200, 201), answer.text
    azure.finished(answer)
    return azure.get(path(group, name), VERSION).json()


def test_the_body_that_az_sends_is_no_json(azure: EmbeddedAzure, group: str) -> None:
    text = json.dumps(template(identity("trainer")), indent=2).replace("[\n", "[ // what is made\n", 1)
    sent = '{"properties": {"parameters": {}, "mode": "Incremental", template:' + text + "}}"
    headers = {"Content-Type": "application/json; charset=utf-8"}
    lower = path(group.replace("resourceGroups", "resourcegroups"), "main")
    for what in ("/validate", ""):
        answer = azure.client.request(
            "POST" if what else "PUT", lower + what, params={"api-version": VERSION}, content=sent, headers=headers
        )
        assert answer.is_success, answer.text
    azure.finished(answer)
    assert azure.get(f"{group}/providers/{IDENTITY}/trainer", "2023-01-31").status_code == 200


def test_the_template_of_the_source_document_is_deployed_as_of_its_own_year_and_refused_today(azure: EmbeddedAzure) -> None:
    group = new_group(azure, location="eastus", tags={"as-of": "2019-06-01"})
    sent = _source_body()
    validated = azure.client.post(path(group, "gpudeploy") + "/validate", params={"api-version": VERSION}, content=sent)
    assert validated.status_code == 200, validated.text
    answer = azure.client.put(path(group, "gpudeploy"), params={"api-version": VERSION}, content=sent)
    assert azure.finished(answer)["status"] == "Succeeded"
    container_group = f"{group}/providers/Microsoft.ContainerInstance/containerGroups/gpucontainergrouprm"
    made = azure.get(container_group, "2018-10-01").json()
    assert made["properties"]["containers"][0]["properties"]["resources"]["requests"]["gpu"] == {"count": 1, "sku": "V100"}

    today = new_group(azure, location="eastus", tags={"as-of": "2026-11-01"})
    for method, address in (("POST", "/validate"), ("PUT", "")):
        refused = azure.client.request(method, path(today, "gpudeploy") + address, params={"api-version": VERSION}, content=sent)
        assert refused.status_code == 400, refused.text
        error = refused.json()["error"]
        assert error["code"] == "InvalidTemplateDeployment"
        assert "2025-07-14" in json.dumps(error["details"])
    assert azure.get(path(today, "gpudeploy"), VERSION).status_code == 404


def _source_body() -> bytes:
    """The template of the source document, in the body in which `az` sends it."""
    text = (CHECKOUT / "examples" / "documents" / "gpudeploy.json").read_text()
    return ('{"properties": {"mode": "Incremental", template:' + text + "}}").encode()


def test_every_problem_of_a_template_is_told_at_once_with_its_line(azure: EmbeddedAzure, group: str) -> None:
    text = json.dumps(
        template(identity("x", tags={"a": "[nothing()]"}), parameters={"one": {"type": "string"}, "two": {"type": "int"}}),
        indent=1,
    )
    sent = '{"properties": {"mode": "Incremental", template:' + text + "}}"
    answer = azure.client.post(path(group, "main") + "/validate", params={"api-version": VERSION}, content=sent)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["code"] == "InvalidTemplate"
    places = [violation["info"]["path"] for violation in error["additionalInfo"]]
    assert places == ["parameters.one", "parameters.two", "resources[0].tags.a"]
    line = next(number for number, each in enumerate(text.splitlines(), 1) if '"one"' in each)
    assert error["additionalInfo"][0]["info"] == {"lineNumber": line, "linePosition": 0, "path": "parameters.one"}
    assert "The value for the template parameter 'one'" in error["message"]
    assert "there is no function 'nothing'" in error["message"].lower()
