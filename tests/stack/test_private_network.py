"""A stack without public endpoints, on the real engine: it comes up, has nothing left to change, and goes without a trace."""

import pytest

from tests.stack.conftest import MakeStack
from tests.support.embedded import ServedAzure

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PUBLIC = {"publicNetworkAccess": "Disabled"}


def test_a_private_stack_comes_up_and_goes(azure: ServedAzure, make_stack: MakeStack) -> None:
    parts = dict.fromkeys(["resource_group", "identity", "log_workspace", "registry", "storage"], "create")
    stack = make_stack(
        azure,
        {
            "team": "tests",
            "location": "eastus",
            "as_of": "2026-11-21",
            "protect_data": False,
            "foundation": {**parts, "network": "private"},
            "jobs": {
                "train": {"gpu": "T4", "image": "mcr.microsoft.com/k8se/quickstart-jobs:latest", "expires_after": "2026-11-30"}
            },
            "batch_account": "create",
            "pools": {"many": {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-11-30"}},
            "ml_workspace": {"computes": {"t4": {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-11-30"}}},
        },
    )
    stack.create()
    stack.update()
    assert stack.steps() == []
    exported = stack.outputs()
    for key, version in (("registry", "2023-07-01"), ("storage", "2023-01-01"), ("batch_account", "2024-07-01")):
        assert azure.get(exported[key], version).json()["properties"].items() >= PUBLIC.items()
    done = stack.down()
    assert done.returncode == 0, done.stderr
