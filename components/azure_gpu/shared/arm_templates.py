"""Templates of Azure Resource Manager, for what is sent to Azure by a deployment."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

SCHEMA = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"


def template(resources: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """`metadata`: what nothing reads, by which the template differs, so that it is deployed again."""
    return {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "metadata": dict(metadata), "resources": list(resources)}


def literal(value: Any) -> Any:
    """A value that a template's reader takes for itself: text in brackets would be an expression."""
    if isinstance(value, Mapping):
        return {key: literal(inner) for key, inner in cast(Mapping[str, Any], value).items()}
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return f"[{value}"
    return value
