"""What a Batch account registers with the engine, and what it does not, beyond the inputs that the cases show."""

import pytest

from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.account.args import BatchAccountWiring
from azure_gpu.batch.pool.args import BatchPoolSettings
from azure_gpu.batch.pool.pool import BatchPool
from azure_gpu.foundation.args import FoundationWiring
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.recording import declare, readable
from tests.components.settings_of import STACK_ARGS

ACCOUNT = "azure-native:batch:BatchAccount"
ROLE = "azure-native:authorization:RoleAssignment"
FOUNDATION: FoundationWiring = {
    "stack": STACK_ARGS,
    "identity": {"create": True},
    "storage": {"create": True},
    "write_blobs": True,
}
SHARED = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/shared/providers/Microsoft.Batch/batchAccounts"
THEIRS = {
    "id": f"{SHARED}/theirs",
    "name": "theirs",
    "location": "westeurope",
    "poolAllocationMode": "UserSubscription",
    "autoStorage": {"storageAccountId": "/some/storage", "lastKeySync": "2026-01-01T00:00:00Z"},
}


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_an_account_waits_for_the_right_to_its_storage_and_a_pool_for_the_applications(preview: bool) -> None:
    def build() -> None:
        foundation = Foundation("foundation", Wired(FOUNDATION))
        stands_on: OfStack = {"stack": STACK_ARGS, **foundation.dependencies}
        account = BatchAccount("batch", Wired({**stands_on, "applications": {"tool": {}}}))
        pool: BatchPoolSettings = {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-12-31"}
        BatchPool("train", Wired({**stands_on, **account.dependencies, **pool}))

    recorded = declare(build, preview=preview)
    assert recorded.one(ROLE).urn in recorded.one(ACCOUNT).dependencies
    pool = recorded.one("azure-native:batch:Pool")
    assert {recorded.one(ACCOUNT).urn, recorded.one("azure-native:batch:Application").urn} <= set(pool.dependencies)


def test_no_key_of_anything_is_read() -> None:
    def build() -> None:
        foundation = Foundation("foundation", Wired(FOUNDATION))
        BatchAccount("batch", Wired({"stack": STACK_ARGS, **foundation.dependencies}))

    recorded = declare(build, lookups={})
    assert recorded.lookups == []
    account = recorded.one(ACCOUNT)
    assert "SharedKey" not in account.inputs["allowedAuthenticationModes"]
    assert "StorageKeys" not in readable(account.wire)


def test_an_existing_account_is_looked_up_and_never_declared() -> None:
    args: BatchAccountWiring = {"stack": STACK_ARGS, "resource_group_name": "group", "existing": f"{SHARED}/theirs"}
    made: list[BatchAccount] = []
    recorded = declare(
        lambda: made.append(BatchAccount("batch", Wired(args))), lookups={"azure-native:batch:getBatchAccount": THEIRS}
    )
    assert [each.type for each in recorded.registrations] == ["azuregpu:index:BatchAccount"]
    assert made[0].dependencies["account"] == {
        "name": "theirs",
        "resource_group_name": "shared",
        "location": "westeurope",
        "allocation_mode": "UserSubscription",
        "auto_storage": True,
        "existing": True,
        "provider": None,
    }
    [outputs] = recorded.outputs.values()
    assert outputs == {"account_id": f"{SHARED}/theirs", "account_name": "theirs"}


def test_an_account_without_identity_and_storage_is_refused_with_both() -> None:
    args: BatchAccountWiring = {"stack": STACK_ARGS, "resource_group_name": "group"}
    with pytest.raises(Refused) as refused:
        declare(lambda: BatchAccount("batch", Wired(args)))
    assert [problem.path for problem in refused.value.problems] == ["foundation.identity", "foundation.storage"]


def test_an_account_and_the_parts_that_it_stands_on_can_have_names_of_their_own() -> None:
    def build() -> None:
        named: FoundationWiring = {**FOUNDATION, "identity": {"name": "vision-runs"}, "storage": {"name": "visiondata"}}
        foundation = Foundation("foundation", Wired(named))
        BatchAccount("batch", Wired({"stack": STACK_ARGS, **foundation.dependencies, "account_name": "visionbatch"}))

    recorded = declare(build)
    assert recorded.one(ACCOUNT).inputs["accountName"] == "visionbatch"
    assert recorded.one("azure-native:storage:StorageAccount").inputs["accountName"] == "visiondata"
    assert recorded.one("azure-native:managedidentity:UserAssignedIdentity").inputs["resourceName"] == "vision-runs"
