"""Prepares a node before its start task: the pool's application packages, file systems and container images."""

import asyncio

from localazure.batch.nodes import container_images, mounts, mpi, node_programs, packages, reaching
from localazure.batch.nodes.node import Node
from localazure.blobs.service import Blobs
from localazure.services import Services
from localazure.weather import role_delay


async def prepare(node: Node, account: str, blobs: Blobs, services: Services) -> None:
    """NodeError where something of it isn't available: the node is unusable then."""
    await role_delay.machine_starts(services)
    reaching.check(account, services)
    await asyncio.to_thread(mounts.mount, node.settings.mounts, node.root, services)
    node.package_variables = await packages.of_pool(node.settings.packages, node.root, account, blobs, services)
    await container_images.prefetch(node.settings, services)
    await asyncio.to_thread(node_programs.install_gpus, node.folder, node.id, node.record["allocated"], node.settings)
    await asyncio.to_thread(node_programs.install_hostname, node.folder, node.id, node.address)
    if mpi.brought_by(node.settings):
        await mpi.install(node, services)
