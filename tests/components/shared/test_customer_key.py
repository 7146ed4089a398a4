"""A key of the customer's in a program: what gets the foundation is encrypted by it, in the region of its vault."""

from typing import Any

import pytest

import azure_gpu
from azure_gpu.formats import azure_types
from azure_gpu.shared.refusal import Refused
from azure_gpu.testing import ANSWERS
from tests.components.recording import declare
from tests.components.test_constructors import GOOD, LOOK_UPS

VAULT = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/keys/providers/Microsoft.KeyVault/vaults/company-keys"
PLACE = ("location", "resource_group_name")
READS = {token: ANSWERS[token] for token in ("azure-native:keyvault:getVault", "azure-native:keyvault:getKey")}


def program(region: str) -> Any:
    around = azure_gpu.Foundation(
        "base", location="westeurope", team="vision", identity="create", customer_managed_key=f"{VAULT}/keys/data"
    )
    own: dict[str, Any] = {
        key: value for key, value in GOOD["GpuCluster"].items() if key not in ("location", "resource_group_name")
    }
    azure_gpu.GpuCluster("gpu", foundation=around, location=region, **own)


def test_an_account_of_batch_has_no_other_identity_than_the_one_that_may_use_the_key() -> None:
    def other(**given: Any) -> None:
        around = azure_gpu.Foundation(
            "base",
            location="westeurope",
            team="v",
            identity="create",
            storage="create",
            customer_managed_key=f"{VAULT}/keys/data",
        )
        azure_gpu.BatchAccount("batch", foundation=around, **given)

    assert declare(other, lookups={**LOOK_UPS, **READS}).registrations
    with pytest.raises(Refused, match="the role on that key is another's"):
        declare(lambda: other(identity_id=GOOD["BatchAccount"]["identity_id"]), lookups={**LOOK_UPS, **READS})


def test_disks_of_a_cluster_are_encrypted_by_the_key_of_its_foundation() -> None:
    declared = declare(lambda: program("westeurope"), lookups={**LOOK_UPS, **READS}).registrations
    [cluster] = [each for each in declared if each.type == azure_types.MANAGED_CLUSTER.token]
    assert cluster.inputs["diskEncryptionSetID"] == "/id-of/gpu-disks"


def test_a_cluster_in_another_region_than_the_key_is_refused() -> None:
    with pytest.raises(Refused, match="its disks are encrypted by a key in westeurope"):
        declare(lambda: program("eastus"), lookups={**LOOK_UPS, **READS})
