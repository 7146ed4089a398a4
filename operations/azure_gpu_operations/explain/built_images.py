"""Adds the images that the stack's registry has built: an existing image that can't be pulled means a missing right."""

from azure_gpu.shared.registry_build import API_VERSION, REGISTRY_VERSION
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.explain.facts import Facts


def added(arm: Arm, facts: Facts, registry_id: str) -> Facts:
    """The facts with the registry's images; unchanged if the registry can't be read."""
    try:
        registry = arm.get(registry_id, REGISTRY_VERSION)
        if registry is None:
            return facts
        server = str(registry["properties"].get("loginServer") or "")
        outputs = [
            image
            for run in arm.values(f"{registry_id}/runs", API_VERSION)
            for image in (run.get("properties") or {}).get("outputImages") or []
        ]
    except AzureError:
        return facts
    built = frozenset(f"{server}/{each.get('repository')}:{each.get('tag')}" for each in outputs)
    return facts._replace(built=built, server=server)
