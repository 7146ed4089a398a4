"""Sizes are found however people spell them, and a misspelt name gets the nearest."""

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from azure_gpu.catalog.problems import Code, Severity
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.lookup import PREFIX, Sizes, normalise
from tests.support.tables import of_table

NAMES = sorted(size.name for size in SIZES)


@of_table("spelt", "name")
def test_a_size_is_found_by_any_spelling(spelt: str, name: str) -> None:
    size = SIZES.find(spelt)
    assert size is not None
    assert size.name == name


@pytest.mark.parametrize("name", ["", " ", "Standard_", "standard", "NC", "Standard_D4s_v3", "NC6s_v9", "(", "NC\u20076"])
def test_what_is_no_known_size_is_not_found(name: str) -> None:
    assert SIZES.find(name) is None


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("Standard_NC24ads_A100", "Standard_NC24ads_A100_v4"),
        ("ND96isr_H100_v6", "Standard_ND96isr_H100_v5"),
        ("Standard_NC8as_T4_v4", "Standard_NC8as_T4_v3"),
        ("Standard_NC40ads_B100_v5", "Standard_NC40ads_H100_v5"),
    ],
)
def test_a_name_that_may_be_newer_is_a_warning_and_gets_the_nearest_first(misspelt: str, meant: str) -> None:
    problem = SIZES.unknown(misspelt, "pool.size")
    assert problem.instead[0] == meant
    assert f"write {meant}" in problem.fix
    assert (problem.path, problem.value) == ("pool.size", misspelt)
    assert (problem.code, problem.severity) == (Code.UNKNOWN, Severity.WARNING)


@of_table("slip", "meant")
def test_a_slip_of_a_known_name_is_refused_with_what_was_meant(slip: str, meant: str) -> None:
    problem = SIZES.unknown(slip, "pool.size")
    assert (problem.severity, problem.instead, problem.fix) == (Severity.ERROR, (meant,), f"write {meant}")


def test_no_size_of_azure_would_be_taken_for_a_slip_of_another_had_it_come_later() -> None:
    for size in SIZES:
        others = Sizes(other for other in SIZES if other is not size)
        assert others.unknown(size.name, "size").severity is Severity.WARNING, size.name


@pytest.mark.parametrize("name", ["Standard_D4s_v3", "d4s_v5", "Standard_E8s_v5", "Standard_DS3_v2", "Standard_B2ms"])
def test_a_size_of_a_family_without_gpus_is_told_so(name: str) -> None:
    problem = SIZES.unknown(name, "size")
    assert (problem.severity, problem.instead) == (Severity.WARNING, ())
    assert problem.message.startswith("this VM size has no GPU")


@pytest.mark.parametrize("name", ["Standard_Q4s_v3", "no such thing", "", "(6 vcpus)"])
def test_a_name_like_no_other_gets_the_command_that_lists_all(name: str) -> None:
    problem = SIZES.unknown(name, "size")
    assert problem.instead == ()
    assert problem.fix == "list sizes with `az vm list-skus`"


def test_at_most_so_many_names_are_offered_as_asked_for() -> None:
    assert len(SIZES.nearest("NC24ads_A100_v5")) == 3
    assert SIZES.nearest("NC24ads_A100_v5", most=1) == ("Standard_NC24ads_A100_v4",)


@given(st.text(max_size=80))
def test_no_text_makes_the_lookup_raise(name: str) -> None:
    size = SIZES.find(name)
    assert size is None or size.name.lower() == normalise(name).lower()
    assert all(near in NAMES for near in SIZES.unknown(name, "size").instead)


@given(st.text(max_size=80))
def test_normalising_twice_changes_nothing_more(name: str) -> None:
    once = normalise(name)
    assert once.startswith(PREFIX)
    assert normalise(once) == once


@given(
    st.sampled_from(NAMES),
    st.sampled_from(["{0}", "Standard_{0}", "Standard {0}", "standard_{0}", "{0} Standard", "  {0} ", "Standard {0} (8 vcpus)"]),
    st.sampled_from([str, str.upper, str.lower, str.swapcase]),
    st.booleans(),
)
def test_every_size_is_found_in_every_form(name: str, form: str, case: Callable[[str], str], spaces: bool) -> None:
    bare = name.removeprefix("Standard_")
    spelt = form.format(bare.replace("_", " ") if spaces else bare)
    size = SIZES.find(case(spelt))
    assert size is not None
    assert size.name == name
