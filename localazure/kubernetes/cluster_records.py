"""The record of each cluster, in its folder: its identity, its requested state, whether it runs, its ports and secrets.

A record is a `cluster.json`.
"""

import hmac
from pathlib import Path
from typing import Any

from localazure.arm.errors import ArmError
from localazure.folder import SECRET_MODE, random_secret, read_json, write_json
from localazure.kubernetes import control_plane
from localazure.kubernetes.control_plane_folder import ClusterFolder, id_of
from localazure.kubernetes.control_plane_parts import Ports
from localazure.kubernetes.model import ClusterShape

RUNNING, STOPPED = "Running", "Stopped"  # powerState, as ARM spells it
AGENT, WEBHOOK = "agent", "webhook"  # who has a secret of the cluster's: the node agent, the API server

Record = dict[str, Any]


class Records:
    """All clusters of one state folder."""

    def __init__(self, clusters: Path) -> None:
        self._clusters = clusters

    def folder(self, key: str) -> ClusterFolder:
        return ClusterFolder.of(self._clusters, key.lower())

    def find(self, key: str) -> Record | None:
        return read_json(self.folder(key).record)

    def of(self, key: str) -> Record:
        """ArmError 404 where there is no such cluster."""
        record = self.find(key)
        if record is None:
            raise ArmError(404, "NotFound", f"There is no cluster {key}.")
        return record

    def all(self) -> list[Record]:
        found = (read_json(path) for path in sorted(self._clusters.glob("*/cluster.json")))
        return [record for record in found if record is not None]

    def write(self, record: Record) -> None:
        write_json(self.folder(record["key"]).record, record, SECRET_MODE)

    def asked_for(self, shape: ClusterShape) -> Record:
        """The cluster's record, with what it is asked to be now; a new one where there was none."""
        record = self.find(shape.key) or _new()
        stored = {**shape._asdict(), "admin_groups": list(shape.admin_groups), "autoscaler": dict(shape.autoscaler)}
        record |= {"key": shape.key.lower(), "shape": stored}
        self.write(record)
        return record

    def key_of(self, identifier: str) -> str | None:
        """The cluster with this id."""
        return next((str(record["key"]) for record in self.all() if id_of(record["key"]) == identifier), None)

    def key_with(self, whose: str, given: str) -> str | None:
        """The cluster whose secret this is."""
        for record in self.all():
            if hmac.compare_digest(str(record["secrets"][whose]).encode(), given.encode()):
                return str(record["key"])
        return None


def _new() -> Record:
    taken: set[int] = set()
    for _ in Ports._fields:
        taken.add(control_plane.free_port(taken))
    ports = dict(zip(Ports._fields, sorted(taken), strict=True))
    return {"power": RUNNING, "ports": ports, "secrets": {AGENT: random_secret(), WEBHOOK: random_secret()}}


def replace_taken_ports(record: Record) -> None:
    """Before a start: somebody else may have taken a port meanwhile."""
    ports = record["ports"]
    for name, port in ports.items():
        if not control_plane.is_free(port):
            ports[name] = control_plane.free_port(set(ports.values()))


def ports_of(record: Record) -> Ports:
    return Ports(**record["ports"])


def shape_of(record: Record) -> ClusterShape:
    stored: dict[str, Any] = record["shape"]
    whole: dict[str, Any] = {**stored, "key": record["key"], "admin_groups": tuple(stored["admin_groups"])}
    return ClusterShape(**whole)
