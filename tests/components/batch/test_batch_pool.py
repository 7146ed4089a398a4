"""What a Batch pool registers with the engine, beyond the inputs that the cases show."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from azure_gpu.batch.account.args import AccountFacts
from azure_gpu.batch.pool.args import AutoscaleArgs, BatchPoolSettings, BatchPoolWiring, Replace
from azure_gpu.batch.pool.mounts import MountArgs
from azure_gpu.batch.pool.pool import BatchPool
from azure_gpu.batch.pool.resolve import resolve
from azure_gpu.batch.pool.rules import fit_problems
from azure_gpu.batch.pool.spec import BatchPoolSpec, PoolDependencies
from azure_gpu.catalog.problems import Code
from azure_gpu.catalog.services.batch.scale import DEFAULT_RESIZE_TIMEOUT
from azure_gpu.images.args import ImageOfPool
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.validation import choices, key_docstrings
from azure_gpu.shared.wired import Wired
from tests.components.recording import PROJECT, STACK, Registration, declare
from tests.components.settings_of import STACK_ARGS, args_of

POOL = "azure-native:batch:Pool"
SUBNET = "/subscriptions/a/resourceGroups/b/providers/Microsoft.Network/virtualNetworks/c/subnets/d"
ARGS: BatchPoolWiring = {
    "stack": {**STACK_ARGS, "location": "eastus", "as_of": "2026-11-21"},
    "resource_group_name": "group",
    "identity_id": "/some/identity",
    "identity_name": "identity",
    "account": {
        "name": "account",
        "resource_group_name": "group",
        "facts": AccountFacts(location="eastus"),
    },
    "size": "Standard_NC4as_T4_v3",
    "expires_after": "2026-12-31",
}


def pool(**changed: Any) -> Registration:
    return declare(lambda: BatchPool("gpus", Wired(args_of(BatchPoolWiring, ARGS, changed)))).one(POOL)


def resolved(**changed: Any) -> BatchPoolSpec:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    said = args_of(BatchPoolSettings, {"size": "Standard_NC4as_T4_v3", "expires_after": "2026-12-31"}, changed)
    return resolve("gpus", said, context, PoolDependencies(account=AccountFacts(location="eastus")))[0]


# What the same page says needs a pool of no nodes; `azure-batch` 15.1 says the same of each property.
REPLACES: dict[str, Any] = {
    "size": "Standard_NC8as_T4_v3",
    "image": "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026072901",
    "os_type": "Windows",
    "driver": "extension",
    "task_slots": 2,
    "inter_node": True,
    "containers": {"images": ["python:3.11"]},
    "mounts": {"nfs": {"nfs": {"source": "a:/b"}}},
    "subnet_id": SUBNET,
    "identity_name": "another",
}


@pytest.mark.parametrize("key", REPLACES)
def test_drained_first_it_keeps_its_name_and_the_old_one_goes_before(key: str) -> None:
    before, after = pool(replace="drain-first"), pool(replace="drain-first", **{key: REPLACES[key]})
    assert before.inputs["poolName"] == after.inputs["poolName"] == "gpus"
    assert before.replacement_trigger != after.replacement_trigger
    assert after.delete_before_replace


@pytest.mark.parametrize("name", ["gpus", "Train_A", "a" * 64, "a" * 100, "ä b", "9"])
@pytest.mark.parametrize("replace", choices(Replace))
def test_a_pool_has_a_name_that_batch_takes_whatever_it_is_called_here(name: str, replace: Replace) -> None:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    said: BatchPoolSettings = {"size": "NC4as_T4_v3", "expires_after": "2026-12-31", "replace": replace}
    for existing in (False, True):
        place = PoolDependencies(account=AccountFacts(location="eastus", existing=existing))
        spec, problems = resolve(name, said, context, place)
        assert problems == []
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", spec.name(""))


def test_the_key_of_a_share_leaves_no_trace_in_the_name_or_the_trigger() -> None:
    def with_key(key: str) -> Registration:
        share: MountArgs = {"azure_file": {"url": "https://data.file.core.windows.net/s", "account": "data", "key": key}}
        return pool(mounts={"share": share}, replace="drain-first")

    assert with_key("one").replacement_trigger == with_key("two").replacement_trigger


def test_all_that_a_pool_misses_in_its_surroundings_is_said_at_once() -> None:
    args: dict[str, Any] = {key: value for key, value in ARGS.items() if not key.startswith("identity")}
    args |= {
        "containers": {"workloads": ["mnist"]},
        "mounts": {"data": {"azure_blob": {"container": "data"}}},
        "start_task": {"command": "true", "resource_files": [{"container_url": "https://a/b", "use_identity": True}]},
    }
    with pytest.raises(Refused) as refused:
        declare(lambda: BatchPool("gpus", Wired(args_of(BatchPoolWiring, args))))
    paths = {problem.path for problem in refused.value.problems}
    assert paths == {
        "pools.gpus.containers.workloads[0]",
        "pools.gpus.mounts.data.azure_blob",
        "pools.gpus.mounts.data.azure_blob.account",
        "pools.gpus.start_task.resource_files[0].use_identity",
    }


def test_the_defaults_in_the_docstrings_are_those_that_a_pool_gets() -> None:
    spec = resolved()
    of_pool: dict[str, Any] = {
        "task_slots": spec.request.task_slots,
        "communication": spec.request.communication,
        "replace": spec.replace,
        "os_type": None,
        "resize_timeout_minutes": int(DEFAULT_RESIZE_TIMEOUT.total_seconds() // 60),
        "public_addresses": str(spec.request.public_addresses).lower(),
    }
    told = key_docstrings(BatchPoolSettings)
    assert [key for key, value in of_pool.items() if value and not told[key].endswith(f"Default: {value}.")] == []
    assert spec.request.most == (1, 0)
    of_autoscale = {
        "scenario": "pending_tasks",
        "interval_minutes": int((spec.request.evaluation_interval or timedelta()).total_seconds() // 60),
        "max_nodes": sum(spec.request.most),
    }
    told = key_docstrings(AutoscaleArgs)
    assert [key for key, value in of_autoscale.items() if not told[key].endswith(f"Default: {value}.")] == []
    assert spec.request.autoscale_formula.startswith("// pending_tasks\n")


def test_an_image_of_the_stacks_own_says_which_system_is_in_it() -> None:
    agent = "batch.node.ubuntu 24.04"
    image = ImageOfPool(
        id="",
        name="a/b/1.0.0",
        has_version=True,
        os_type="Linux",
        generation="Gen2",
        node_agent=agent,
        regions=("eastus", "westus3"),
    )
    choice = ImageChoice(
        key="gallery_image",
        gallery_image="trained",
        of_gallery=image,
        operating_system="Linux",
        node_agent=agent,
    )
    (problem,) = fit_problems({"size": "Standard_NC4as_T4_v3", "os_type": "Windows"}, choice, None, "pools.train")
    assert (problem.path, problem.value, problem.allowed) == ("pools.train.os_type", "Windows", "Linux")
    linux: BatchPoolSettings = {"size": "Standard_NC4as_T4_v3", "os_type": "Linux"}
    for region in ("", "eastus", "westus3"):
        assert list(fit_problems(linux, choice, None, "pools.train", region)) == []
    (problem,) = fit_problems(linux, choice, None, "pools.train", "westeurope")
    assert (problem.path, problem.code) == ("pools.train.gallery_image", Code.NOT_IN_REGION)
    assert problem.fix == "add gallery_images.trained.regions: [westeurope]"
    unknown: ImageOfPool = {**image, "regions": ()}
    assert list(fit_problems(linux, replace(choice, of_gallery=unknown), None, "pools.train", "westeurope")) == []
