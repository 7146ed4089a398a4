"""Batch pools with Azure's own client. What is answered, and what can change: `answers/batch.yaml`."""

from datetime import timedelta

from azure.mgmt.batch import BatchManagementClient

from tests.localazure.conftest import new_group
from tests.support.batch_bodies import fixed, pool, put_account
from tests.support.embedded import ServedAzure
from tests.support.management import client


def test_a_life_with_azures_own_client(served_azure: ServedAzure) -> None:
    account = put_account(served_azure, new_group(served_azure))["id"]
    batch = client(BatchManagementClient, served_azure).pool
    group_name, name = account.split("/")[4], account.split("/")[-1]
    made = batch.create(group_name, name, "train", pool(scaleSettings=fixed(1)))
    assert (made.name, made.vm_size, made.scale_settings.fixed_scale.target_dedicated_nodes) == (
        "train",
        "Standard_NC4as_T4_v3",
        1,
    )
    served_azure.until(lambda: batch.get(group_name, name, "train").current_dedicated_nodes == 1, "the node is there")
    auto = {"properties": {"scaleSettings": {"autoScale": {"formula": "$TargetDedicatedNodes = 1;"}}}}
    changed = batch.update(group_name, name, "train", auto)
    assert changed.scale_settings.fixed_scale is None
    assert changed.scale_settings.auto_scale.evaluation_interval == timedelta(minutes=15)
    still = batch.disable_auto_scale(group_name, name, "train")
    assert still.scale_settings.auto_scale is None
    assert still.scale_settings.fixed_scale.target_dedicated_nodes == 1
    assert batch.stop_resize(group_name, name, "train").name == "train"
    assert [each.name for each in batch.list_by_batch_account(group_name, name)] == ["train"]
    batch.begin_delete(group_name, name, "train").result()
    assert list(batch.list_by_batch_account(group_name, name)) == []
