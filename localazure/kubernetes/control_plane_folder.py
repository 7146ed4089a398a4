"""The folder of one cluster: every path in it.

The layout is what control plane, node agent and pools agree on; who writes what is said at each path.
"""

import hashlib
from pathlib import Path

from localazure.kubernetes.pki import Pki

_ID_DIGITS = 12


def id_of(key: str) -> str:
    """Short and the same for every spelling of an ARM id: it stands in folder names and addresses."""
    return hashlib.sha256(key.lower().encode()).hexdigest()[:_ID_DIGITS]


class ClusterFolder:
    """All paths of one cluster. Nothing is made here."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.id = root.name.rpartition("-")[2]
        self.record = root / "cluster.json"  # which cluster this is, what it is asked to be, whether it is to run, ports, secrets
        self.agent_settings = root / "agent.json"  # where the node agent finds the API server and the embedded Azure
        self.nodes = root / "nodes.json"  # the nodes that there shall be; written by the pools
        self.admin_kubeconfig = root / "admin.kubeconfig"
        self.pki = Pki(root / "pki")
        self.etcd = root / "etcd"
        # The configuration of the control plane's parts with a folder for each, and a folder for each pod, by its uid, with one
        # for each run of a container: as the containers' runtime knows them.
        self.control_plane = root / "control-plane"
        self.pods = root / "pods"
        self.agent = root / "agent"  # the node agent's own
        self.network = self.agent / "network"

    @classmethod
    def of(cls, clusters: Path, key: str) -> "ClusterFolder":
        """A name that a person recognises and that no two clusters share."""
        return cls(clusters / f"{key.rsplit('/', 1)[-1]}-{id_of(key)}")

    def node(self, name: str) -> Path:
        return self.agent / "nodes" / name

    def make(self) -> None:
        for folder in (self.root.parent, self.root, self.etcd, self.control_plane, self.pods):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
