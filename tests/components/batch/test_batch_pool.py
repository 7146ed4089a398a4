"""What a Batch pool registers with the engine, beyond the inputs that the cases show."""

import re
from dataclasses import replace
from typing import Any

import pulumi
import pytest

from azure_gpu.batch.account.spec import AccountFacts
from azure_gpu.batch.pool.args import AutoscaleArgs, BatchPoolSettings, BatchPoolWiring, Replace, StartTaskArgs
from azure_gpu.batch.pool.image import fit_problems
from azure_gpu.batch.pool.mounts import MountArgs
from azure_gpu.batch.pool.pool import REPLACING, BatchPool
from azure_gpu.batch.pool.resolve import resolve
from azure_gpu.batch.pool.spec import BatchPoolSpec, PoolDependencies
from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.catalog.services.batch.mpi_commands import Mpi
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sizes.model import VmGeneration
from azure_gpu.images.args import ImageOfPool
from azure_gpu.images.choice import ImageChoice
from azure_gpu.shared.context import resolve_stack
from azure_gpu.shared.refusal import Refused
from azure_gpu.shared.validation import key_docstrings
from azure_gpu.shared.wired import Wired
from tests.components.recording import PROJECT, STACK, Registration, declare, readable
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
        "location": "eastus",
        "allocation_mode": "BatchService",
        "auto_storage": True,
        "existing": False,
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


@pytest.mark.parametrize("preview", [False, True], ids=["up", "preview"])
def test_two_pools_in_one_program_share_no_urn_and_no_name(preview: bool) -> None:
    def build() -> None:
        BatchPool("one", Wired(ARGS))
        BatchPool("two", Wired(ARGS))

    recorded = declare(build, preview=preview)
    urns = [registration.urn for registration in recorded.registrations]
    assert len(urns) == len(set(urns)) == 4
    assert len({registration.inputs["poolName"] for registration in recorded.of_type(POOL)}) == 2


# Microsoft Learn, batch/batch-pool-update-properties: what takes effect on a pool with nodes.
IN_PLACE: dict[str, Any] = {
    "autoscale": {"max_nodes": 2},
    "dedicated_nodes": 1,
    "start_task": {"command": "/bin/true"},
    "packages": {"tool": "1"},
    "metadata": {"a": "b"},
    "tags": {"a": "b"},
    "expires_after": "2027-01-31",
    "communication": "Default",
}
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


@pytest.mark.parametrize("key", IN_PLACE)
def test_what_batch_changes_in_place_keeps_the_name(key: str) -> None:
    before, after = pool(), pool(**{key: IN_PLACE[key]})
    assert before.inputs["poolName"] == after.inputs["poolName"]
    assert before.replacement_trigger == after.replacement_trigger


@pytest.mark.parametrize("key", REPLACES)
def test_what_batch_does_not_change_makes_another_pool_beside_the_old_one(key: str) -> None:
    before, after = pool(), pool(**{key: REPLACES[key]})
    assert re.fullmatch(r"gpus-[0-9a-f]{8}", before.inputs["poolName"])
    assert before.inputs["poolName"] != after.inputs["poolName"]
    assert not after.delete_before_replace


@pytest.mark.parametrize("key", REPLACES)
def test_drained_first_it_keeps_its_name_and_the_old_one_goes_before(key: str) -> None:
    before, after = pool(replace="drain-first"), pool(replace="drain-first", **{key: REPLACES[key]})
    assert before.inputs["poolName"] == after.inputs["poolName"] == "gpus"
    assert before.replacement_trigger != after.replacement_trigger
    assert after.delete_before_replace


def test_the_engine_is_told_what_the_service_cannot_change_in_place() -> None:
    assert set(pool().replace_on_changes) == set(REPLACING)
    paths = {path.split(".")[0] for path in REPLACING}
    assert {"vmSize", "deploymentConfiguration", "networkConfiguration", "mountConfiguration", "taskSlotsPerNode"} <= paths
    assert not paths & {"scaleSettings", "startTask", "applicationPackages", "metadata", "tags"}


def test_writing_the_same_in_another_order_or_letter_case_changes_nothing() -> None:
    one = pool(
        containers={"images": ["a:1", "b:1"]},
        mounts={"a": {"nfs": {"source": "a:/"}}, "b": {"nfs": {"source": "b:/"}}},
        metadata={"x": "1", "y": "2"},
        start_task={"command": "true", "environment": {"A": "1", "B": "2"}},
    )
    other = pool(
        size="standard_nc4as_t4_V3",
        containers={"images": ["b:1", "a:1"]},
        mounts={"b": {"nfs": {"source": "b:/"}}, "a": {"nfs": {"source": "a:/"}}},
        metadata={"y": "2", "x": "1"},
        start_task={"command": "true", "environment": {"B": "2", "A": "1"}},
    )
    assert one.inputs == other.inputs


def test_a_subnet_that_another_resource_gives_is_part_of_the_name() -> None:
    def named(subnet: Any) -> str:
        return pool(subnet_id=subnet).inputs["poolName"]

    def wired() -> None:
        BatchPool("gpus", Wired({**ARGS, "subnet_id": pulumi.Output.from_input(SUBNET)}))

    assert declare(wired).one(POOL).inputs["poolName"] == named(SUBNET) != named(f"{SUBNET}2")


@pytest.mark.parametrize("name", ["gpus", "Train_A", "a" * 64, "a" * 100, "ä b", "9"])
@pytest.mark.parametrize("replace", list(Replace))
def test_a_pool_has_a_name_that_batch_takes_whatever_it_is_called_here(name: str, replace: Replace) -> None:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    said: BatchPoolSettings = {"size": "NC4as_T4_v3", "expires_after": "2026-12-31", "replace": replace}
    for existing in (False, True):
        place = PoolDependencies(account=AccountFacts(location="eastus", existing=existing))
        spec, problems = resolve(name, said, context, place)
        assert problems == []
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", spec.name(""))


def test_secrets_are_secret_all_the_way() -> None:
    share: MountArgs = {"azure_file": {"url": "https://data.file.core.windows.net/s", "account": "data", "key": "AccountKey=abc"}}

    def build() -> None:
        task: StartTaskArgs = {
            "command": "true",
            "secret_environment": {"TOKEN": "hunter2"},
            "resource_files": [{"url": pulumi.Output.secret("https://a/b?sig=hunter3"), "path": "b"}],
        }
        BatchPool("gpus", Wired({**ARGS, "start_task": task, "mounts": {"share": share}, "replace": Replace.DRAIN_FIRST}))

    recorded = declare(build)
    [registration] = recorded.of_type(POOL)
    assert registration.inputs["startTask"]["environmentSettings"] == [{"name": "TOKEN", "value": "hunter2"}]
    shown = readable([registration.wire, *recorded.outputs.values()])
    for secret in ("hunter2", "hunter3", "AccountKey=abc"):
        assert secret not in shown


SIGNED = "https://data.blob.core.windows.net/files?sv=2024&sig=hunter2"


@pytest.mark.parametrize("key", ["url", "container_url"])
@pytest.mark.parametrize("address", [SIGNED, "https://someone:hunter2@example.org/files"], ids=["signature", "password"])
def test_an_address_with_a_secret_in_it_is_secret_though_it_is_plain_text(key: str, address: str) -> None:
    task = {"command": "true", "resource_files": [{key: address, "path": "files"}]}
    registration = pool(start_task=task)
    assert address in str(registration.inputs["startTask"])
    assert "hunter2" not in readable(registration.wire)


def test_an_address_without_a_secret_can_be_read_in_a_preview() -> None:
    task = {"command": "true", "resource_files": [{"url": "https://example.org/tool.sh", "path": "tool.sh"}]}
    assert "https://example.org/tool.sh" in readable(pool(start_task=task).wire)


def test_the_key_of_a_share_leaves_no_trace_in_the_name_or_the_trigger() -> None:
    def with_key(key: str) -> Registration:
        share: MountArgs = {"azure_file": {"url": "https://data.file.core.windows.net/s", "account": "data", "key": key}}
        return pool(mounts={"share": share}, replace="drain-first")

    assert with_key("one").replacement_trigger == with_key("two").replacement_trigger


def test_a_preview_says_why_the_nodes_are_made_as_they_are_and_an_update_does_not() -> None:
    said = {preview: declare(lambda: BatchPool("gpus", Wired(ARGS)), preview=preview).log for preview in (True, False)}
    [why] = [line for line in said[True] if "nodes start from" in line]
    assert "microsoft-dsvm/ubuntu-hpc/2404 brings the NVIDIA driver for the T4" in why
    assert not [line for line in said[False] if "nodes start from" in line]


def test_the_cost_is_that_of_all_nodes_that_there_can_be_and_none_where_that_is_not_known() -> None:
    # East US, list price of 2026-06-18.
    t4 = 0.526
    assert resolved(autoscale={"max_nodes": 3}).hourly_cost == pytest.approx(3 * t4)
    assert resolved(dedicated_nodes=2).hourly_cost == pytest.approx(2 * t4)
    assert resolved(dedicated_nodes=0).hourly_cost == 0
    assert resolved(autoscale={"formula": "$TargetDedicatedNodes = 1;"}).hourly_cost is None
    assert resolved(dedicated_nodes=1, os_type="Windows").hourly_cost is None


def test_packages_are_named_by_the_ids_of_their_applications() -> None:
    [package] = pool(packages={"tool": "1.2"}).inputs["applicationPackages"]
    root = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/group/providers/Microsoft.Batch"
    assert package == {"id": f"{root}/batchAccounts/account/applications/tool", "version": "1.2"}


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


@pytest.mark.parametrize("command", ["apt-get -y upgrade", "pip install torch", "git clone https://a/b", "docker pull a/b"])
def test_a_long_start_task_is_warned_of_and_a_short_one_is_not(command: str) -> None:
    context, _ = resolve_stack(ARGS["stack"], PROJECT, STACK)
    place = PoolDependencies(account=AccountFacts(location="eastus"))
    for line, number in ((command, 1), ("/bin/mkdir -p /mnt/scratch", 0)):
        said: BatchPoolSettings = {
            "size": "NC4as_T4_v3",
            "expires_after": "2026-12-31",
            "start_task": {"command": line, "elevated": True},
        }
        _, problems = resolve("gpus", said, context, place)
        assert [(each.path, each.severity) for each in problems] == [("pools.gpus.start_task.command", Severity.WARNING)] * number


def test_metadata_says_which_pool_of_the_stack_this_is_and_its_mpi() -> None:
    metadata = pool(size="Standard_HB120rs_v3", mpi=Mpi.HPCX).inputs["metadata"]
    assert metadata == [{"name": "logical-name", "value": "gpus"}, {"name": "mpi", "value": "hpcx"}]


def test_the_defaults_in_the_docstrings_are_those_that_a_pool_gets() -> None:
    spec = resolved()
    fixed = resolved(dedicated_nodes=1)
    of_pool: dict[str, Any] = {
        "task_slots": spec.task_slots,
        "communication": spec.communication,
        "replace": spec.replace,
        "os_type": None,
        "resize_timeout_minutes": int(fixed.scale.resize_timeout.total_seconds() // 60),
        "public_addresses": str(spec.public_addresses).lower(),
    }
    told = key_docstrings(BatchPoolSettings)
    assert [key for key, value in of_pool.items() if value and not told[key].endswith(f"Default: {value}.")] == []
    assert spec.scale.most is not None
    assert spec.scale.most == (1, 0)
    of_autoscale = {
        "scenario": "pending_tasks",
        "interval_minutes": int(spec.scale.interval.total_seconds() // 60),
        "max_nodes": sum(spec.scale.most),
    }
    told = key_docstrings(AutoscaleArgs)
    assert [key for key, value in of_autoscale.items() if not told[key].endswith(f"Default: {value}.")] == []
    assert spec.scale.formula.startswith("// pending_tasks\n")


def test_an_image_of_the_stacks_own_says_which_system_is_in_it() -> None:
    agent = "batch.node.ubuntu 24.04"
    image = ImageOfPool(
        id="",
        name="a/b/1.0.0",
        has_version=True,
        os_type=OperatingSystem.LINUX,
        generation=VmGeneration.GEN2,
        node_agent=agent,
        regions=("eastus", "westus3"),
    )
    choice = ImageChoice(
        key="gallery_image",
        gallery_image="trained",
        of_gallery=image,
        operating_system=OperatingSystem.LINUX,
        node_agent=agent,
    )
    (problem,) = fit_problems({"size": "Standard_NC4as_T4_v3", "os_type": OperatingSystem.WINDOWS}, choice, None, "pools.train")
    assert (problem.path, problem.value, problem.allowed) == ("pools.train.os_type", "Windows", "Linux")
    linux: BatchPoolSettings = {"size": "Standard_NC4as_T4_v3", "os_type": OperatingSystem.LINUX}
    for region in ("", "eastus", "westus3"):
        assert fit_problems(linux, choice, None, "pools.train", region) == []
    (problem,) = fit_problems(linux, choice, None, "pools.train", "westeurope")
    assert (problem.path, problem.code) == ("pools.train.gallery_image", Code.NOT_IN_REGION)
    assert problem.fix == "add gallery_images.trained.regions: [westeurope]"
    unknown: ImageOfPool = {**image, "regions": ()}
    assert fit_problems(linux, replace(choice, of_gallery=unknown), None, "pools.train", "westeurope") == []
