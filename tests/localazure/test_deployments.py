"""Template deployments over HTTP: what a template makes, in which order, what its outputs are, and what the records tell."""

import json
from typing import Any

from tests.localazure.conftest import new_group
from tests.support.embedded import CHECKOUT, EmbeddedAzure
from tests.support.in_process import InProcessAzure

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


def test_a_deployment_makes_its_resources_and_answers_outputs(azure: EmbeddedAzure, group: str) -> None:
    content = template(
        identity("[parameters('who')]", tags={"made-by": "[deployment().name]"}),
        parameters={"who": {"type": "string"}},
        outputs={
            "client": {"type": "string", "value": "[reference(parameters('who')).clientId]"},
            "id": {"type": "string", "value": f"[resourceId('{IDENTITY}', parameters('who'))]"},
        },
    )
    answer = azure.put(path(group, "main"), body(content, who="trainer"), VERSION)
    assert answer.status_code == 201
    assert answer.headers["retry-after"] == "1"
    assert azure.finished(answer)["status"] == "Succeeded"
    properties = azure.get(path(group, "main"), VERSION).json()["properties"]
    made = azure.get(f"{group}/providers/{IDENTITY}/trainer", "2023-01-31").json()
    assert properties["provisioningState"] == "Succeeded"
    assert properties["outputs"] == {
        "client": {"type": "String", "value": made["properties"]["clientId"]},
        "id": {"type": "String", "value": made["id"]},
    }
    assert properties["outputResources"] == [{"id": made["id"]}]
    assert properties["parameters"] == {"who": {"type": "String", "value": "trainer"}}
    assert made["tags"] == {"made-by": "main"}
    assert made["location"] == "westeurope"


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


def test_resources_come_in_the_order_of_their_dependencies(azure: EmbeddedAzure, group: str) -> None:
    content = template(
        identity("third", dependsOn=["second"]),
        identity("second", dependsOn=[f"[resourceId('{IDENTITY}', 'first')]"]),
        identity("first"),
    )
    deployed(azure, group, body(content))
    operations = azure.get(f"{path(group, 'main')}/operations", VERSION).json()["value"]
    order = [each["properties"]["targetResource"]["resourceName"] for each in reversed(operations)]
    assert order == ["first", "second", "third"]


def test_operations_are_listed_with_and_without_the_provider(azure: EmbeddedAzure, group: str) -> None:
    deployed(azure, group, body(template(identity("one"), outputs={"o": {"type": "int", "value": 1}})))
    short = azure.get(f"{group}/deployments/main/operations", VERSION).json()["value"]
    assert short == azure.get(f"{path(group, 'main')}/operations", VERSION).json()["value"]
    assert {each["properties"]["provisioningOperation"] for each in short} == {"Create", "EvaluateDeploymentOutput"}
    one = next(each for each in short if each["properties"]["provisioningOperation"] == "Create")
    assert one["properties"]["statusCode"] == "Created"
    assert azure.get(f"{path(group, 'main')}/operations/{one['operationId']}", VERSION).json() == one


def test_deployments_are_listed_the_latest_first(azure: EmbeddedAzure, group: str) -> None:
    for name in ("one", "two"):
        deployed(azure, group, body(template()), name)
    listed = azure.get(f"{group}/providers/Microsoft.Resources/deployments/", VERSION).json()["value"]
    assert [each["name"] for each in listed] == ["two", "one"]
    failed = azure.get(
        f"{group}/providers/Microsoft.Resources/deployments", VERSION, **{"$filter": "provisioningState eq 'Failed'"}
    )
    assert failed.json()["value"] == []
    assert azure.delete(path(group, "one"), VERSION).status_code == 204
    assert azure.get(path(group, "one"), VERSION).json()["error"]["code"] == "DeploymentNotFound"


def test_values_of_secure_parameters_and_outputs_are_in_no_answer(azure: EmbeddedAzure, group: str) -> None:
    content = template(
        parameters={"key": {"type": "securestring"}, "more": {"type": "secureObject"}},
        outputs={"key": {"type": "securestring", "value": "[parameters('key')]"}},
    )
    answer = azure.put(path(group, "main"), body(content, key="hunter2", more={"x": "hunter2"}), VERSION)
    azure.finished(answer)
    shown = azure.get(path(group, "main"), VERSION)
    assert shown.json()["properties"]["parameters"] == {"key": {"type": "SecureString"}, "more": {"type": "SecureObject"}}
    assert shown.json()["properties"]["outputs"] == {"key": {"type": "SecureString"}}
    for each in (answer, shown, azure.get(f"{path(group, 'main')}/operations", VERSION)):
        assert "hunter2" not in each.text


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


def test_what_a_service_would_refuse_is_told_before_anything_is_made(azure: EmbeddedAzure, group: str) -> None:
    account = {"type": ACCOUNT, "apiVersion": "2024-01-01", "name": "NO", "location": "westeurope", "kind": "StorageV2"}
    unknown = {"type": "Microsoft.Nothing/things", "apiVersion": "2024-01-01", "name": "x"}
    content = template(
        identity("fine"), {**account, "sku": {"name": "Standard_LRS"}}, unknown, identity("old") | {"apiVersion": "1"}
    )
    error = azure.put(path(group, "main"), body(content), VERSION).json()["error"]
    assert error["code"] == "InvalidTemplateDeployment"
    assert [detail["code"] for detail in error["details"]] == [
        "AccountNameInvalid", "NotImplemented", "NoRegisteredProviderFound",
    ]  # fmt: skip
    assert azure.get(f"{group}/providers/{IDENTITY}/fine", "2023-01-31").status_code == 404


def test_what_fails_while_it_runs_fails_the_deployment_and_what_depends_on_it_is_left_out(own_azure: InProcessAzure) -> None:
    own_azure.fault("capacity", location="westeurope")
    group = new_group(own_azure)
    content = template(identity("fine"), SOLD_OUT, identity("after", dependsOn=["sold-out"]), identity("beside"))
    ended = own_azure.finished(own_azure.put(path(group, "main"), body(content), VERSION))
    assert ended["status"] == "Failed"
    assert ended["error"]["code"] == "DeploymentFailed"
    assert [detail["code"] for detail in ended["error"]["details"]] == ["ServiceUnavailable"]
    properties = own_azure.get(path(group, "main"), VERSION).json()["properties"]
    assert (properties["provisioningState"], properties["error"]) == ("Failed", ended["error"])
    names = {
        name: own_azure.get(f"{group}/providers/{IDENTITY}/{name}", "2023-01-31").status_code
        for name in ("fine", "after", "beside")
    }
    assert names == {"fine": 200, "after": 404, "beside": 200}
    operations = own_azure.get(f"{path(group, 'main')}/operations", VERSION).json()["value"]
    failed = next(each for each in operations if each["properties"]["provisioningState"] == "Failed")
    assert failed["properties"]["statusMessage"]["error"]["code"] == "ServiceUnavailable"


def test_a_reference_and_a_key_are_known_as_soon_as_the_resource_is_there(azure: EmbeddedAzure, group: str) -> None:
    name = "sa" + group[-12:]
    account = {
        "type": ACCOUNT, "apiVersion": "2024-01-01", "name": name, "location": "westeurope", "kind": "StorageV2",
        "sku": {"name": "Standard_LRS"},
    }  # fmt: skip
    blob = f"[reference('{name}').primaryEndpoints.blob]"
    key = f"[listKeys(resourceId('{ACCOUNT}', '{name}'), '2024-01-01').keys[0].keyName]"
    sent = body(template(account, identity("after", tags={"blob": blob, "key": key})))
    assert deployed(azure, group, sent)["properties"]["provisioningState"] == "Succeeded"
    tags = azure.get(f"{group}/providers/{IDENTITY}/after", "2023-01-31").json()["tags"]
    assert (tags["key"], name in tags["blob"]) == ("key1", True)


def test_a_nested_deployment_has_a_record_and_outputs_of_its_own(azure: EmbeddedAzure, group: str) -> None:
    other = new_group(azure)
    inner = template(
        identity("[parameters('who')]"),
        parameters={"who": {"type": "string"}},
        outputs={"where": {"type": "string", "value": "[resourceGroup().name]"}},
    )
    nested = {
        "type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "inside",
        "resourceGroup": other.split("/")[-1],
        "properties": {
            "mode": "Incremental", "template": inner, "expressionEvaluationOptions": {"scope": "inner"},
            "parameters": {"who": {"value": "[concat('in', 'side')]"}},
        },
    }  # fmt: skip
    use = identity("user", tags={"where": "[reference('inside').outputs.where.value]"})
    whole = deployed(azure, group, body(template(nested, use)))
    assert whole["properties"]["provisioningState"] == "Succeeded", whole
    assert azure.get(path(other, "inside"), VERSION).json()["properties"]["provisioningState"] == "Succeeded"
    assert azure.get(f"{other}/providers/{IDENTITY}/inside", "2023-01-31").status_code == 200
    assert azure.get(f"{group}/providers/{IDENTITY}/user", "2023-01-31").json()["tags"] == {"where": other.split("/")[-1]}


def test_what_if_tells_what_would_change_and_changes_nothing(azure: EmbeddedAzure, group: str) -> None:
    deployed(azure, group, body(template(identity("same"), identity("other", tags={"a": "1"}), identity("left"))))
    content = template(identity("same"), identity("other", tags={"a": "2", "b": "1"}), identity("new"))
    answer = azure.post(path(group, "main") + "/whatIf", VERSION, body(content))
    assert answer.status_code == 200, answer.text
    assert answer.json()["status"] == "Succeeded"
    changes = {each["resourceId"].rsplit("/", 1)[1]: each for each in answer.json()["properties"]["changes"]}
    assert {name: each["changeType"] for name, each in changes.items()} == {
        "same": "NoChange", "other": "Modify", "left": "Ignore", "new": "Create",
    }  # fmt: skip
    assert [(each["path"], each["propertyChangeType"], each["after"]) for each in changes["other"]["delta"]] == [
        ("tags.a", "Modify", "2"),
        ("tags.b", "Create", "1"),
    ]
    complete = azure.post(path(group, "main") + "/whatIf", VERSION, body(content, "Complete")).json()
    assert complete["error"]["code"] == "NotImplemented"
    assert azure.get(f"{group}/providers/{IDENTITY}/new", "2023-01-31").status_code == 404


def test_a_secret_that_is_no_json_is_in_no_answer(azure: EmbeddedAzure, group: str) -> None:
    content = template(identity("one", tags="[json(parameters('key'))]"), parameters={"key": {"type": "securestring"}})
    for key in ("hunter2", '{"hunter2": }', '{"a": "\\hunter2"}', '{"a": {hunter2: 1}}'):
        answer = azure.put(path(group, "main"), body(content, key=key), VERSION)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "InvalidTemplate")
        assert "hunter2" not in answer.text


def test_a_list_takes_a_top_that_no_machine_counts_to(azure: EmbeddedAzure, group: str) -> None:
    for top in ("9" * 5000, "²", "1"):
        answer = azure.get(f"{group}/providers/Microsoft.Resources/deployments", VERSION, **{"$top": top})
        assert answer.status_code == 200


def test_deployments_go_with_their_group_and_are_no_part_of_its_resources(azure: EmbeddedAzure) -> None:
    group = new_group(azure)
    deployed(azure, group, body(template()))
    assert azure.get(f"{group}/resources", "2021-01-01").json()["value"] == []
    azure.finished(azure.delete(group, "2024-03-01"))
    assert azure.get(path(group, "main"), VERSION).json()["error"]["code"] == "ResourceGroupNotFound"
