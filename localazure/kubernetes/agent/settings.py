"""The agent's input in the cluster's folder: `agent.json` about the cluster, `nodes.json` about the requested nodes.

Both are replaced whole by the embedded Azure and read again when they change.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Body = dict[str, Any]
VERSION = "v1.36.2"


class Settings:
    """`agent.json`."""

    def __init__(self, given: Body) -> None:
        embedded = given.get("embedded") or {}
        self.server: str = given["server"]
        self.authority = Path(given["ca"])  # of the API server, and of who may call the nodes' own port
        self.serving: dict[str, str] = given["serving"]  # certificate and key of the nodes' own port
        self.programs = Path(given["programs"])
        self.embedded: str = embedded.get("url") or ""  # the embedded Azure's URL; empty: there is none
        self.embedded_authority = Path(embedded.get("ca") or "")
        self.token: str = embedded.get("token") or ""  # with which the agent is known there
        self.bundle: str = embedded.get("bundle") or ""  # file of the authorities that containers trust; empty: they get none
        # The file that names the folder of the controllers of groups, where there is one.
        self._groups_told = Path(given.get("groups") or "")

    @property
    def groups(self) -> Path | None:
        """The controllers of groups and their charts; None where this machine has no build. Looked up again each time."""
        try:
            return Path(self._groups_told.read_text(encoding="utf-8").strip())
        except OSError:
            return None

    @property
    def api_host(self) -> str:
        return str(urlsplit(self.server).hostname)

    @property
    def api_port(self) -> str:
        return str(urlsplit(self.server).port)


def read(path: Path) -> Settings:
    return Settings(json.loads(path.read_text(encoding="utf-8")))


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
