"""Bodies of deployments to the subscription, with resource groups that the template itself makes."""

import uuid
from typing import Any

from tests.localazure.test_deployments import ACCOUNT, SCHEMA, VERSION

OF_SUBSCRIPTION = "https://schema.management.azure.com/schemas/2018-05-01/subscriptionDeploymentTemplate.json#"
GROUPS = "2024-03-01"
GROUP = "Microsoft.Resources/resourceGroups"


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
