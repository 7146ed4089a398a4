"""Ends the processes that a server left running: containers, Batch nodes, machines and clusters."""

import asyncio

from localazure.batch.nodes import agent as nodes
from localazure.containers.runtime import Runtime
from localazure.folder import LocalFolder
from localazure.kubernetes import control_plane
from localazure.ml.service import containers_below


async def reap(folder: LocalFolder) -> None:
    """Returns once none of them is left."""
    of_endpoints = containers_below(folder.ml_endpoints)
    of_groups = (folder.containers, folder.replicas, of_endpoints, folder.machine_containers, folder.ml_jobs)
    containers = (Runtime(part).reap() for part in of_groups)
    of_nodes = (nodes.reap(part) for part in (folder.batch, folder.machines))
    await asyncio.gather(*containers, *of_nodes, control_plane.reap(folder.clusters))
