"""The weather `landing-zone`: policies of a landing zone deny what has a public endpoint, and let through what is private."""

import re
from typing import Any

import pytest

from azure_gpu.catalog import error_fixes
from azure_gpu.formats import arm_bodies, azure_types, policy_rules
from azure_gpu.formats.azure_types import AzureType
from tests.components import recorded_bodies
from tests.localazure.conftest import new_group
from tests.support.in_process import InProcessAzure

_TYPES = {each.token: each for each in vars(azure_types).values() if isinstance(each, AzureType)}
STORAGE = "2023-01-01"
_OF_DEV = {"batch-account", "foundation-registry", "foundation-storage", "ml-vault", "ml-workspace"}
# Of each public stack and example, the resources that are denied.
PUBLIC = {
    "stack.dev": {*_OF_DEV, "westeurope-environment"},
    "stack.lite": {*_OF_DEV, "eastus-environment"},
    "stack.local": {*_OF_DEV, "eastus-environment", "shared-cluster"},
    "stack.documents": {"aks-gpu-cluster", "batch-account", "foundation-storage", "ml-vault", "ml-workspace"},
    "example.batch-mnist": {"batch-account", "foundation-registry", "foundation-storage"},
    "example.blue-green": {"foundation-registry", "foundation-storage", "ml-vault", "ml-workspace"},
    "example.shared-gpu": {"foundation-registry", "shared-cluster"},
    "example.t4-tonight": {"eastus-environment", "foundation-registry"},
}


def _denied(case: dict[str, Any]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for urn, resource in case["resources"].items():
        kind, name = re.split("::", urn)[-2:]
        of_type = _TYPES.get(kind.rpartition("$")[2])
        if of_type is not None:
            body = arm_bodies.body_of(of_type, resource["wire"])
            found |= {(name, each.row.assignment) for each in policy_rules.denied(of_type.arm_type, name, body)}
    return found


def test_what_is_public_is_denied_and_what_is_private_is_not() -> None:
    recorded = recorded_bodies.recorded()
    shipped = [name for name in recorded if name.startswith(("stack.", "example."))]
    denied = {name: found for name in shipped if (found := _denied(recorded[name]))}
    assert denied == {name: {(each, "Deny-Public-Endpoints") for each in resources} for name, resources in PUBLIC.items()}
    private = [name for name in recorded if ".private" in name or ".existing_network" in name]
    of_stacks = [name for name in private if name.startswith(("example.", "foundation.variants."))]
    assert {name: _denied(recorded[name]) for name in of_stacks} == {name: set() for name in of_stacks} != {}


@pytest.mark.parametrize("access", ["Enabled", "Disabled"])
def test_a_denial_names_assignment_and_property_and_is_answered_by_a_key(calm: InProcessAzure, access: str) -> None:
    group = new_group(calm)
    calm.fault("weather", name="landing-zone")
    properties = {"publicNetworkAccess": access, "allowBlobPublicAccess": False, "minimumTlsVersion": "TLS1_2"}
    sent = {
        "location": "westeurope",
        "sku": {"name": "Standard_LRS"},
        "kind": "StorageV2",
        "properties": {**properties, "allowSharedKeyAccess": False},
    }
    answer = calm.put(f"{group}/providers/Microsoft.Storage/storageAccounts/stlanding{access.lower()}", sent, STORAGE)
    if access == "Disabled":
        assert answer.is_success
        return
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (403, "RequestDisallowedByPolicy")
    fix = error_fixes.fix(f"{error['code']}: {error['message']}")
    assert "Deny-Public-Endpoints" in fix
    assert "properties.publicNetworkAccess: set foundation.network: private" in fix
