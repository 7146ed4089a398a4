"""Sections of docs/results.md: each is written by one bench, with the date, and every other one stays as it is.

Needs nothing but Python, since a machine with a GPU may have nothing else.
"""

import re
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "docs" / "results.md"
HEAD = (
    "# Results\n\nMeasured by the commands that each section names; a bench writes its own section again and leaves the others.\n"
)


def write(name: str, text: str, file: Path = RESULTS, today: date | None = None) -> None:
    """Puts `text` (Markdown, with its own heading) into the section `name`, which `make bench-NAME` writes.

    A section that isn't there yet comes at the end, and a missing file is made.
    """
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    day = today or date.today()
    section = f"{begin}\n{text.rstrip()}\n\nMeasured on {day:%Y-%m-%d} by `make bench-{name}`.\n{end}"
    page = file.read_text(encoding="utf-8") if file.exists() else HEAD
    there = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
    page = there.sub(lambda _: section, page, count=1) if there.search(page) else f"{page.rstrip()}\n\n{section}\n"
    file.write_text(page, encoding="utf-8")
