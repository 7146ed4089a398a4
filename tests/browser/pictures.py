"""Takes the pictures of docs/environments.md: a review's page, and the comment of a pull request, both of the sample review.

    python -m tests.browser.pictures FOLDER      writes review-page.png and review-comment.png

The comment is rendered as CommonMark with tables, in colours like those of a hosting service, where a line's end is one.

Exit codes: 0 written, 1 no Chromium.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from PIL import Image

from azure_gpu_operations.review import markdown
from azure_gpu_operations.review.page import page
from tests.browser import installation
from tests.browser.driving import started
from tests.operations.review.sample import sample

_COLOURS = 256  # of a picture: text on paper, and few kilobytes
_PAGE = {"width": 1000, "height": 890}
_COMMENT = {"width": 1000, "height": 760}
_SIGNS = {":red_circle:": "<i class=red></i>", ":warning:": "<i class=amber></i>", ":white_check_mark:": "<i class=green></i>"}
_STYLE = """
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; color: #1f2328; margin: 16px; }
main { border: 1px solid #d1d9e0; border-radius: 6px; overflow: hidden; }
header { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e; }
article { padding: 4px 16px 16px; }
h3 { font-size: 18px; margin: 16px 0 8px; }
p, ul { margin: 0 0 10px; }
ul { padding-left: 24px; }
code { font: 85% ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { background: #eff1f3; border-radius: 4px; padding: 2px 5px; }
table { border-collapse: collapse; } th, td { border: 1px solid #d1d9e0; padding: 4px 10px; }
summary { margin: 6px 0; }
i { display: inline-block; width: 11px; height: 11px; border-radius: 6px; }
.red { background: #d1242f; } .amber { background: #d4a72c; } .green { background: #1a7f37; }
"""


def comment_page(text: str) -> str:
    """A comment's Markdown as a page."""
    body = MarkdownIt("commonmark", {"html": True, "breaks": True}).enable("table").render(text)
    for sign, drawn in _SIGNS.items():
        body = body.replace(sign, drawn)
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Comment</title><style>{_STYLE}</style>'
    return f"{head}<main><header><b>azure-gpu</b> commented</header><article>{body}</article></main></html>"


def take(driven: Any, text: str, size: dict[str, int], target: Path) -> None:
    """The top of a page."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(text, encoding="utf-8")
        tab = driven.new_page(viewport=size, color_scheme="light")
        tab.goto(file.as_uri())
        tab.screenshot(path=str(target))
        tab.close()
    with Image.open(target) as taken:
        few = taken.convert("RGB").quantize(_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(target, optimize=True)


def main(arguments: Sequence[str]) -> int:
    folder = Path(arguments[0])
    with started() as driven:
        if driven is None:
            print(installation.HOW, file=sys.stderr)
            return 1
        folder.mkdir(parents=True, exist_ok=True)
        take(driven, page(sample()), _PAGE, folder / "review-page.png")
        take(driven, comment_page(markdown.comment(sample())), _COMMENT, folder / "review-comment.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
