"""What Azure Container Instances refuses of a group, in its own words where they are known, and what isn't imitated here.

In: a change. Out: nothing, or an ArmError with every reason among its details. Codes and sentences of the service were read in
  - InaccessibleImage: Azure/azure-cli issue 18596; CompositionalIT/farmer issue 210
  - InvalidContainerGroupUpdate: MicrosoftDocs/azure-docs issue 38067 (the sentence); a public deployment log (the code)
  - ServiceUnavailable, for what a region doesn't have: MicrosoftDocs/azure-docs issues 48142 and 51860
  - ResourceSomeRequestsNotSpecified: virtual-kubelet's tests of its ACI provider
Where the service's own code isn't known, ARM's general InvalidRequestContent stands.
"""

from collections.abc import Iterator
from typing import Any

from catalog import names
from catalog.problems import Code, Problem, errors
from catalog.services import container_instances
from catalog.services.container_instances import ContainerRequest, GroupRequest
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DEFAULT_RESTART_POLICY = "Always"
DEFAULT_SKU = container_instances.STANDARD
INVALID = "InvalidRequestContent"

_GROUP_LEFT_OUT = (
    "confidentialComputeProperties",
    "containerGroupProfile",
    "dnsConfig",
    "encryptionProperties",
    "extensions",
    "initContainers",
    "ipAddress",
    "standbyPoolProfile",
    "subnetIds",
    "volumes",
)
_CONTAINER_LEFT_OUT = ("configMap", "livenessProbe", "ports", "readinessProbe", "securityContext", "volumeMounts")


def check(change: Change) -> None:
    """All that can be said from the request, and from what was there before."""
    group, properties = change.id.name, change.properties
    _refuse(list(_malformed(group, properties)))
    refusal = _service_refusal(change)
    if refusal is not None:
        raise refusal
    if change.previous is not None:
        _check_update(group, change.previous.properties, properties)
    _check_left_out(change.body)


def _malformed(group: str, properties: Body) -> Iterator[ArmError]:
    containers = properties.get("containers") or []
    if not containers:
        yield ArmError(
            400, INVALID, f"The container group '{group}' needs at least one container.", target="properties.containers"
        )
    seen: set[str] = set()
    for index, container in enumerate(containers):
        path = f"properties.containers[{index}]"
        for problem in names.check(names.CONTAINER, container["name"], f"{path}.name"):
            yield ArmError(
                400, INVALID, f"{problem.message}: '{container['name']}'; it takes {problem.allowed}.", target=problem.path
            )
        if container["name"] in seen:
            yield ArmError(400, INVALID, f"Two containers are called '{container['name']}'.", target=f"{path}.name")
        seen.add(container["name"])
        yield from _malformed_container(group, container, f"{path}.properties")
    policy = properties.get("restartPolicy", DEFAULT_RESTART_POLICY)
    if policy not in RESTART_POLICIES:
        allowed = ", ".join(RESTART_POLICIES)
        yield ArmError(400, INVALID, f"The restart policy '{policy}' isn't one of {allowed}.", target="properties.restartPolicy")
    if properties.get("osType") not in ("Linux", "Windows"):
        given = properties.get("osType")
        yield ArmError(400, INVALID, f"The osType '{given}' isn't one of Linux, Windows.", target="properties.osType")


def _malformed_container(group: str, container: Body, path: str) -> Iterator[ArmError]:
    properties = container["properties"]
    if not properties.get("image"):
        yield ArmError(400, INVALID, f"The container '{container['name']}' has no image.", target=f"{path}.image")
    requests = (properties.get("resources") or {}).get("requests") or {}
    for name in ("cpu", "memoryInGB"):
        if requests.get(name) is None:
            yield ArmError(
                400,
                "ResourceSomeRequestsNotSpecified",
                f"The '{name[0].upper() + name[1:]}' request is not specified in container '{container['name']}' "
                f"of container group '{group}'.",
                target=f"{path}.resources.requests.{name}",
            )
    if any("\0" in word for word in properties.get("command") or []):
        yield ArmError(
            400, INVALID, f"The command of container '{container['name']}' holds a null character.", target=f"{path}.command"
        )
    yield from _malformed_variables(properties.get("environmentVariables") or [], f"{path}.environmentVariables")


def _malformed_variables(variables: list[Body], path: str) -> Iterator[ArmError]:
    seen: set[str] = set()
    for index, variable in enumerate(variables):
        name, target = variable["name"], f"{path}[{index}]"
        if not name or any(each in name for each in "=\0"):
            reason = "it takes at least one character, and neither '=' nor a null character"
            yield ArmError(400, INVALID, f"The environment variable name '{name}' is invalid: {reason}.", target=f"{target}.name")
        if any("\0" in variable.get(each, "") for each in ("value", "secureValue")):
            yield ArmError(400, INVALID, f"The value of the environment variable '{name}' holds a null character.", target=target)
        if name in seen:
            yield ArmError(400, INVALID, f"The environment variable '{name}' is given twice.", target=target)
        if "value" in variable and "secureValue" in variable:
            yield ArmError(400, INVALID, f"The environment variable '{name}' has a value and a secureValue.", target=target)
        seen.add(name)


def _refuse(refusals: list[ArmError]) -> None:
    """One refusal as it is; several under the first one's code, each among the details."""
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        message = " ".join(refusal.message for refusal in refusals)
        raise ArmError(refusals[0].status, refusals[0].code, message, target=refusals[0].target, details=refusals)


def _service_refusal(change: Change) -> ArmError | None:
    """What the service doesn't sell at the request's date: `catalog.services.container_instances`."""
    request = group_request(change.body)
    problems = errors(container_instances.check(request, change.as_of))
    if not problems:
        return None
    details = [_detail(problem) for problem in problems]
    if all(problem.code is Code.NOT_IN_REGION for problem in problems):
        return ArmError(409, "ServiceUnavailable", _unavailable(request), target=problems[0].path, details=details)
    message = " ".join(detail.message for detail in details)
    return ArmError(400, INVALID, message, target=problems[0].path, details=details)


def _detail(problem: Problem) -> ArmError:
    parts = [problem.message[0].upper() + problem.message[1:]]
    if problem.value is not None:
        parts.append(f"given: {problem.value}")
    if problem.allowed:
        parts.append(f"allowed: {problem.allowed}")
    if problem.fix:
        parts.append(f"fix: {problem.fix}")
    return ArmError(400, problem.code.value, "; ".join(parts) + ".", target=problem.path)


def _unavailable(request: GroupRequest) -> str:
    cpu = sum(container.cpu for container in request.containers)
    memory_gb = sum(container.memory_gb for container in request.containers)
    gpus = "".join(f" '{one.gpu_count}' '{one.gpu_sku}' GPU" for one in request.containers if one.gpu_count is not None)
    return (
        f"The requested resource is not available in the location '{request.location}' at this moment. Please retry with a "
        f"different resource request or in another location. Resource requested: '{cpu:g}' CPU '{memory_gb:g}' GB memory "
        f"'{request.os_type}' OS{gpus}"
    )


def group_request(body: Body) -> GroupRequest:
    """The request in the catalog's terms, with ARM's paths."""
    properties = body["properties"]
    return GroupRequest(
        location=body["location"],
        os_type=properties["osType"],
        in_virtual_network=bool(properties.get("subnetIds")),
        spot=properties.get("priority") == "Spot",
        inbound=bool(properties.get("ipAddress")),
        sku=properties.get("sku", DEFAULT_SKU),
        containers=tuple(_container_request(index, one) for index, one in enumerate(properties["containers"])),
        location_path="location",
        os_type_path="properties.osType",
        network_path="properties.subnetIds",
        spot_path="properties.priority",
    )


def _container_request(index: int, container: Body) -> ContainerRequest:
    requests = container["properties"]["resources"]["requests"]
    gpu = requests.get("gpu")
    path = f"properties.containers[{index}].properties.resources.requests"
    return ContainerRequest(
        name=container["name"],
        cpu=requests["cpu"],
        memory_gb=requests["memoryInGB"],
        gpu_count=gpu["count"] if gpu else None,
        gpu_sku=gpu["sku"] if gpu else "",
        cpu_path=f"{path}.cpu",
        memory_path=f"{path}.memoryInGB",
        gpu_count_path=f"{path}.gpu.count",
        gpu_sku_path=f"{path}.gpu.sku",
    )


def _check_update(group: str, before: Body, after: Body) -> None:
    """What a group keeps for its life. The service doesn't say which of them differed; the details do."""
    changed = [
        ArmError(400, "InvalidContainerGroupUpdate", f"{what} was {old!r} and would be {new!r}.", target=f"properties.{path}")
        for (what, path, old), (_, _, new) in zip(_fixed(before), _fixed(after), strict=True)
        if old != new
    ]
    if changed:
        raise ArmError(
            400,
            "InvalidContainerGroupUpdate",
            f"The updates on container group '{group}' are invalid. If you are going to update the os type, restart policy, "
            "network profile, CPU, memory or GPU resources for a container group, you must delete it first and then create a "
            "new one.",
            target=changed[0].target,
            details=changed,
        )


def _fixed(properties: Body) -> list[tuple[str, str, Any]]:
    resources = [container["properties"]["resources"]["requests"] for container in properties["containers"]]
    return [
        ("The os type", "osType", properties.get("osType")),
        ("The restart policy", "restartPolicy", properties.get("restartPolicy", DEFAULT_RESTART_POLICY)),
        ("The network", "subnetIds", properties.get("subnetIds") or []),
        ("The CPU of the containers", "containers", [one["cpu"] for one in resources]),
        ("The memory of the containers", "containers", [one["memoryInGB"] for one in resources]),
        ("The GPUs of the containers", "containers", [one.get("gpu") for one in resources]),
    ]


def _check_left_out(body: Body) -> None:
    """Properties that this server has no behaviour for are refused, so that nobody relies on what doesn't happen."""
    properties = body["properties"]
    if properties["osType"] == "Windows":
        raise not_implemented("Windows containers")
    for name in _GROUP_LEFT_OUT:
        if properties.get(name):
            raise not_implemented(f"'properties.{name}' of a container group")
    for name, only in (("sku", DEFAULT_SKU), ("priority", "Regular")):
        if properties.get(name, only) != only:
            raise not_implemented(f"container groups whose {name} is '{properties[name]}'")
    if body.get("zones"):
        raise not_implemented("'zones' of a container group")
    for container in properties["containers"]:
        for name in _CONTAINER_LEFT_OUT:
            if container["properties"].get(name):
                raise not_implemented(f"'{name}' of a container")
        if container["properties"]["resources"].get("limits"):
            raise not_implemented("'resources.limits' of a container: CPU and memory aren't limited here")
