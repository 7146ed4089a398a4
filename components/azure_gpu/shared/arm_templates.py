"""Builds templates of Azure Resource Manager for deployments."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

SCHEMA = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"


def template(resources: Sequence[Mapping[str, Any]], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Builds a template. Azure ignores `metadata`; a change of it makes the template different, so that it is deployed again."""
    return {"$schema": SCHEMA, "contentVersion": "1.0.0.0", "metadata": dict(metadata), "resources": list(resources)}


def literal(value: Any) -> Any:
    """Escapes texts in brackets, which a template would evaluate as expressions."""
    if isinstance(value, Mapping):
        return {key: literal(inner) for key, inner in cast(Mapping[str, Any], value).items()}
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        return f"[{value}"
    return value
