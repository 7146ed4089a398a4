"""Clusters of AKS without a control plane: the requested state is stored, and certificates are made.

At the address that its kubeconfigs name the embedded Azure answers, as `kubernetes_api` says. No program is needed.
"""

import asyncio
from pathlib import Path

from localazure.arm.errors import nothing_runs
from localazure.kubernetes.client import KubeApi
from localazure.kubernetes.clusters import Clusters
from localazure.kubernetes.model import ClusterShape
from localazure.kubernetes.pool_state import ClusterState
from localazure.kubernetes.pools import ClusterPools
from localazure.nothing_runs import kubernetes_api


class StillClusters(Clusters):
    async def apply(self, shape: ClusterShape) -> None:
        async with self._locks[shape.key.lower()]:
            folder = self._folder(shape.key)
            folder.make()
            self._asked_for(shape)
            await asyncio.to_thread(folder.pki.make)

    def server(self, key: str) -> str:
        return kubernetes_api.server(self._context.url, self._folder(key).id)

    def _authority(self, key: str) -> Path:  # noqa: ARG002
        return self._context.authority

    def api(self, key: str) -> KubeApi:  # noqa: ARG002
        raise nothing_runs("API server of a cluster")

    async def started(self) -> None:
        """There is nothing to resume."""

    async def _switch(self, key: str, power: str) -> None:
        async with self._locks[key.lower()]:
            self._write({**self._of(key), "power": power})


class StillClusterPools(ClusterPools):
    """Nodes are there as ARM counts them, and nobody waits for one, drains one, or scales."""

    def _runs(self, state: ClusterState) -> bool:  # noqa: ARG002
        return False
