"""What a Batch account registers with the engine, and what it does not, beyond the inputs that the cases show."""

import pytest

from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.account.args import BatchAccountWiring
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from tests.components.recording import declare
from tests.components.settings_of import STACK_ARGS


def test_an_account_without_identity_and_storage_is_refused_with_both() -> None:
    args: BatchAccountWiring = {"stack": STACK_ARGS, "resource_group_name": "group"}
    with pytest.raises(Refused) as refused:
        declare(lambda: BatchAccount("batch", Wired(args)))
    assert [problem.path for problem in refused.value.problems] == ["foundation.identity", "foundation.storage"]
