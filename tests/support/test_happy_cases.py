"""Every happy case is brought up by one of the files that do so."""

import importlib
from collections import Counter

import pytest

from tests.support.happy_cases import CASES, FAMILIES, names


def test_every_case_is_in_one_family() -> None:
    brought_up = Counter(name for family in FAMILIES for name in names(family))
    assert brought_up == Counter(path.stem for path in CASES.glob("*.happy.*.yaml"))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_file_that_brings_up_all_of_it(family: str) -> None:
    module = importlib.import_module(f"tests.stack.test_happy_cases_of_{family}")
    marks = module.test_a_happy_case_comes_up_at_the_first_try.pytestmark
    assert [mark.args for mark in marks if mark.name == "parametrize"] == [("name", names(family))]
