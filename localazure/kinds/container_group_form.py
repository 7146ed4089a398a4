"""The form of a container group's containers: names, variables, commands, ports, mounts, probes, limits, and the restart policy.

All problems are reported, each with its path. Codes and sentences of the service were read in
  - ResourceSomeRequestsNotSpecified: virtual-kubelet's tests of its ACI provider
  - InvalidContainerEnvironmentVariable: Azure/azure-rest-api-specs issue 19173, 2022-05-22
  - InvalidOsType: MicrosoftLearning/mslearn-azure-developer pull request 67, 2025-06-29
Where the service's own code isn't known, ARM's general InvalidRequestContent stands.
"""

import posixpath
import re
from collections.abc import Iterator

from azure_gpu.catalog import names
from azure_gpu.catalog.services.container_instances_parts import MOST_CONTAINERS, PORTS
from localazure.arm.errors import ArmError
from localazure.arm.store import Body

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DEFAULT_RESTART_POLICY = "Always"
INVALID = "InvalidRequestContent"
PROTOCOLS = ("TCP", "UDP")
_VALUES = {"sku": ("Standard", "Dedicated", "Confidential", "NotSpecified"), "priority": ("Regular", "Spot")}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROBES = ("livenessProbe", "readinessProbe")
_PROBE_NUMBERS = {  # the least of each
    "initialDelaySeconds": 0,
    "periodSeconds": 1,
    "timeoutSeconds": 1,
    "successThreshold": 1,
    "failureThreshold": 1,
}


def malformed(group: str, properties: Body) -> Iterator[ArmError]:
    """All that is wrong with the containers, whatever the service sells."""
    containers = properties.get("containers") or []
    init = properties.get("initContainers") or []
    if not containers:
        yield refusal("properties.containers", f"The container group '{group}' needs at least one container.")
    if len(containers) + len(init) > MOST_CONTAINERS:
        yield refusal("properties.containers", f"The container group '{group}' has more than {MOST_CONTAINERS} containers.")
    seen: set[str] = set()
    volumes = {volume["name"] for volume in properties.get("volumes") or []}
    for what, listed in (("initContainers", init), ("containers", containers)):
        for index, container in enumerate(listed):
            path = f"properties.{what}[{index}]"
            yield from _malformed_name(container["name"], f"{path}.name", seen)
            yield from _malformed_program(group, container, f"{path}.properties", volumes)
            if what == "containers":
                yield from _malformed_container(group, container, f"{path}.properties")
    for index, credential in enumerate(properties.get("imageRegistryCredentials") or []):
        if "://" in credential["server"]:  # Microsoft Learn, rest/api/container-instances: "without a protocol"
            words = f"The registry server '{credential['server']}' is a host's name, without a protocol."
            yield refusal(f"properties.imageRegistryCredentials[{index}].server", words)
    policy = properties.get("restartPolicy", DEFAULT_RESTART_POLICY)
    if policy not in RESTART_POLICIES:
        allowed = ", ".join(RESTART_POLICIES)
        yield refusal("properties.restartPolicy", f"The restart policy '{policy}' isn't one of {allowed}.")
    if properties.get("osType") not in ("Linux", "Windows"):
        words = f"The 'osType' for container group '{group}' is invalid. The value must be one of 'Windows,Linux'."
        yield refusal("properties.osType", words, "InvalidOsType")
    for name, values in _VALUES.items():
        if properties.get(name) is not None and properties[name] not in values:
            words = f"The '{name}' for container group '{group}' is invalid. The value must be one of '{','.join(values)}'."
            yield refusal(f"properties.{name}", words)


def refusal(target: str, message: str, code: str = INVALID) -> ArmError:
    return ArmError(400, code, message, target=target)


def _malformed_name(name: str, path: str, seen: set[str]) -> Iterator[ArmError]:
    for problem in names.check(names.CONTAINER, name, path):
        yield refusal(problem.path, f"{problem.message}: '{name}'; it takes {problem.allowed}.")
    if name in seen:
        yield refusal(path, f"Two containers are called '{name}'.")
    seen.add(name)


def _malformed_program(group: str, container: Body, path: str, volumes: set[str]) -> Iterator[ArmError]:
    """What containers and init containers have in common."""
    properties, name = container["properties"], container["name"]
    if not properties.get("image"):
        yield refusal(f"{path}.image", f"The container '{name}' has no image.")
    if any("\0" in word for word in properties.get("command") or []):
        yield refusal(f"{path}.command", f"The command of container '{name}' holds a null character.")
    where = f"container '{name}' of container group '{group}'"
    yield from _malformed_variables(properties.get("environmentVariables") or [], f"{path}.environmentVariables", where)
    yield from _malformed_mounts(name, properties.get("volumeMounts") or [], f"{path}.volumeMounts", volumes)


def _malformed_container(group: str, container: Body, path: str) -> Iterator[ArmError]:
    properties = container["properties"]
    resources = properties.get("resources") or {}
    requests = resources.get("requests") or {}
    for name in ("cpu", "memoryInGB"):
        if requests.get(name) is None:
            yield refusal(
                f"{path}.resources.requests.{name}",
                f"The '{name[0].upper() + name[1:]}' request is not specified in container '{container['name']}' "
                f"of container group '{group}'.",
                "ResourceSomeRequestsNotSpecified",
            )
        limit = (resources.get("limits") or {}).get(name)
        if limit is not None and limit < requests.get(name, 0):
            message = f"The limit of '{name}' of container '{container['name']}' is below its request."
            yield refusal(f"{path}.resources.limits.{name}", message)
    for index, port in enumerate(properties.get("ports") or []):
        if port["port"] not in PORTS:
            yield refusal(f"{path}.ports[{index}].port", f"The port {port['port']} isn't one of 1 to {PORTS[-1]}.")
        if (port.get("protocol") or "TCP").upper() not in PROTOCOLS:
            words = f"The protocol '{port['protocol']}' of a port isn't one of {', '.join(PROTOCOLS)}."
            yield refusal(f"{path}.ports[{index}].protocol", words)
    for name in _PROBES:
        if properties.get(name) is not None:
            yield from _malformed_probe(properties[name], f"{path}.{name}")


def _malformed_variables(variables: list[Body], path: str, where: str) -> Iterator[ArmError]:
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, target = variable["name"], f"{path}[{index}]"
        if not _VARIABLE.fullmatch(name):
            words = (
                f"The environment variable name in {where} is invalid. A valid environment variable name must start with "
                "alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or "
                "'MY_NAME',  or 'MyName')."
            )
            yield refusal(f"{target}.name", words, "InvalidContainerEnvironmentVariable")
        if any("\0" in variable.get(each, "") for each in ("value", "secureValue")):
            yield refusal(target, f"The value of the environment variable '{name}' holds a null character.")
        if name in seen:
            yield refusal(target, f"The environment variable '{name}' is given twice.")
        if "value" in variable and "secureValue" in variable:
            yield refusal(target, f"The environment variable '{name}' has a value and a secureValue.")
        seen.add(name)


def _malformed_mounts(container: str, mounts: list[Body], path: str, volumes: set[str]) -> Iterator[ArmError]:
    seen: list[str] = []
    for index, mount in enumerate(mounts):
        given, target = mount["mountPath"], f"{path}[{index}]"
        where = given.rstrip("/")
        if mount["name"] not in volumes:
            yield refusal(
                f"{target}.name", f"The container '{container}' mounts '{mount['name']}', which isn't a volume of the group."
            )
        if not where.startswith("/") or ":" in where or "\0" in where or where != "/" + posixpath.normpath(where).lstrip("/"):
            reason = "it takes an absolute path below /, without a colon and without '..'"
            yield refusal(f"{target}.mountPath", f"The mount path '{given}' of container '{container}' is invalid: {reason}.")
        elif where in seen:
            yield refusal(f"{target}.mountPath", f"The container '{container}' mounts two volumes at '{given}'.")
        seen.append(where)


def _malformed_probe(probe: Body, path: str) -> Iterator[ArmError]:
    command, http = (probe.get("exec") or {}).get("command"), probe.get("httpGet")
    if bool(command) == bool(http):
        yield refusal(path, "A probe takes either exec with a command or httpGet.")
    if http and http["port"] not in PORTS:
        yield refusal(f"{path}.httpGet.port", f"The port {http['port']} isn't one of 1 to {PORTS[-1]}.")
    if http and (http.get("scheme") or "http").lower() not in ("http", "https"):
        yield refusal(f"{path}.httpGet.scheme", f"The scheme '{http['scheme']}' isn't one of http, https.")
    if any("\0" in word for word in command or []):
        yield refusal(f"{path}.exec.command", "The command of a probe holds a null character.")
    for name, least in _PROBE_NUMBERS.items():
        if name in probe and probe[name] < least:
            yield refusal(f"{path}.{name}", f"{name} of a probe is {probe[name]}; it takes {least} or more.")
