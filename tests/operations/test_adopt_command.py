"""`import` of ids, without a stack: what it prints of what the embedded Azure has, and how it refuses."""

import pytest
import yaml

from azure_gpu_operations.__main__ import main
from tests.support import by_hand
from tests.support.embedded import SUBSCRIPTION, EmbeddedAzure
from tests.support.ml_resources import new_name

BELOW = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/nobody/providers"


def refused(capsys: pytest.CaptureFixture[str], *ids: str) -> list[str]:
    assert main(["import", *ids]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    return said.err.splitlines()


def test_a_batch_pool_is_printed_as_part_of_a_stack_file(signed_in: EmbeddedAzure, capsys: pytest.CaptureFixture[str]) -> None:
    group = by_hand.group(signed_in, new_name("g"))
    account = by_hand.batch_pool(signed_in, group, new_name("b"))
    assert main(["import", f"{account}/pools/t4s", "--expires-after", "2026-12-30"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == {
        "azure-gpu:foundation": {"resource_group": {"existing": group}},
        "azure-gpu:batch_account": {"existing": account},
        "azure-gpu:pools": {
            "t4s": {
                "pool_name": "t4s",
                "size": "Standard_NC4as_T4_v3",
                "image": "microsoft-dsvm:ubuntu-hpc:2204",
                "node_agent": "batch.node.ubuntu 22.04",
                "dedicated_nodes": 0,
                "task_slots": 2,
                "expires_after": "2026-12-30",
                "replace": "drain-first",
                "opts": {"protect": True},
            }
        },
    }


@pytest.mark.usefixtures("signed_in")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("byhand", "byhand: not an Azure resource id"),
        (f"{BELOW}/Microsoft.ContainerService/managedClusters/gone", "no resource in Azure has this id"),
        (f"{BELOW}/Microsoft.Sql/servers/db", "Microsoft.Sql/servers can't be adopted"),
        (f"{BELOW}/Microsoft.ContainerService/managedClusters/c/agentPools/p", "give the id of its cluster"),
        (
            f"{BELOW}/Microsoft.Batch/batchAccounts/b".replace(SUBSCRIPTION, "11111111-0000-0000-0000-000000000000"),
            "not in the stack's subscription",
        ),
    ],
)
def test_what_can_not_be_adopted_is_one_line(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    first = f"{BELOW}/Microsoft.Batch/batchAccounts/gone"  # whose subscription is the stack's
    lines = refused(capsys, first, text)
    assert len(lines) == 2
    assert said in lines[1]


def test_a_type_that_can_not_be_adopted_tells_which_can(signed_in: EmbeddedAzure, capsys: pytest.CaptureFixture[str]) -> None:
    assert signed_in.url
    [line] = refused(capsys, f"{BELOW}/Microsoft.Sql/servers/db")
    assert "Microsoft.ContainerService/managedClusters" in line
    assert "Microsoft.MachineLearningServices/workspaces/onlineEndpoints" in line


@pytest.mark.usefixtures("signed_in")
def test_two_groups_are_two_stacks(signed_in: EmbeddedAzure, capsys: pytest.CaptureFixture[str]) -> None:
    accounts = [by_hand.batch_pool(signed_in, by_hand.group(signed_in, new_name("g")), new_name("b")) for _ in range(2)]
    [line] = refused(capsys, *accounts)
    assert "2 resource groups" in line
