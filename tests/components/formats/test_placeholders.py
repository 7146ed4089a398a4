"""What stands in a file for a value that is still to be filled in."""

import pytest

from azure_gpu.formats import placeholders
from tests.support.tables import of_table


@of_table("text", "found")
def test_the_first_one_is_found(text: str, found: str) -> None:
    assert placeholders.find(text) == found


@pytest.mark.parametrize("part", ["{", "{{ ", "${", "$(", "[my ", "#{", "__A ", "<a"])
def test_a_megabyte_of_openings_is_looked_through_once(part: str) -> None:
    assert placeholders.find(part * (1_000_000 // len(part))) == ""
