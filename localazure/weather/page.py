"""docs/weather.md: `python -m localazure.weather.page` writes it to standard output, from `page.md` and the parts."""

import sys
from pathlib import Path

from localazure.weather.parts import PARTS, Part


def page() -> str:
    """The whole page."""
    text = Path(__file__).with_name("page.md").read_text(encoding="utf-8")
    for word, rough in (("{rough}", True), ("{some}", False)):
        text = text.replace(word, _table([part for part in PARTS.values() if part.rough is rough]))
    return text


def _table(parts: list[Part]) -> str:
    head = "| `fault weather` … | what it does | how long here | in Azure | evidence |\n| --- | --- | --- | --- | --- |\n"
    return head + "".join(
        f"| `{part.name}` | {part.what} | {part.here} | {part.there} | "
        f"{'; '.join(f'{one.rank}: {one.text} ({one.day})' for one in part.sources)} |\n"
        for part in parts
    )


if __name__ == "__main__":
    sys.stdout.write(page())
