"""Validates a container group against the catalog at a date: GPUs, CPU and memory, region, priority, zone and SKU."""

from collections.abc import Sequence
from datetime import date

from azure_gpu.catalog import container_groups, regions
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.container_instances import ContainerRequest, GroupRequest
from azure_gpu.container_instances.container import ContainerSpec
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.shared.context import known

ZONES = ("1", "2", "3")


def problems_of(spec: ContainerGroupSpec, path: str, day: date) -> list[Problem]:
    """Returns the catalog's problems of the group at `path` at that date."""
    # The CUDA version of a workload's image isn't known.
    images = [container_groups.Image(known(one.settings.get("image")) or "", f"{one.path}.image") for one in spec.containers]
    problems = container_groups.check(_request(spec, path), images, day, packaged())
    if spec.location in regions.known():
        return problems
    return [problem for problem in problems if problem.code is not Code.NOT_IN_REGION]  # an unknown region is reported elsewhere


def _request(spec: ContainerGroupSpec, path: str) -> GroupRequest:
    return GroupRequest(
        location=spec.location,
        os_type=spec.os_type,
        in_virtual_network="subnet_id" in spec.settings,
        containers=tuple(_container_request(container) for container in spec.containers),
        location_path=spec.location_path,
        os_type_path=f"{path}.os_type",
        network_path=f"{path}.subnet_id",
        spot=spec.priority == "Spot",
        inbound=bool(spec.network.ports),
        sku=spec.sku,
        spot_path=f"{path}.priority",
        zones=bool(spec.zones),
        zones_path=f"{path}.zones",
        init_containers=len(spec.init_containers),
        volumes=len(spec.volumes),
        ports=len(spec.network.ports),
        containers_path=f"{path}.containers" if "containers" in spec.settings else f"{path}.init_containers",
        volumes_path=f"{path}.volumes",
        ports_path=f"{path}.ports",
    )


def _container_request(container: ContainerSpec) -> ContainerRequest:
    return ContainerRequest(
        name=container.name,
        cpu=container.cpu,
        memory_gb=container.memory_in_gb,
        gpu_count=container.gpu.count if container.gpu else None,
        gpu_sku=container.gpu.sku if container.gpu else "",
        cpu_path=f"{container.path}.cpu",
        memory_path=f"{container.path}.memory_in_gb",
        gpu_count_path=f"{container.path}.gpu.count",
        gpu_sku_path=f"{container.path}.gpu.sku",
    )


def zone_problems(zones: Sequence[str], path: str) -> list[Problem]:
    """Validates the zones: exactly one of 1, 2 and 3."""
    if not zones or (len(zones) == 1 and zones[0] in ZONES):
        return []
    return [
        Problem(
            path=f"{path}.zones",
            message="must be exactly one zone",
            value=", ".join(zones),
            allowed=f"one of {', '.join(ZONES)}",
            fix='write zones: ["1"], or remove zones for Azure to choose',
            source="Microsoft Learn, container-instances-overview, 2024-08-29",
        )
    ]
