"""The replacement table: it has every argument, nothing else, and docs/replacements.md is made of it."""

from azure_gpu.shared.validation import schema
from azure_gpu.stack.file import StackFile
from azure_gpu.stack.settings_reference import keys_below
from azure_gpu_operations.review.interruptions import Interrupts
from tests.replacements import table
from tests.replacements.table import Effect
from tests.support.embedded import CHECKOUT
from tests.support.rows import each_row


def test_the_table_has_a_row_for_every_argument_in_the_stack_file_s_order_and_none_of_one_that_is_gone() -> None:
    assert [row.argument for row in table.rows()] == [key.path for key in keys_below(schema(StackFile), "")], "make renew"


def test_the_page_is_as_the_table_says() -> None:
    assert (CHECKOUT / "docs" / "replacements.md").read_text(encoding="utf-8") == table.page(), "make renew"


@each_row("row", table.rows(), ids=lambda row: row.argument)
def test_a_row_says_what_was_tried_or_why_nothing_was(row: table.Row) -> None:
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
