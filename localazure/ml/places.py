"""Where online endpoints keep what they run, below their folder."""

from pathlib import Path


def containers_below(folder: Path) -> Path:
    """Where the runtime keeps the containers of all endpoints."""
    return folder / "containers"
