"""Folders below that of the online endpoints."""

from pathlib import Path


def containers_below(folder: Path) -> Path:
    """Where the runtime keeps the containers of all endpoints."""
    return folder / "containers"
