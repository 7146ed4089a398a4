"""The replacement table: it has every argument, nothing else, and docs/replacements.md is made of it."""

import pytest

from azure_gpu.shared.validation import schema
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.settings_reference import every_key
from azure_gpu_operations.review import interruptions, replacements
from azure_gpu_operations.review.interruptions import Interruption, Interrupts
from azure_gpu_operations.review.replacements import Effect, effect_of
from tests.support.embedded import CHECKOUT
from tests.support.rows import each_row


def test_the_table_has_a_row_for_every_argument_in_the_stack_file_s_order_and_none_of_one_that_is_gone() -> None:
    assert [row.argument for row in replacements.rows()] == [key.path for key in every_key(schema(StackFile))], "make renew"


def test_the_page_is_as_the_table_says() -> None:
    assert (CHECKOUT / "docs" / "replacements.md").read_text(encoding="utf-8") == replacements.page(), "make renew"


@each_row("row", replacements.rows(), ids=lambda row: row.argument)
def test_a_row_says_what_was_tried_or_why_nothing_was(row: replacements.Row) -> None:
    touched = (*row.replaced, *row.updated, *row.created, *row.deleted)
    if row.effect is Effect.NOT_TRIED:
        assert row.why
        assert (touched, row.change) == ((), "")
        return
    assert row.change
    assert row.stack
    assert bool(touched) == (row.effect not in (Effect.NOTHING, Effect.REFUSED))
    assert bool(row.replaced) == (row.effect in (Effect.REPLACES, Effect.REPLACES_BELOW))
    assert bool(row.interruption.what) >= (row.interruption.interrupts is Interrupts.YES)


@each_row(
    ("path", "argument"),
    [
        ("pools.train.size", "pools.<name>.size"),
        ("pools.<name>.size", "pools.<name>.size"),
        ("clusters.big.gpu_pools.t4.max_nodes", "clusters.<name>.gpu_pools.<name>.max_nodes"),
        ("pools.train.tags.cost", "pools.<name>.tags"),
        ("pools.train.overrides.networkConfiguration.subnetId", "pools.<name>.overrides"),
        ("pools.train.start_task.resource_files[0].url", "pools.<name>.start_task.resource_files[].url"),
        ("pools.train.start_task.resource_files[0]", "pools.<name>.start_task.resource_files"),
        ("pools.train", "pools"),
        (("pools", "train.1", "start_task", "resource_files", 0, "url"), "pools.<name>.start_task.resource_files[].url"),
        (("gallery_images", "Kept_1.0", "version"), "gallery_images.<name>.version"),
        ("team", "team"),
    ],
)
def test_a_place_in_a_stack_file_has_the_row_of_its_argument(path: str, argument: str) -> None:
    found = effect_of(path)
    assert found is not None
    assert found.argument == argument


@pytest.mark.parametrize("path", ["nothing", "pools.train.sise", "clusters.big.gpu_pools.t4.nodes", ""])
def test_a_place_that_no_argument_has_has_no_row(path: str) -> None:
    assert effect_of(path) is None


@each_row(
    ("path", "effect", "replaced", "interrupts"),
    [
        ("pools.train.size", Effect.REPLACES, "azure-native:batch:Pool", Interrupts.YES),
        ("pools.train.spot_nodes", Effect.UPDATES, None, Interrupts.CAN),
        ("pools.train.metadata", Effect.UPDATES, None, Interrupts.NO),
        ("container_groups.web.image", Effect.UPDATES, None, Interrupts.YES),
        ("container_groups.web.cpu", Effect.REPLACES, "azure-native:containerinstance:ContainerGroup", Interrupts.YES),
        ("clusters.big.gpu_pools.t4.size", Effect.REPLACES, "azure-native:containerservice:AgentPool", Interrupts.YES),
        ("clusters.big.pod_cidr", Effect.REPLACES, "azure-native:containerservice:ManagedCluster", Interrupts.YES),
        ("ml_endpoints.digits.auth", Effect.UPDATES, None, Interrupts.YES),
        ("ml_endpoints.digits.identity", Effect.REPLACES, "azure-native:machinelearningservices:OnlineEndpoint", Interrupts.YES),
        ("ml_workspace.computes.t4.size", Effect.REPLACES, "azure-native:machinelearningservices:Compute", Interrupts.YES),
        ("vms.trainer.size", Effect.UPDATES, None, Interrupts.YES),
        ("team", Effect.REPLACES, "azure-native:resources:ResourceGroup", Interrupts.YES),
    ],
)
def test_what_users_ask_first_is_told(path: str, effect: Effect, replaced: str | None, interrupts: Interrupts) -> None:
    row = effect_of(path)
    assert row is not None
    assert (row.effect, row.interruption.interrupts) == (effect, interrupts)
    assert (replaced in row.replaced) if replaced else row.replaced == ()


def test_a_step_is_judged_by_the_first_fact_that_fits_and_by_the_worst_of_its_properties() -> None:
    pool = "azure-native:batch:Pool"
    assert interruptions.of_step("update", pool, ["metadata[0].value"]).interrupts is Interrupts.NO
    assert interruptions.of_step("update", pool, ["metadata", "scaleSettings.fixedScale"]).interrupts is Interrupts.CAN
    assert interruptions.of_step("update", pool, ["metadata", "displayName"]).interrupts is Interrupts.NOT_KNOWN
    assert interruptions.of_step("replace", pool, ["metadata"]).interrupts is Interrupts.YES
    assert interruptions.of_step("create", pool).interrupts is Interrupts.NO
    assert interruptions.of_step("delete", "azure-native:new:Thing") == Interruption(Interrupts.NOT_KNOWN)
    cluster = "azure-native:containerservice:ManagedCluster"
    assert interruptions.of_step("update", cluster, ["agentPoolProfiles[0].orchestratorVersion"]).interrupts is Interrupts.YES
    assert interruptions.worst([]).interrupts is Interrupts.NO
