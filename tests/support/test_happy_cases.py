"""Every happy case is brought up by one of the files that do so."""

from collections import Counter

import pytest

from tests.support.embedded import CHECKOUT
from tests.support.happy_cases import CASES, FAMILIES, names


def test_every_case_is_in_one_family() -> None:
    brought_up = Counter(name for family in FAMILIES for name in names(family))
    assert brought_up == Counter(path.stem for path in CASES.glob("*.happy.*.yaml"))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_a_file(family: str) -> None:
    text = (CHECKOUT / "tests" / "stack" / f"test_happy_cases_of_{family}.py").read_text()
    assert f'happy_cases.names("{family}")' in text
