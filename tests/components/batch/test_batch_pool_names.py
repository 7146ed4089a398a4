"""A Batch pool's name and what Batch can't change on it agree: another body there is another name, and nothing else is.

Otherwise the engine would make a successor under the name of the pool that still stands, which Azure refuses, or a second pool
for nothing.
"""

from itertools import combinations
from typing import Any

import pulumi
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from azure_gpu.batch.pool.args import BatchPoolWiring
from azure_gpu.batch.pool.immutable import REGISTRY
from azure_gpu.batch.pool.pool import REPLACING, REPLACING_WITHOUT_PATH, BatchPool
from azure_gpu.catalog.services import driver_extension
from azure_gpu.foundation import spec as foundation_spec
from azure_gpu.images.args import ImageOfPool
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.wired import Wired
from azure_gpu.stack.settings import read
from tests.components.batch import test_batch_pool
from tests.components.recording import PROJECT, STACK, SUBSCRIPTION, Registration, declare
from tests.components.settings_of import STACK_ARGS, TODAY, args_of, configuration
from tests.support.examples import examples

POOL = "azure-native:batch:Pool"
NETWORK = "/subscriptions/a/resourceGroups/b/providers/Microsoft.Network/virtualNetworks/c/subnets"
GALLERY = "/subscriptions/a/resourceGroups/b/providers/Microsoft.Compute/galleries/g/images/i/versions"
UBUNTU = "batch.node.ubuntu 24.04"


def image_of_pool(version: str) -> ImageOfPool:
    return {
        "id": f"{GALLERY}/{version}",
        "name": f"g/i/{version}",
        "has_version": True,
        "os_type": "Linux",
        "generation": "Gen2",
        "node_agent": UBUNTU,
        "regions": ["eastus"],
    }


ARGS: BatchPoolWiring = {
    **test_batch_pool.ARGS,
    "storage": {"name": "ours", "id": "/some/storage"},
    "images": {"one": image_of_pool("1.0.0"), "two": image_of_pool("1.0.1")},
}
REGISTRIES = {name: {"name": name, "server": f"{name}.azurecr.io", "workload_images": {}} for name in ("hers", "his")}
EDITS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "defaults": {
        "os_type": "Linux",
        "node_agent": UBUNTU,
        "driver": "auto",
        "task_slots": 1,
        "inter_node": False,
        "rdma": False,
        "mounts": {},
        "public_addresses": True,
        "explicit_outbound": False,
        "communication": "Simplified",
        "pool_name": "gpus",
        "replace": "side-by-side",
        "packages": {},
        "autoscale": {"scenario": "pending_tasks", "max_nodes": 1, "min_nodes": 0, "interval_minutes": 15},
    },
    "without containers": {"containers": {"enabled": False}},
    "size in another spelling": {"size": "nc4as_T4_v3"},
    "another size": {"size": "Standard_NC8as_T4_v3"},
    "a size that isn't known": {"size": "Standard_D2s_v9", "image": "microsoft-dsvm:ubuntu-hpc:2404"},
    "the same in capitals": {"size": "STANDARD_D2S_V9", "image": "microsoft-dsvm:ubuntu-hpc:2404"},
    "the image that is chosen": {"image": "microsoft-dsvm:ubuntu-hpc:2404"},
    "its newest version": {"image": "microsoft-dsvm:ubuntu-hpc:2404:latest"},
    "in capitals": {"image": "Microsoft-DSVM:Ubuntu-HPC:2404"},
    "a version of it": {"image": "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901"},
    "another image": {"image": "microsoft-dsvm:ubuntu-hpc:2204"},
    "an image of others": {"image_id": f"{GALLERY}/2.0.0", "node_agent": UBUNTU},
    "its id in capitals": {"image_id": f"{GALLERY}/2.0.0".upper(), "node_agent": UBUNTU},
    "an image of the stack": {"gallery_image": "one"},
    "another one": {"gallery_image": "two"},
    "an agent in capitals": {"node_agent": "Batch.Node.Ubuntu 24.04"},
    "Windows": {"os_type": "Windows"},
    "an extension": {"driver": "extension"},
    "an extension of a version": {"driver": "extension", "driver_version": "535.54.03"},
    "slots": {"task_slots": 2},
    "nodes that talk": {"inter_node": True},
    "containers": {"containers": {}},
    "containers by all defaults": {"containers": {"enabled": True, "images": [], "workloads": []}},
    "images": {"containers": {"images": ["a:1", "b:1"]}},
    "images in another order": {"containers": {"images": ["b:1", "a:1"]}},
    "one of the images": {"containers": {"images": ["a:1"]}},
    "a registry": {"containers": {}, "registry": REGISTRIES["hers"]},
    "another registry": {"containers": {}, "registry": REGISTRIES["his"]},
    "a registry and no containers": {"registry": REGISTRIES["hers"]},
    "blobs": {"mounts": {"data": {"azure_blob": {"container": "data"}}}},
    "blobs of the stack by name": {"mounts": {"data": {"azure_blob": {"container": "data", "account": "ours", "options": ""}}}},
    "blobs of another account": {"mounts": {"data": {"azure_blob": {"container": "data", "account": "theirs"}}}},
    "blobs where the stack has another account": {
        "mounts": {"data": {"azure_blob": {"container": "data"}}},
        "storage": {"name": "theirs", "id": "/their/storage"},
    },
    "another account and no mount": {"storage": {"name": "theirs", "id": "/their/storage"}},
    "blobs elsewhere": {"mounts": {"Data": {"azure_blob": {"container": "data"}}}},
    "shares": {"mounts": {"a": {"nfs": {"source": "a:/b"}}, "c": {"nfs": {"source": "c:/d", "options": "ro"}}}},
    "shares in another order": {"mounts": {"c": {"nfs": {"options": "ro", "source": "c:/d"}}, "a": {"nfs": {"source": "a:/b"}}}},
    "a subnet": {"subnet_id": f"{NETWORK}/d"},
    "a subnet in capitals": {"subnet_id": f"{NETWORK}/D"},
    "a subnet by another resource": {"subnet_id": pulumi.Output.from_input(f"{NETWORK}/d")},
    "no public addresses": {"subnet_id": f"{NETWORK}/d", "public_addresses": False, "explicit_outbound": True},
    "another identity": {"identity_id": "/other/identity", "identity_name": "other"},
    # What Batch changes in place.
    "fixed numbers": {"dedicated_nodes": 1, "spot_nodes": 1},
    "a scenario": {"autoscale": {"scenario": "workday", "max_nodes": 3}},
    "a start task": {"start_task": {"command": "/bin/true", "elevated": True}},
    "packages": {"packages": {"tool": "1"}},
    "metadata and tags": {"metadata": {"a": "b"}, "tags": {"c": "d"}},
    "another day": {"expires_after": "2027-01-31"},
    "communication": {"communication": "Default"},
}


def pool(*edits: str) -> Registration:
    changed = {key: value for edit in edits for key, value in EDITS[edit].items()}
    return declare(lambda: BatchPool("gpus", Wired(args_of(BatchPoolWiring, ARGS, changed)))).one(POOL)


def immutable(registration: Registration) -> list[Any]:
    """What of the declared body Batch doesn't change, by what the engine is told and what the page of the component says."""
    machines = registration.inputs["deploymentConfiguration"]["virtualMachineConfiguration"]
    containers = machines.get("containerConfiguration")
    registries = [each["registryServer"] for each in (containers or {}).get("containerRegistries", [])]
    found = [at(registration.inputs, path) for path in REPLACING]
    assert REPLACING_WITHOUT_PATH == [REGISTRY, "whether tasks run in containers"]
    return [*found, registries, containers is not None]


def at(body: Any, path: str) -> Any:
    for key in path.split("."):
        body = (body or {}).get(key)
    return body


def assert_agree(one: Registration, other: Registration) -> None:
    same = immutable(one) == immutable(other)
    assert (one.inputs["poolName"] == other.inputs["poolName"]) is same
    assert (one.replacement_trigger == other.replacement_trigger) is same


def test_of_any_two_pools_the_names_differ_where_batch_could_not_make_one_of_the_other_and_only_there() -> None:
    pools = {edit: pool(edit) for edit in EDITS}
    wrong: list[str] = []
    for one, other in combinations(EDITS, 2):
        same = immutable(pools[one]) == immutable(pools[other])
        if (pools[one].inputs["poolName"] == pools[other].inputs["poolName"]) is not same:
            wrong.append(f"{one} and {other}: {'one body' if same else 'one name'}")
    assert wrong == []
    assert len({each.inputs["poolName"] for each in pools.values()}) > len(EDITS) / 2


@given(edits=st.lists(st.sampled_from(sorted(EDITS)), min_size=1, max_size=3, unique=True), more=st.sampled_from(sorted(EDITS)))
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_the_same_holds_where_several_things_are_said(edits: list[str], more: str) -> None:
    try:
        before, after = pool(*edits), pool(*edits, more)
    except Refused:
        assume(False)
        raise
    assert_agree(before, after)


DEFAULTS = (
    "defaults",
    "without containers",
    "size in another spelling",
    "the image that is chosen",
    "its newest version",
    "an agent in capitals",
    "a registry and no containers",
    "another account and no mount",
)


@pytest.mark.parametrize("edit", DEFAULTS)
def test_what_is_the_default_anyway_changes_no_name_when_it_is_written_out(edit: str) -> None:
    assert pool(edit).inputs["poolName"] == pool().inputs["poolName"]


def test_images_are_declared_in_one_order() -> None:
    assert pool("images").inputs == pool("images in another order").inputs


def test_another_version_of_the_extension_is_another_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pool("an extension")
    monkeypatch.setattr(driver_extension, "HANDLER_VERSIONS", ("1.10", "1.11", "1.12"))
    after = pool("an extension")
    assert immutable(before) != immutable(after)
    assert before.inputs["poolName"] != after.inputs["poolName"]


def test_a_name_in_another_letter_case_is_another_pool_as_batch_takes_it_for_the_same() -> None:
    def named(name: str) -> str:
        return declare(lambda: BatchPool("gpus", Wired({**ARGS, "pool_name": name}))).one(POOL).inputs["poolName"]

    assert named("GPUs").lower() != named("gpus").lower()


# Changing these would make every pool anew that stands anywhere: a property that is added has to leave its default out.
@pytest.mark.parametrize(
    ("edits", "name"),
    [
        (["its newest version"], "gpus-92690b86"),
        (["a version of it", "slots", "images", "blobs", "a subnet"], "gpus-13a0be57"),
        (["an image of the stack", "nodes that talk", "shares", "no public addresses", "another identity"], "gpus-4aa99109"),
    ],
    ids=["defaults", "much", "more"],
)
def test_pools_that_stand_keep_their_names_in_later_versions(edits: list[str], name: str) -> None:
    assert pool(*edits).inputs["poolName"] == name


def test_an_identity_that_moves_to_another_group_is_another_one() -> None:
    context, _ = resolve_stack(STACK_ARGS, PROJECT, STACK)
    names: list[str] = []
    for group in ("create", {"existing": f"/subscriptions/{SUBSCRIPTION}/resourceGroups/other"}):
        said = read(configuration({"foundation": {"resource_group": group, "identity": "create"}}), TODAY)
        spec, problems = foundation_spec.resolve(said.parts["foundation"]["foundation"], context)
        assert problems == []
        names.append(spec.identity_name)
    assert names[0] != names[1]
    assert names[1].startswith("other/")


@pytest.mark.parametrize("length", [56, 64, 100])
def test_pools_whose_long_names_differ_at_the_end_have_two_names(length: int) -> None:
    def build() -> None:
        for last in ("a", "b"):
            BatchPool("x" * (length - 1) + last, Wired({**ARGS, "replace": "drain-first"}))

    one, other = declare(build).of_type(POOL)
    assert one.inputs["poolName"] != other.inputs["poolName"]
