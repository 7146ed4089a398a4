"""docs/weather.md is what the parts say today, and each part has evidence that can be found again."""

import re
from pathlib import Path

import pytest

from localazure.weather import page
from localazure.weather.parts import PARTS

PAGE = Path(__file__).parents[3] / "docs" / "weather.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page.page(), "`make renew` writes it again"


@pytest.mark.parametrize("name", sorted(PARTS))
def test_each_part_has_dated_evidence(name: str) -> None:
    part = PARTS[name]
    assert part.sources
    for source in part.sources:
        assert re.fullmatch(r"20\d\d-\d\d(-\d\d)?", source.day), source
    if any(source.rank == "assumed" for source in part.sources):
        assert "assumed" in part.what  # what of it, and why
