"""The page of results: a bench writes its own section and no other."""

from datetime import date
from pathlib import Path

from tests.bench import results

DAY = date(2026, 11, 26)


def test_a_section_is_written_again_where_it_stands(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    results.write("first", "## First\n\nold \\1", page, DAY)
    results.write("second", "## Second", page, DAY)
    before = page.read_text()
    assert before.index("## First") < before.index("## Second")
    results.write("first", "## First\n\nnew \\1", page, date(2026, 11, 27))
    after = page.read_text()
    assert after == before.replace("old", "new").replace("2026-11-26 by `make bench-first`", "2026-11-27 by `make bench-first`")


def test_what_stands_between_the_sections_stays(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("# Results\n\nBy hand.\n\n<!-- begin one -->\nold\n<!-- end one -->\n\nAlso by hand.\n")
    results.write("one", "new", page, DAY)
    assert page.read_text() == (
        "# Results\n\nBy hand.\n\n"
        "<!-- begin one -->\nnew\n\nMeasured on 2026-11-26 by `make bench-one`.\n<!-- end one -->\n\n"
        "Also by hand.\n"
    )
