"""Rules for container tasks in Batch."""

import re
from collections.abc import Iterator

from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.batch import sources
from azure_gpu.catalog.services.batch.request import PoolRequest
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sources import Source

TYPES = ("DockerCompatible", "CriCompatible")


def container_problems(request: PoolRequest) -> Iterator[Problem]:
    """The container configuration of the pool and the options of its tasks; nothing where it has none."""
    containers = request.containers
    if containers is None:
        return
    if containers.type not in TYPES:
        message = "unknown type of container configuration"
        yield _problem(request, "type", message, containers.type, ", ".join(TYPES), sources.PROVIDER)
    if re.search(r"(?:^|\s)--gpus(?:[\s=]|$)", containers.run_options):
        message = "Batch passes the node's GPUs to container tasks itself; remove --gpus from their options"
        yield _problem(request, "run_options", message, containers.run_options, "options without --gpus")
    if request.operating_system is OperatingSystem.WINDOWS:
        if request.rdma:
            message = "Batch supports RDMA in containers on Linux only"
            yield _problem(request, "type", message, str(request.operating_system), "a Linux pool")
        if not containers.elevated:
            message = "container tasks on Windows must run elevated"
            yield _problem(request, "elevated", message, containers.elevated, "the elevation level Admin")


def _problem(
    request: PoolRequest, key: str, message: str, value: object, allowed: str, source: Source = sources.CONTAINERS
) -> Problem:
    return Problem(
        path=f"{request.at('containers')}.{key}",
        message=message,
        value=value,
        allowed=allowed,
        fix=f"use {allowed}",
        source=str(source),
        code=Code.IMPOSSIBLE,
    )
