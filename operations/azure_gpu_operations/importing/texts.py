"""Reads the text of a file that the user names."""

from pathlib import Path

from azure_gpu.catalog.problems import Code, Problem

LARGEST = 32 * 1024 * 1024  # bytes; a notebook with pictures in it has some millions


def text_of(file: str) -> tuple[str | None, list[Problem]]:
    """What PowerShell writes, UTF-16 with a mark, is read too."""
    try:
        with Path(file).open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except FileNotFoundError:
        return None, [Problem(file, "it isn't there", fix=f"paths start at {Path.cwd()}", code=Code.NOT_FOUND)]
    except OSError as error:
        return None, [Problem(file, f"it can't be read: {(error.strerror or str(error)).lower()}")]
    if len(content) > LARGEST:
        return None, [Problem(file, "the file is too large", allowed=f"at most {LARGEST} bytes")]
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return content.decode(encoding), []
    except UnicodeDecodeError:
        return None, [Problem(file, "not text in UTF-8", fix="name a file of text, saved as UTF-8")]
