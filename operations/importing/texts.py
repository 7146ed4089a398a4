"""The text of a file that somebody names.

In: its name. Out: the text, or the problem with it.
"""

from pathlib import Path

from catalog.problems import Code, Problem


def text_of(file: str) -> tuple[str | None, list[Problem]]:
    """What PowerShell writes, UTF-16 with a mark, is read too."""
    try:
        content = Path(file).read_bytes()
    except FileNotFoundError:
        return None, [Problem(file, "it isn't there", fix=f"paths start at {Path.cwd()}", code=Code.NOT_FOUND)]
    except OSError as error:
        return None, [Problem(file, f"it can't be read: {(error.strerror or str(error)).lower()}")]
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding), []
    except UnicodeDecodeError:
        return None, [Problem(file, "this is no text in UTF-8", fix="name a file of text, saved as UTF-8")]
