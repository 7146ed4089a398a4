"""Judges a container group at a day and in a region: problems, and a verdict for each container with a GPU.

A verdict tells whether the GPU is still sold, until when it was, and what replaces it today.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple

from azure_gpu.catalog import container_groups, names, regions, tags
from azure_gpu.catalog.lifecycle import Status
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.container_instances import GPU_SKUS, ContainerRequest, GroupRequest
from azure_gpu.formats import image_reference
from azure_gpu.formats.container_group_file import GroupInFile
from azure_gpu.formats.container_group_shape import ARM_TYPE


class Verdict(NamedTuple):
    """The state of the GPUs of one container."""

    container: str
    place: int  # in the group, from 0 on
    sku: str
    gpus: int
    line: int
    status: Status
    end: str  # the last day on which it was sold, as YYYY-MM-DD; "" where none is known
    instead: tuple[str, ...]  # names, best first
    text: str  # what to do, with prices
    source: str


class Judgement(NamedTuple):
    """All of it. `problems` doesn't repeat the end of a GPU, which its verdict tells."""

    problems: list[Problem]
    verdicts: list[Verdict]

    @property
    def runs(self) -> bool:
        """Whether Azure still has all the GPUs that the group asks for."""
        return all(verdict.status is not Status.RETIRED for verdict in self.verdicts)


def judge(group: GroupInFile, location: str, as_of: date) -> Judgement:
    """`location` is the group's region; "" if unknown, and then no region is judged."""
    request = _request(group, location)
    images = [
        container_groups.Image(_image(one), group.at(f"properties.containers[{index}].properties.image"))
        for index, one in enumerate(_containers(group))
    ]
    found = container_groups.check(request, images, as_of, packaged())
    ends = {problem.path: problem for problem in found if problem.code in (Code.RETIRED, Code.RETIRING)}
    problems = [problem for problem in found if problem.path not in ends or problem.code not in (Code.RETIRED, Code.RETIRING)]
    if not location:
        problems = [problem for problem in problems if problem.path != request.location_path]
    verdicts = [
        _verdict(index, one, group, location, ends.get(one.gpu_sku_path), as_of, problems)
        for index, one in enumerate(request.containers)
        if one.gpu_count is not None
    ]
    return Judgement([*_words(group), *problems], verdicts)


def _verdict(
    index: int,
    container: ContainerRequest,
    group: GroupInFile,
    location: str,
    end: Problem | None,
    as_of: date,
    problems: list[Problem],
) -> Verdict:
    sku = GPU_SKUS.get(container.gpu_sku)
    lifecycle = sku.lifecycle if sku else container_instances.GPU_FEATURE
    path = f"properties.containers[{index}].properties.resources.requests.gpu"
    # A SKU that doesn't exist is among the problems, with what to use instead.
    told = end or next((one for one in problems if one.path == container.gpu_sku_path), None)
    return Verdict(
        container=container.name,
        place=index,
        sku=container.gpu_sku,
        gpus=container.gpu_count or 0,
        line=group.line_of(path),
        status=lifecycle.status(as_of),
        end=lifecycle.end.day.isoformat() if lifecycle.end else "",
        instead=told.instead if told else (),
        # Without a region the catalog can only tell that the successor is in another one.
        text=(told.fix if location else told.fix.replace(", in another region", "")) if told else "",
        source=told.source if told else "",
    )


def _containers(group: GroupInFile) -> list[dict[str, Any]]:
    properties: Mapping[str, Any] = group.body.get("properties") or {}
    return properties.get("containers") or []


def _image(container: Mapping[str, Any]) -> str:
    return str((container.get("properties") or {}).get("image") or "")


def _request(group: GroupInFile, location: str) -> GroupRequest:
    properties: Mapping[str, Any] = group.body.get("properties") or {}
    address: Mapping[str, Any] = properties.get("ipAddress") or {}
    return GroupRequest(
        location=location,
        os_type=str(properties.get("osType", "Linux")),
        in_virtual_network=bool(properties.get("subnetIds") or properties.get("networkProfile")),
        containers=tuple(_container(index, one, group) for index, one in enumerate(_containers(group))),
        location_path=group.at("location"),
        os_type_path=group.at("properties.osType"),
        network_path=group.at("properties.subnetIds" if properties.get("subnetIds") else "properties.networkProfile"),
        spot=properties.get("priority") == "Spot",
        inbound=address.get("type") == "Public",
        sku=str(properties.get("sku", container_instances.STANDARD)),
        spot_path=group.at("properties.priority"),
    )


def _container(index: int, container: Mapping[str, Any], group: GroupInFile) -> ContainerRequest:
    requests: Mapping[str, Any] = ((container.get("properties") or {}).get("resources") or {}).get("requests") or {}
    gpu: Mapping[str, Any] | None = requests.get("gpu")
    path = f"properties.containers[{index}].properties.resources.requests"
    return ContainerRequest(
        name=str(container.get("name", "")),
        cpu=requests.get("cpu", container_instances.DEFAULT_CPU),
        memory_gb=requests.get("memoryInGB", container_instances.DEFAULT_MEMORY_GB),
        cpu_path=group.at(f"{path}.cpu"),
        memory_path=group.at(f"{path}.memoryInGB"),
        gpu_count=gpu.get("count", 1) if gpu else None,
        gpu_sku=str(gpu.get("sku", "")) if gpu else "",
        gpu_count_path=group.at(f"{path}.gpu.count"),
        gpu_sku_path=group.at(f"{path}.gpu.sku"),
    )


def _words(group: GroupInFile) -> Iterator[Problem]:
    """Names, image references and the region."""
    for problem in names.check(ARM_TYPE, group.name, group.at("name")) if group.name else []:
        yield problem._replace(severity=Severity.WARNING)
    if "location" in group.body:
        yield from regions.check(group.body["location"], group.at("location"))
    yield from tags.check(group.body.get("tags") or {}, group.at("tags"))
    properties: Mapping[str, Any] = group.body.get("properties") or {}
    for kind in ("containers", "initContainers"):
        for index, one in enumerate(properties.get(kind) or []):
            path = f"properties.{kind}[{index}]"
            if "name" in one:
                yield from names.check(names.CONTAINER, one["name"], group.at(f"{path}.name"))
            if _image(one):
                yield from image_reference.check(_image(one), group.at(f"{path}.properties.image"))
    for index, one in enumerate(properties.get("volumes") or []):
        if "name" in one:
            yield from names.check(names.VOLUME, one["name"], group.at(f"properties.volumes[{index}].name"))
