"""Determines the role that allows pulling from an existing registry."""

from collections.abc import Mapping
from typing import Any, cast

import pulumi

from azure_gpu.catalog import roles
from azure_gpu.catalog.roles import ABAC, REGISTRY_MODE, REGISTRY_MODE_API
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.shared import arm_reads
from azure_gpu.shared.arm_reads import UnreadableError
from azure_gpu.shared.look_up import AskedBy


def pull_role(registry: ArmId, asked_by: AskedBy, own: str) -> str:
    """Returns the GUID of the role; AcrPull where the mode can't be read. `own`: the subscription of the component."""
    if not asked_by.as_configured:
        return roles.ACR_PULL  # the component has its own provider, whose login isn't known here
    try:
        found = arm_reads.get(registry.text, REGISTRY_MODE_API, asked_by.at(registry, own))
    except UnreadableError as error:
        pulumi.log.debug(f"the mode of {registry.text} can't be read, AcrPull is assumed: {error}")
        return roles.ACR_PULL
    properties = cast(Mapping[str, Any], found.get("properties") or {})
    return roles.REPOSITORY_READER if properties.get(REGISTRY_MODE) == ABAC else roles.ACR_PULL
