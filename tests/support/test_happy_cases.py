"""Every happy case is brought up by one of the files that do so."""

import importlib
from collections import Counter

import pytest

from tests.support.happy_cases import CASES, FAMILIES, TAKES_LONG, cases, names

FILES = {family: importlib.import_module(f"tests.stack.test_happy_cases_of_{family}") for family in FAMILIES}


def test_every_case_is_in_one_family() -> None:
    brought_up = Counter(name for family in FAMILIES for name in names(family))
    assert brought_up == Counter(path.stem for path in CASES.glob("*.happy.*.yaml"))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_file_that_brings_up_all_of_it(family: str) -> None:
    marks = FILES[family].test_happy_cases_come_up_at_the_first_try.pytestmark
    assert [mark.args for mark in marks if mark.name == "parametrize"] == [("names", cases(family))]
    assert sorted(name for case in cases(family) for name in case.values[0]) == names(family)


def test_each_night_the_cases_come_up_that_no_other_run_brings_up() -> None:
    every_run = [name for family in FAMILIES for case in cases(family) if not case.marks for name in case.values[0]]
    assert Counter(name.split(".")[0] for name in every_run) == Counter(
        {path.name.split(".")[0] for path in CASES.glob("*.happy.*.yaml")} - {name.split(".")[0] for name in TAKES_LONG}
    )
