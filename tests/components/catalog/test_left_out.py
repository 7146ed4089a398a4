"""What the catalog leaves out, against what it has."""

from azure_gpu.catalog import facts
from azure_gpu.catalog.left_out import LEFT_OUT
from azure_gpu.catalog.sizes import SIZES


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


def test_sizes_that_are_said_to_be_left_out_are_in_no_table() -> None:
    for name in ("Standard_A10", "Standard_A11", "Standard_H8_Promo", "Standard_H16mr_Promo", "Standard_ND40s_v2"):
        assert SIZES.find(name) is None, name


def test_what_is_said_to_be_unknown_is_unknown() -> None:
    for name in ("Standard_NV12hs_v3", "Standard_NV32ahs_v4", "Standard_ND96is_H200_v5", "Standard_ND40s_v3"):
        size = SIZES.find(name)
        assert size is not None, name
        assert size.memory_gib is None, name
    for name in ("Standard_HB60rs", "Standard_ND128isrG5_GB300_v6"):
        size = SIZES.find(name)
        assert size is not None, name
        assert size.series.quota_family == "", name
