"""The replacement table: it has every argument, nothing else, and docs/replacements.md is made of it."""

import pytest

from azure_gpu.shared.validation import schema
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.settings_reference import every_key
from azure_gpu_operations.review import replacements
from azure_gpu_operations.review.interruptions import Interrupts
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
