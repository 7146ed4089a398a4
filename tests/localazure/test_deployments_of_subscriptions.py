"""A deployment to the subscription: validated and compared over HTTP, with resource groups that the template itself makes."""

import uuid
from typing import Any

import pytest

from tests.localazure.test_deployments import ACCOUNT, SCHEMA, VERSION, identity, path
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure

OF_SUBSCRIPTION = "https://schema.management.azure.com/schemas/2018-05-01/subscriptionDeploymentTemplate.json#"
GROUPS = "2024-03-01"
GROUP = "Microsoft.Resources/resourceGroups"
ROOT = f"/subscriptions/{SUBSCRIPTION}"


def in_group(name: str, *resources: Any, **more: Any) -> dict[str, Any]:
    """A nested deployment into a resource group."""
    template = {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "resources": list(resources)}
    properties = {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "template": template}
    nested = {"type": "Microsoft.Resources/deployments", "apiVersion": VERSION, "name": f"in-{name}", "resourceGroup": name}
    return {**nested, "properties": properties, **more}


def new_group(name: str, **more: Any) -> dict[str, Any]:
    return {"type": GROUP, "apiVersion": GROUPS, "name": name, "location": "westeurope", **more}


def account(name: str, **properties: Any) -> dict[str, Any]:
    kind = {"type": ACCOUNT, "apiVersion": "2024-01-01", "name": name, "kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
    return {**kind, "location": "westeurope", "properties": properties}


def body(*resources: Any, **more: Any) -> dict[str, Any]:
    template = {"$schema": OF_SUBSCRIPTION, "contentVersion": "1.0.0.0", "resources": list(resources)}
    return {"location": "westeurope", "properties": {"mode": "Incremental", "template": template}, **more}


def fresh(prefix: str) -> str:
    return f"{prefix}{uuid.uuid4().hex[:12]}"


@pytest.mark.parametrize(
    "depends_on", ["[resourceId('{type}', '{name}')]", "[subscriptionResourceId('{type}', '{name}')]", "{name}"]
)
def test_a_group_and_what_is_in_it_are_validated_and_nothing_is_made(azure: EmbeddedAzure, depends_on: str) -> None:
    name = fresh("rg-")
    waits = depends_on.format(type=GROUP, name=name)
    someone = {**identity("trainer"), "location": "westeurope"}
    sent = body(new_group(name), in_group(name, account(fresh("st")), someone, dependsOn=[waits]))
    answer = azure.post(path(ROOT, "main") + "/validate", VERSION, sent)
    assert answer.status_code == 200, answer.text
    ids = [each["id"] for each in answer.json()["properties"]["validatedResources"]]
    assert ids[0] == f"{ROOT}/resourceGroups/{name}"
    assert ids[2] == f"{ROOT}/resourceGroups/{name}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/trainer"
    changes = azure.post(path(ROOT, "main") + "/whatIf", VERSION, sent).json()["properties"]["changes"]
    assert [(each["resourceId"], each["changeType"]) for each in changes] == [
        (each, "Create") for each in sorted(ids, key=str.lower)
    ]
    assert azure.get(f"{ROOT}/resourceGroups/{name}", GROUPS).status_code == 404


def test_what_is_wrong_in_a_group_that_is_still_to_be_made_is_told(azure: EmbeddedAzure) -> None:
    name = fresh("rg-")
    sent = body(new_group(name), in_group(name, account("Not-A-Name"), account(fresh("st"), allowSharedKeyAccess="no")))
    answer = azure.post(path(ROOT, "main") + "/validate", VERSION, sent)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "InvalidTemplateDeployment")
    assert [each["code"] for each in error["details"]] == ["AccountNameInvalid", "InvalidRequestContent"]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"location": None}, "InvalidDeployment"),
        (body(in_group("nobodys", account("st12345"))), "ResourceGroupNotFound"),
    ],
)
def test_what_a_subscription_refuses(azure: EmbeddedAzure, changed: dict[str, Any], code: str) -> None:
    sent = {**body(new_group("a")), **changed}
    answer = azure.post(path(ROOT, "main") + "/validate", VERSION, sent)
    assert answer.json()["error"]["code"] == code


def test_a_template_for_a_subscription_goes_to_no_group_and_is_not_carried_out(azure: EmbeddedAzure, group: str) -> None:
    answer = azure.post(path(group, "main") + "/validate", VERSION, body(new_group("a")))
    assert answer.json()["error"]["code"] == "InvalidTemplate"
    assert azure.put(path(ROOT, "main"), body(new_group("a")), VERSION).status_code == 501
