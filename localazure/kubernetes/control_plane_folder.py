"""The folder of one cluster: every path in it.

The layout is what control plane, node agent and pools agree on; who writes what is said at each path.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from localazure.kubernetes.pki import Pki

_ID_DIGITS = 12


def id_of(key: str) -> str:
    """Short and the same for every spelling of an ARM id: it stands in folder names and addresses."""
    return hashlib.sha256(key.lower().encode()).hexdigest()[:_ID_DIGITS]


@dataclass(frozen=True, slots=True)
class ClusterFolder:
    """All paths of one cluster. Nothing is made here."""

    root: Path

    @classmethod
    def of(cls, clusters: Path, key: str) -> "ClusterFolder":
        """A name that a person recognises and that no two clusters share."""
        return cls(clusters / f"{key.rsplit('/', 1)[-1]}-{id_of(key)}")

    @property
    def id(self) -> str:
        return self.root.name.rpartition("-")[2]

    @property
    def record(self) -> Path:
        """Which cluster this is, what it is asked to be, whether it is to run, its ports, its secrets."""
        return self.root / "cluster.json"

    @property
    def agent_settings(self) -> Path:
        """Where the node agent finds the API server and the embedded Azure."""
        return self.root / "agent.json"

    @property
    def nodes(self) -> Path:
        """The nodes that there shall be; written by the pools."""
        return self.root / "nodes.json"

    @property
    def admin_kubeconfig(self) -> Path:
        return self.root / "admin.kubeconfig"

    @property
    def pki(self) -> Pki:
        return Pki(self.root / "pki")

    @property
    def etcd(self) -> Path:
        return self.root / "etcd"

    @property
    def control_plane(self) -> Path:
        """The configuration of the control plane's parts, and below it a folder for each of them, as the containers' runtime
        knows them."""
        return self.root / "control-plane"

    @property
    def pods(self) -> Path:
        """A folder for each pod, by its uid; in it one for each run of a container, as the containers' runtime knows them."""
        return self.root / "pods"

    @property
    def agent(self) -> Path:
        """The node agent's own."""
        return self.root / "agent"

    @property
    def network(self) -> Path:
        return self.agent / "network"

    def node(self, name: str) -> Path:
        return self.agent / "nodes" / name

    def make(self) -> None:
        for folder in (self.root.parent, self.root, self.etcd, self.control_plane, self.pods):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
