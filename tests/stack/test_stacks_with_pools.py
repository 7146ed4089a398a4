"""Batch pools on the real engine: up, nothing left to change, each kind of edit with exactly the operations it needs, down."""

from typing import Any

import pytest

from tests.stack.configurations import with_pool
from tests.support.embedded import SUBSCRIPTION, ServedAzure
from tests.support.stack import ProgramStack, Step, changes_of

pytestmark = pytest.mark.slow
POOL = "azure-native:batch:Pool"
API_VERSION = "2024-07-01"


def pool_changes(stack: ProgramStack) -> list[str]:
    """What an update has done to the pools, a replacement in its parts."""
    of_pools = [step for step in stack.changes() if not step.name.endswith("-containers")]  # of blobs that nodes mount
    assert {step.type for step in of_pools} <= {POOL}
    return [step.operation for step in of_pools]


def unchanged(stack: ProgramStack) -> None:
    """What a refresh finds is in test_happy_cases_of_containers_and_machines."""
    done = stack.pulumi("preview", "--expect-no-changes")
    assert done.returncode == 0, done.stdout + done.stderr


def pool_of(azure: ServedAzure, stack: ProgramStack, name: str) -> dict[str, Any]:
    return azure.get(stack.outputs()["pools"][name], API_VERSION).json()


def pools_in(azure: ServedAzure, stack: ProgramStack) -> list[str]:
    listed = azure.get(stack.outputs()["batch_account"] + "/pools", API_VERSION).json()["value"]
    return sorted(each["name"] for each in listed)


def test_a_pool_changes_in_place_or_stands_beside_its_successor(azure: ServedAzure, shared: ProgramStack) -> None:
    stack = shared
    stack.become(with_pool())
    before = pool_of(azure, stack, "gpus")

    in_place: dict[str, Any] = {"autoscale": {"max_nodes": 3}, "metadata": {"a": "b"}, "expires_after": "2026-12-24"}
    stack.configure(with_pool(**in_place))
    azure.fault("weather", name="whole-pools")  # what the provider sends is refused
    try:
        done = stack.up()
    finally:
        azure.fault("calm", name="whole-pools")  # clearing would bring back quotas of 0 for the worker's later tests
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert changes_of(done.stdout) == [Step("update", POOL, "gpus-pool")]
    assert "gpus-pool: changed in Azure (metadata, scaleSettings, tags), by a request of only that" in said
    changed = pool_of(azure, stack, "gpus")
    assert changed["tags"]["expires-at"] == "2026-12-25T00:00:00Z"
    assert changed["name"] == before["name"]
    assert {"name": "a", "value": "b"} in changed["properties"]["metadata"]

    # Another name, so that the new pool is there before the old one goes; the stack's own name for it stays.
    stack.configure(with_pool(**in_place, size="Standard_NC8as_T4_v3"))
    assert pool_changes(stack) == ["create-replacement", "replace", "delete-replaced"]
    after = pool_of(azure, stack, "gpus")
    assert after["name"].startswith("gpus-")
    assert after["name"] != before["name"]
    assert pools_in(azure, stack) == [after["name"]]
    unchanged(stack)


def test_a_successor_has_a_name_of_its_own_and_another_spelling_of_the_same_makes_none(
    azure: ServedAzure, shared: ProgramStack
) -> None:
    images = ["docker.io/library/python:3.11", "docker.io/library/python:3.12"]
    blobs: dict[str, Any] = {"container": "data"}
    said: dict[str, Any] = {"image": "microsoft-dsvm:ubuntu-hpc:2404", "containers": {"images": images}}
    stack = shared
    stack.become(with_pool(**said, mounts={"data": {"azure_blob": blobs}}))
    before = pools_in(azure, stack)
    mounted = f"{stack.outputs()['storage']}/blobServices/default/containers/data"
    made = azure.get(mounted, "2024-01-01").json()
    assert made["properties"]["publicAccess"] == "None"

    said["containers"] = {"enabled": True, "images": images[::-1]}
    said |= {"pool_name": "gpus", "task_slots": 1, "node_agent": "Batch.Node.Ubuntu 24.04"}
    blobs["account"] = stack.outputs()["storage"].split("/")[-1]
    stack.configure(with_pool(**said, mounts={"data": {"azure_blob": blobs}}))
    assert stack.steps() == []

    said["image"] = "Microsoft-DSVM:Ubuntu-HPC:2404"
    blobs["account"] = "theirdata"
    stack.configure(with_pool(**said, mounts={"data": {"azure_blob": blobs}}))
    assert pool_changes(stack) == ["create-replacement", "replace", "delete-replaced"]
    [after] = pools_in(azure, stack)
    assert [after] != before
    # The container stays, with what is in it, where no pool mounts it any more.
    assert azure.get(mounted, "2024-01-01").json()["etag"] == made["etag"]


def test_a_pool_that_is_drained_first_is_replaced_under_its_name(azure: ServedAzure, shared: ProgramStack) -> None:
    stack = shared
    stack.become(with_pool(replace="drain-first"))
    stack.configure(with_pool(replace="drain-first", task_slots=2))
    assert pool_changes(stack) == ["delete-replaced", "replace", "create-replacement"]
    assert pools_in(azure, stack) == ["gpus"]
    assert pool_of(azure, stack, "gpus")["properties"]["taskSlotsPerNode"] == 2
    unchanged(stack)


def test_nodes_start_from_an_image_of_the_stacks_own_and_a_new_version_makes_a_new_pool(
    azure: ServedAzure, shared: ProgramStack
) -> None:
    snapshot = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/images/providers/Microsoft.Compute/snapshots/trained"

    def with_version(version: str) -> dict[str, Any]:
        image = {"source_id": snapshot, "version": version, "node_agent": "batch.node.ubuntu 24.04"}
        return {**with_pool(gallery_image="trained"), "gallery_images": {"trained": image}}

    stack = shared
    stack.become(with_version("1.0.0"))
    before = pool_of(azure, stack, "gpus")
    image = before["properties"]["deploymentConfiguration"]["virtualMachineConfiguration"]["imageReference"]["id"]
    assert image.endswith("/versions/1.0.0")
    stack.configure(with_version("1.0.1"))
    stack.update()
    after = pool_of(azure, stack, "gpus")
    assert after["name"] != before["name"]
    assert pools_in(azure, stack) == [after["name"]]
    unchanged(stack)
