"""Checks the references within a container group: mounts and volumes, ports of containers and of the group, its address and
subnet; and probes, labels and registries.

ContainerGroup reports the same of a group in a stack file; here it has file and line."""

from collections.abc import Iterator, Mapping
from typing import Any

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.catalog.services import container_instances_parts
from azure_gpu.formats.container_group_file import GroupInFile

_NO_MAPPING = "Microsoft Learn, container-instances-troubleshooting, 2024-08-29: the service maps no ports"


def check(group: GroupInFile) -> Iterator[Problem]:
    """All of it."""
    properties: Mapping[str, Any] = group.body.get("properties") or {}
    yield from _mounts(group, properties)
    yield from _probes(group, properties)
    yield from _variables(group, properties)
    yield from _ports(group, properties)
    yield from _address(group, properties)
    yield from _registries(group, properties)


def _containers(properties: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The properties of every container, with their path."""
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(properties.get(kind) or []):
            yield f"properties.{kind}[{index}].properties", container.get("properties") or {}


def _mounts(group: GroupInFile, properties: Mapping[str, Any]) -> Iterator[Problem]:
    volumes = {str(one["name"]): index for index, one in enumerate(properties.get("volumes") or []) if "name" in one}
    mounted: set[str] = set()
    for within, container in _containers(properties):
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
    for within, container in _containers(properties):
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
    for within, container in _containers(properties):
        for index, variable in enumerate(container.get("environmentVariables") or []):
            if "name" in variable:
                path = group.at(f"{within}.environmentVariables[{index}].name")
                yield from container_instances_parts.check_variable(variable["name"], path)


def _ports(group: GroupInFile, properties: Mapping[str, Any]) -> Iterator[Problem]:
    """A single container opens the ports of its group; of several, each has its ports."""
    address: list[dict[str, Any]] = (properties.get("ipAddress") or {}).get("ports") or []
    lists = [("properties.ipAddress", address)]
    lists += [(within, container.get("ports") or []) for within, container in _containers(properties)]
    for within, ports in lists:
        for index, one in enumerate(ports):
            if "port" in one:
                yield from container_instances_parts.check_port(one["port"], group.at(f"{within}.ports[{index}].port"))
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
