"""The page of results: a bench writes its own section and no other."""

from pathlib import Path

import pytest

from tests.bench import results

VERSIONS = {"Python": "3.11"}


@pytest.fixture(autouse=True)
def _a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "hardware", lambda: "a machine")


def test_a_section_is_written_again_where_it_stands(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    results.write("first", "First", ["old \\1"], VERSIONS, page)
    results.write("second", "Second", [], VERSIONS, page)
    before = page.read_text()
    assert before.index("## First") < before.index("## Second")
    assert "by `make bench-first` on " in before
    results.write("first", "First", ["new \\1"], VERSIONS, page)
    assert page.read_text() == before.replace("old", "new")


def test_what_stands_between_the_sections_stays(tmp_path: Path) -> None:
    page = tmp_path / "results.md"
    page.write_text("# Results\n\nBy hand.\n\n<!-- one begins -->\nold\n<!-- one ends -->\n\nAlso by hand.\n")
    results.write("one", "One", ["new"], VERSIONS, page)
    before, _, rest = page.read_text().partition("<!-- one begins -->\n")
    section, _, after = rest.partition("<!-- one ends -->\n")
    assert (before, after) == ("# Results\n\nBy hand.\n\n", "\nAlso by hand.\n")
    assert section.startswith("## One\n\nMeasured on ")
    assert section.endswith(" by `make bench-one` on a machine; Python 3.11.\n\nnew\n")
