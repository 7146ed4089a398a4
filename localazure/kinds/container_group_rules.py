"""Rules of Azure Container Instances for groups, in its own words where they are known, and what isn't implemented here.

The details of the ArmError have every reason. The form of containers, address and volumes is in modules of their own, beside this
one. Codes and sentences of the service were read in
  - InaccessibleImage: Azure/azure-cli issue 18596; CompositionalIT/farmer issue 210
  - InvalidContainerGroupUpdate: MicrosoftDocs/azure-docs issue 38067 (the sentence); a public deployment log (the code)
Where the service's own code isn't known, ARM's general InvalidRequestContent stands.
"""

from typing import Any

from azure_gpu.catalog.problems import Code
from azure_gpu.catalog.services import container_instances
from azure_gpu.catalog.services.container_instances import ContainerRequest, GroupRequest
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change
from localazure.arm.store import Body
from localazure.kinds import (
    container_group_address as addresses,
    container_group_capacity as capacity,
    container_group_form as forms,
    container_group_volumes as volumes,
    problem_refusals,
)
from localazure.kinds.container_group_form import DEFAULT_RESTART_POLICY, INVALID
from localazure.kinds.container_group_specs import all_containers
from localazure.kinds.problem_refusals import of_service

__all__ = ["DEFAULT_RESTART_POLICY", "DEFAULT_SKU", "INVALID", "check", "group_request"]

DEFAULT_SKU = container_instances.STANDARD
ZONES = ("1", "2", "3")


def check(change: Change) -> None:
    """All that can be said from the request, and from what was there before."""
    group, properties = change.id.name, change.properties
    if properties.get("containerGroupProfile"):  # first: its containers are named in the profile, and have no image here
        raise not_implemented("'properties.containerGroupProfile' of a container group")
    found = [*forms.malformed(group, properties)]
    _refuse([*found, *addresses.malformed(group, properties), *volumes.malformed(properties.get("volumes") or [])])
    request = group_request(change.body)
    refusal = _service_refusal(change, request)
    if refusal is not None:
        raise refusal
    _check_zones(change.body)
    if change.previous is not None:
        _check_update(group, change.previous.properties, properties)
    _check_left_out(change.body)
    volumes.check_access(group, change.body, change.services)
    addresses.check_label(change)
    capacity.check(change, request)


def _refuse(refusals: list[ArmError]) -> None:
    """One refusal as it is; several under the first one's code, each among the details."""
    if len(refusals) == 1:
        raise refusals[0]
    if refusals:
        message = " ".join(refusal.message for refusal in refusals)
        raise ArmError(refusals[0].status, refusals[0].code, message, target=refusals[0].target, details=refusals)


def _service_refusal(change: Change, request: GroupRequest) -> ArmError | None:
    """What the service doesn't sell at the request's date: `catalog.services.container_instances`."""
    problems = of_service(container_instances.check(request, change.as_of))
    if not problems:
        return None
    refused = problem_refusals.refusal(problems, INVALID)
    if all(problem.code is Code.NOT_IN_REGION for problem in problems):
        return capacity.unavailable(request, refused.details, problems[0].path)
    return refused


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
        ("The network", "subnetIds", [subnet["id"].lower() for subnet in properties.get("subnetIds") or []]),
        ("The CPU of the containers", "containers", [one["cpu"] for one in resources]),
        ("The memory of the containers", "containers", [one["memoryInGB"] for one in resources]),
        ("The GPUs of the containers", "containers", [one.get("gpu") for one in resources]),
    ]


def _check_left_out(body: Body) -> None:
    """What nobody could use without its behaviour. Other parts without one are kept and shown: docs/limits.md."""
    properties = body["properties"]
    if properties["osType"] == "Windows":
        raise not_implemented("Windows containers")
    for container in all_containers(body):
        paths = [mount["mountPath"].rstrip("/") for mount in container["properties"].get("volumeMounts") or []]
        if any(one.startswith(f"{other}/") for one in paths for other in paths):
            raise not_implemented("a volume mounted below another volume")


def _check_zones(body: Body) -> None:
    zones = body.get("zones") or []
    if len(zones) > 1 or any(zone not in ZONES for zone in zones):
        message = f"A container group takes one availability zone, of {', '.join(ZONES)}."
        raise ArmError(400, INVALID, message, target="zones")
