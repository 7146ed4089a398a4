"""Judges a container group at a day and in a region: problems, and a verdict for each container with a GPU.

A verdict tells whether the GPU is still sold, until when it was, and what replaces it today. References within the group are
judged too: mounts and volumes, ports of containers and of the group, its address and subnet; and probes, labels and registries.
ContainerGroup reports the same of a group in a stack file; here it has file and line.
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

_NO_MAPPING = "Microsoft Learn, container-instances-troubleshooting, 2024-08-29: the service maps no ports"


def check_wiring(group: GroupInFile) -> Iterator[Problem]:
    """All of it."""
    properties: Mapping[str, Any] = group.body.get("properties") or {}
    yield from _mounts(group, properties)
    yield from _probes(group, properties)
    yield from _variables(group, properties)
    yield from _ports(group, properties)
    yield from _address(group, properties)
    yield from _registries(group, properties)


def _properties_of_all(properties: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The properties of every container, with their path."""
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(properties.get(kind) or []):
            yield f"properties.{kind}[{index}].properties", container.get("properties") or {}


def _mounts(group: GroupInFile, properties: Mapping[str, Any]) -> Iterator[Problem]:
    volumes = {str(one["name"]): index for index, one in enumerate(properties.get("volumes") or []) if "name" in one}
    mounted: set[str] = set()
    for within, container in _properties_of_all(properties):
        seen: dict[str, str] = {}
        for number, mount in enumerate(container.get("volumeMounts") or []):
            path = f"{within}.volumeMounts[{number}]"
            name, folder = str(mount.get("name", "")), str(mount.get("mountPath", ""))
            if name and name not in volumes:
                allowed = ", ".join(volumes) or "none: the group has no volume"
                fix = "add it to properties.volumes, or remove the mount"
                yield Problem(group.at(f"{path}.name"), "the group has no volume of this name", name, allowed, fix)
            if folder and (not folder.startswith("/") or ":" in folder or not folder.strip("/")):
                allowed = "a folder from the root on, not the root itself, without a colon, such as /data"
                yield Problem(
                    group.at(f"{path}.mountPath"), "a volume can't be mounted here", folder, allowed, f"write /mnt/{name}"
                )
            elif folder and folder.rstrip("/") in seen:
                message = f"two volumes are mounted in the same folder: {seen[folder.rstrip('/')]} and {name}"
                yield Problem(group.at(f"{path}.mountPath"), message, folder, fix="mount one of them elsewhere")
            seen.setdefault(folder.rstrip("/"), name)
            mounted.add(name)
    for name, index in volumes.items():
        if name not in mounted:
            fix = "add it to volumeMounts of a container, or remove the volume"
            path = group.at(f"properties.volumes[{index}].name")
            yield Problem(path, "no container mounts this volume", name, fix=fix, severity=Severity.WARNING)


def _probes(group: GroupInFile, properties: Mapping[str, Any]) -> Iterator[Problem]:
    for within, container in _properties_of_all(properties):
        for name in ("livenessProbe", "readinessProbe"):
            probe: Mapping[str, Any] = container.get(name) or {}
            if name in container and ("exec" in probe) == ("httpGet" in probe):
                fix = "remove one of the two" if "exec" in probe else "add one of the two"
                yield Problem(group.at(f"{within}.{name}"), "a probe is exactly one of exec and httpGet", fix=fix)
            asked = str((probe.get("httpGet") or {}).get("path", "/"))
            if not asked.startswith("/"):
                path = group.at(f"{within}.{name}.httpGet.path")
                yield Problem(
                    path, "the path of a request starts with a slash", asked, "a path, such as /healthy", f"write /{asked}"
                )


def _variables(group: GroupInFile, properties: Mapping[str, Any]) -> Iterator[Problem]:
    for within, container in _properties_of_all(properties):
        for index, variable in enumerate(container.get("environmentVariables") or []):
            if "name" in variable:
                path = group.at(f"{within}.environmentVariables[{index}].name")
                yield from container_instances.check_variable(variable["name"], path)


def _ports(group: GroupInFile, properties: Mapping[str, Any]) -> Iterator[Problem]:
    """A single container opens the ports of its group; of several, each has its ports."""
    address: list[dict[str, Any]] = (properties.get("ipAddress") or {}).get("ports") or []
    lists = [("properties.ipAddress", address)]
    lists += [(within, container.get("ports") or []) for within, container in _properties_of_all(properties)]
    for within, ports in lists:
        for index, one in enumerate(ports):
            if "port" in one:
                yield from container_instances.check_port(one["port"], group.at(f"{within}.ports[{index}].port"))
    containers: list[dict[str, Any]] = properties.get("containers") or []
    if len(containers) < 2:
        return
    opened: dict[int, str] = {}
    for index, container in enumerate(containers):
        for number, one in enumerate((container.get("properties") or {}).get("ports") or []):
            port, name = one.get("port"), str(container.get("name", ""))
            if port in opened:
                message = f"two containers can't open one port, as they share one address: {opened[port]} and {name}"
                path = f"properties.containers[{index}].properties.ports[{number}].port"
                yield Problem(group.at(path), message, port, "each port once", "remove one of them")
            elif port is not None:
                opened[port] = name
    for index, one in enumerate(address):
        if "port" in one and one["port"] not in opened:
            yield Problem(
                path=group.at(f"properties.ipAddress.ports[{index}].port"),
                message="no container opens this port, so nothing answers there",
                value=one["port"],
                allowed=", ".join(map(str, opened)) or "none: no container opens a port",
                fix="add it to the ports of the container that listens there, or remove it here",
                source=_NO_MAPPING,
            )


def _address(group: GroupInFile, properties: Mapping[str, Any]) -> Iterator[Problem]:
    address: Mapping[str, Any] = properties.get("ipAddress") or {}
    if "dnsNameLabel" in address:
        yield from names.check(names.DNS_LABEL, address["dnsNameLabel"], group.at("properties.ipAddress.dnsNameLabel"))
    if address.get("type") == "Private" and not properties.get("subnetIds"):
        yield Problem(
            path=group.at("properties.ipAddress.type"),
            message="a private group lies in a subnet, and the file names none",
            fix="add subnet_id: <its ARM id> to what is printed, or subnetIds here",
            code=Code.UNKNOWN,
            severity=Severity.WARNING,
        )


def _registries(group: GroupInFile, properties: Mapping[str, Any]) -> Iterator[Problem]:
    for index, registry in enumerate(properties.get("imageRegistryCredentials") or []):
        server = str(registry.get("server", ""))
        if not registry.keys() & {"username", "identity", "identityUrl"}:
            message, fix = "the name to log in with is missing", "add username"
            yield Problem(group.at(f"properties.imageRegistryCredentials[{index}]"), message, fix=fix)
        if "/" in server:
            yield Problem(
                path=group.at(f"properties.imageRegistryCredentials[{index}].server"),
                message="not a host name of a registry",
                value=server,
                allowed="a host name, such as ghcr.io or index.docker.io",
                fix=f"write {server.split('://')[-1].split('/')[0] or 'the host name'}",
                source="Microsoft Learn, container-instances-reference-yaml, 2024-08-29",
            )


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
    return Judgement([*_words(group), *check_wiring(group), *problems], verdicts)


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
        zones=bool(group.body.get("zones")),
        zones_path=group.at("zones"),
        init_containers=len(properties.get("initContainers") or []),
        volumes=len(properties.get("volumes") or []),
        ports=len(address.get("ports") or []),
        containers_path=group.at("properties.containers"),
        volumes_path=group.at("properties.volumes"),
        ports_path=group.at("properties.ipAddress.ports"),
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
