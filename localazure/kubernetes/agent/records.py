"""Records that the agent keeps for the next one: replaced whole, so that a killed agent leaves no half of one.

Unlike the state folder's they aren't forced to the disk: they mean processes, which a machine that loses its power loses too.
"""

import json
import os
from pathlib import Path
from typing import Any


def write(path: Path, content: dict[str, Any], mode: int = 0o644) -> None:
    half = path.with_name(f".{path.name}.half")
    handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(content, file)
    half.replace(path)
