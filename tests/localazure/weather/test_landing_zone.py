"""The weather `landing-zone`: policies of a landing zone deny what has a public endpoint, and let through what is private."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from azure_gpu.catalog import error_fixes
from azure_gpu.formats import arm_bodies, azure_types, policy_rules
from azure_gpu.formats.azure_types import AzureType
from tests.components import recorded_bodies
from tests.components.test_constructors import LOOK_UPS
from tests.localazure.conftest import new_group
from tests.support.in_process import InProcessAzure

_TYPES = {each.token: each for each in vars(azure_types).values() if isinstance(each, AzureType)}
STORAGE = "2023-01-01"
_OF_DEV = {"batch-account", "foundation-registry", "foundation-storage", "ml-vault", "ml-workspace"}
# Of each public stack and example, the resources that are denied.
PUBLIC = {
    "stack.dev": {*_OF_DEV, "westeurope-environment"},
    "stack.lite": {*_OF_DEV, "eastus-environment"},
    "stack.prod": {*_OF_DEV, "westeurope-environment", "shared-cluster"},
    "stack.local": {*_OF_DEV, "eastus-environment", "shared-cluster"},
    "stack.documents": {"aks-gpu-cluster", "batch-account", "foundation-storage", "ml-vault", "ml-workspace"},
    "example.batch-mnist": {"batch-account", "foundation-registry", "foundation-storage"},
    "example.blue-green": {"foundation-registry", "foundation-storage", "ml-vault", "ml-workspace"},
    "example.shared-gpu": {"foundation-registry", "shared-cluster"},
    "example.t4-tonight": {"eastus-environment", "foundation-registry"},
    "example.languages": {"base-storage", "batch-account", "shared-cluster", "workspace-vault", "workspace-workspace"},
}
# What guardrails deny of the same stacks: registries, accounts, and blob services of data that `protect_data: false` lets go.
GUARDED = {"registry": "Enforce-GR-ContReg", "storage": "Enforce-GR-Storage"}
SHORT_LIVED = {
    "stack.lite": "foundation-blob-service",
    "stack.local": "foundation-blob-service",
    "stack.documents": "foundation-blob-service",
    "example.batch-mnist": "foundation-blob-service",
    "example.blue-green": "foundation-blob-service",
    "example.languages": "base-blob-service",
}
# Nothing of its own yet; no program but commands of the Azure CLI.
PRIVATE = {"example.private-team", "example.spoke"}
NOTHING_PUBLIC = {"example.take-over", "example.gallery-image"}
PAGES = {"example.documents"}  # of `stack.documents`
LANGUAGES = recorded_bodies.EXAMPLES / "languages" / "python" / "__main__.py"


# Definitions that the weather doesn't assign, each with its parameter, and what they deny of `OF_OTHERS`.
OF_OTHERS = ("stack.dev", "example.private-team", "foundation.variants.private_logs")
OTHERS = {
    ("6c53d030-cc64-46f0-906d-2bc061cd1334", ""): ("foundation-logs", "", ""),
    ("1bc02227-0cb6-4e11-8f53-eb0b22eab7e8", ""): ("ml-insights", "", ""),
    ("a499fed8-bcc8-4195-b154-641f14743757", ""): ("", "foundation-link-scope", ""),
    ("Deny-Storage-NetworkAclsBypass", "None"): ("foundation-storage",) * 3,
    ("Deny-Storage-NetworkAclsBypass", "None, AzureServices"): ("foundation-storage", "", ""),
    ("Deny-Storage-ServicesEncryption", ""): ("foundation-storage",) * 3,
    ("42781ec6-6127-4c30-bdfa-fb423a0047d3", ""): ("foundation-registry", "foundation-registry", ""),
}


@pytest.mark.parametrize(("definition", "parameter"), OTHERS)
def test_what_a_company_assigns_beside_is_judged_by_its_definition(definition: str, parameter: str) -> None:
    denied = [{name for name, _ in _denied(_sent(each), definition, parameter)} for each in OF_OTHERS]
    assert denied == [{each} - {""} for each in OTHERS[definition, parameter]]


def _denied(wires: Mapping[str, Mapping[str, Any]], *definition: str) -> set[tuple[str, str]]:
    """By the names of the resources, the assignments that deny them. `wires`: what is sent of each, by URN; `definition`: one
    with its parameter, in place of the weather's."""
    found: set[tuple[str, str]] = set()
    for urn, wire in wires.items():
        kind, name = re.split("::", urn)[-2:]
        of_type = _TYPES.get(kind.rpartition("$")[2])
        if of_type is not None:
            body = arm_bodies.body_of(of_type, wire)
            found |= {(name, each.row.assignment) for each in policy_rules.denied(of_type.arm_type, name, body, *definition)}
    return found


def _sent(name: str) -> dict[str, Mapping[str, Any]]:
    """What is sent of each resource of a recorded stack, or of the example's program, by URN."""
    if name == "example.languages":
        config = {"azure-gpu:team": "vision", "azure-gpu:lastDay": "2099-12-31", "azure-gpu:maxNodes": "2"}
        config |= recorded_bodies.CONNECTED
        declared = recorded_bodies.run_program(config, LOOK_UPS, file=LANGUAGES)
        return {each.urn: each.wire for each in declared.registrations}
    case = recorded_bodies.now(name) if name == "stack.prod" else recorded_bodies.recorded_of(name)
    return {urn: each["wire"] for urn, each in case["resources"].items()}


def test_what_is_public_is_denied_and_what_is_private_is_not() -> None:
    examples = {f"example.{path.name}" for path in recorded_bodies.EXAMPLES.iterdir()}
    stacks = {f"stack.{name}" for name in (*recorded_bodies.SHIPPED, "prod")}
    shipped = {*stacks, *examples} - NOTHING_PUBLIC - PAGES - PRIVATE
    of_guardrails = {
        name: {(each, GUARDED[kind]) for each in resources if (kind := each.rpartition("-")[2]) in GUARDED}
        | ({(SHORT_LIVED[name], "Enforce-GR-Storage")} if name in SHORT_LIVED else set())
        for name, resources in PUBLIC.items()
    }
    assert {name: _denied(_sent(name)) for name in shipped} == {
        name: {(each, "Deny-Public-Endpoints") for each in resources} | of_guardrails[name] for name, resources in PUBLIC.items()
    }
    variants = {
        name for name in recorded_bodies.recorded() if re.match(r"foundation\.variants\.(private|existing_network)", name)
    }
    assert {name: _denied(_sent(name)) for name in PRIVATE | variants} == {name: set() for name in PRIVATE | variants}
    assert variants


@pytest.mark.parametrize("access", ["Enabled", "Disabled"])
def test_a_denial_names_assignment_and_property_and_is_answered_by_a_key(calm: InProcessAzure, access: str) -> None:
    group = new_group(calm)
    calm.fault("weather", name="landing-zone")
    properties = {"publicNetworkAccess": access, "allowBlobPublicAccess": False, "minimumTlsVersion": "TLS1_2"}
    properties |= {"networkAcls": {"defaultAction": "Deny"}, "allowedCopyScope": "AAD"}
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
