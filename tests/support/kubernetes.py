"""A Kubernetes control plane for tests: one that many share, without an embedded Azure around it and without nodes.

Where a machine has no build of it, the tests that need one are skipped and say so.
"""

import asyncio
import json
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from localazure.kubernetes.client import KubeApi
from localazure.kubernetes.clusters import ClusterContext, Clusters
from localazure.kubernetes.model import ClusterShape
from tests.support.embedded import SUBSCRIPTION, kubernetes_programs
from tests.support.patience import SECONDS

SKIPPED = "this machine has no build of Kubernetes: `make kubernetes` makes one"


def needed() -> Path:
    """The folder of the control plane's programs, kubectl and kubelogin; the test is skipped where they aren't built."""
    found = kubernetes_programs()
    if found is None:
        pytest.skip(SKIPPED)
    return found


def shape(name: str = "aks-test", **changed: object) -> ClusterShape:
    """A cluster as its kind would ask for one: local accounts, no Entra."""
    group = f"rg-{name}"
    key = f"/subscriptions/{SUBSCRIPTION}/resourcegroups/{group}/providers/microsoft.containerservice/managedclusters/{name}"
    plain = ClusterShape(
        key=key,
        name=name,
        resource_group=group,
        node_resource_group=f"MC_{group}_{name}_westeurope",
        location="westeurope",
        kubernetes_version="1.36",
        tenant_id=str(uuid.UUID(int=1)),
        local_accounts=True,
        entra=False,
        azure_rbac=False,
    )
    return plain._replace(**changed)


class ControlPlane:
    """One that runs. It is processes alone, so nothing here belongs to an event loop."""

    def __init__(self, clusters: Clusters, key: str, programs: Path) -> None:
        self.clusters = clusters
        self.key = key
        self.programs = programs
        self.folder = clusters.folder(key)
        self.server = clusters.server(key)
        self.kubeconfig = self.folder / "admin.kubeconfig"

    def api(self) -> KubeApi:
        """A client of one's own, for the event loop that it is first used in."""
        return KubeApi.of_agent(self.folder / "agent.json")

    def kubectl(self, *arguments: str, input: str = "") -> "subprocess.CompletedProcess[str]":
        """kubectl as the administrator, whatever its exit code."""
        return subprocess.run(
            [str(self.programs / "kubectl"), "--kubeconfig", str(self.kubeconfig), *arguments],
            input=input,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def asked(self, *arguments: str) -> Any:
        """What kubectl answers with `-o json`."""
        done = self.kubectl(*arguments, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def clusters_in(folder: Path) -> Clusters:
    """Clusters below `folder` with no embedded Azure around them and no node agents."""
    programs = needed()
    return Clusters(ClusterContext(folder, lambda: programs, agent=lambda _: ()))


@contextmanager
def running(clusters: Clusters, asked: ClusterShape) -> Iterator[ControlPlane]:
    """A control plane from start to removal."""
    programs = needed()

    async def apply() -> None:
        await clusters.apply(asked)
        await clusters.stopping()  # its clients belong to this loop

    try:
        asyncio.run(apply())
        yield ControlPlane(clusters, asked.key, programs)
    finally:
        asyncio.run(clusters.remove(asked.key))


@contextmanager
def new_namespace(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace with a name of its own; its deletion isn't waited for."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    made = control_plane.kubectl("create", "namespace", name)
    assert made.returncode == 0, made.stderr
    yield name
    control_plane.kubectl("delete", "namespace", name, "--wait=false")
