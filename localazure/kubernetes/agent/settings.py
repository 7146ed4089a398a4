"""The agent's input in the cluster's folder: `agent.json` about the cluster, `nodes.json` about the requested nodes.

Both are replaced whole by the embedded Azure and read again when they change.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

Body = dict[str, Any]
VERSION = "v1.36.2"


class Settings(NamedTuple):
    """`agent.json`."""

    server: str
    authority: Path  # of the API server, and of who may call the nodes' own port
    serving: tuple[Path, Path]  # certificate and key of the nodes' own port
    programs: Path
    embedded: str  # the embedded Azure's URL; empty: there is none
    embedded_authority: Path
    token: str  # with which the agent is known there
    groups_told: Path = Path()  # the file that names the folder of the controllers of groups, where there is one
    bundle: str = ""  # file of the authorities that containers trust; empty: they get none

    @property
    def groups(self) -> Path | None:
        """The controllers of groups and their charts; None where this machine has no build. Looked up again each time."""
        try:
            return Path(self.groups_told.read_text(encoding="utf-8").strip())
        except OSError:
            return None

    @property
    def api_host(self) -> str:
        return str(urlsplit(self.server).hostname)

    @property
    def api_port(self) -> str:
        return str(urlsplit(self.server).port)


def read(path: Path) -> Settings:
    given = json.loads(path.read_text(encoding="utf-8"))
    embedded = given.get("embedded") or {}
    return Settings(
        server=given["server"],
        authority=Path(given["ca"]),
        serving=(Path(given["serving"]["certificate"]), Path(given["serving"]["key"])),
        programs=Path(given["programs"]),
        embedded=embedded.get("url") or "",
        embedded_authority=Path(embedded.get("ca") or ""),
        token=embedded.get("token") or "",
        groups_told=Path(given.get("groups") or ""),
        bundle=embedded.get("bundle") or "",
    )


def nodes(path: Path) -> dict[str, Body]:
    """The records of the wanted nodes, by name."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {one["name"]: one for one in found["nodes"]}


class Changes:
    """Whether a file was replaced since the last time that somebody asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = (0, 0, 0)

    def any(self) -> bool:
        try:
            status = self._path.stat()
            now = (status.st_mtime_ns, status.st_ino, status.st_size)
        except FileNotFoundError:
            now = None
        if now == self._seen:
            return False
        self._seen = now
        return True
