"""What the catalog leaves out, against what it has."""

from azure_gpu.catalog import facts
from azure_gpu.catalog.facts import LEFT_OUT


def test_every_entry_is_one_thing_with_a_reason() -> None:
    names = [one.what for one in LEFT_OUT]
    assert names
    assert len(names) == len(set(names))
    assert [one for one in LEFT_OUT if not one.what.strip() or not one.reason.strip() or one.reason.endswith(".")] == []


def test_nothing_that_is_left_out_is_also_a_fact() -> None:
    names = {one.what for one in LEFT_OUT}
    # Of names that have a price, the reason why they are no size is the fact.
    told = {fact.name for about in facts.everything().values() for fact in about} - {
        fact.name for fact in facts.about(facts.NOT_SIZES)
    }
    assert names & told == set()
