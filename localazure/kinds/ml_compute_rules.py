"""What Azure Machine Learning refuses of a compute: what the catalog knows at the request's date, clusters and machines that
don't exist, what never changes.

The codes are assumed.
"""

import re

from azure_gpu.catalog import offers, prices
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.machine_learning import compute, extension
from azure_gpu.catalog.services.machine_learning.extension import EXTENSION_TYPE, InstanceTypeRequest
from azure_gpu.catalog.size_use import OperatingSystem, Service, SizeUse
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, merged
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities
from localazure.kinds.ml_kind import bad_request
from localazure.kinds.problem_refusals import of_service, refusal
from localazure.services import Services

AML_COMPUTE, KUBERNETES, VIRTUAL_MACHINE, LEGACY_AKS = "AmlCompute", "Kubernetes", "VirtualMachine", "AKS"
SERVED = (AML_COMPUTE, KUBERNETES, VIRTUAL_MACHINE)
_SIZE_NAME = re.compile(r"[A-Za-z]+_[A-Za-z0-9_-]+")
_INNER = "properties.properties"
_SCALE = f"{_INNER}.scaleSettings"
# Of an existing compute these never change; Microsoft Learn, REST reference, "Compute - Update": scaleSettings can.
_FIXED = {
    AML_COMPUTE: (
        "enableNodePublicIp",
        "isolatedNetwork",
        "osType",
        "subnet",
        "virtualMachineImage",
        "vmPriority",
        "vmSize",
    ),
    KUBERNETES: ("namespace",),
    VIRTUAL_MACHINE: ("address",),
}


def kind_of(compute_: Body) -> str:
    """The kind of compute that a body is about."""
    return str((compute_.get("properties") or {}).get("computeType") or "")


def inner(body: Body) -> Body:
    """What is said of a compute of its kind: `properties.properties`."""
    return (body.get("properties") or {}).get("properties") or {}


def check(change: Change) -> None:
    if not change.properties:
        raise bad_request("A compute requires 'properties'.", target="properties")
    attached_identities.check(change)
    kind = kind_of(change.body)
    if kind == LEGACY_AKS:
        found = of_service(compute.kind_problems(kind, change.as_of, path="properties.computeType"))
        if found:
            raise refusal(found, "BadRequest")
    if kind not in SERVED:
        raise not_implemented(f"a compute of the type '{kind}'")
    if change.previous is not None:
        _check_unchanged(change.previous, change)
    match kind:
        case "AmlCompute":
            _check_cluster(change)
        case "Kubernetes":
            _check_kubernetes(change)
        case _:
            _check_machine(change)


def _check_unchanged(previous: Resource, change: Change) -> None:
    kind, before, given = kind_of(change.body), inner(previous.body), inner(change.body)
    if kind_of(previous.body) != kind:
        raise bad_request("The type of a compute can't be changed.", target="properties.computeType")
    was, is_now = previous.properties.get("resourceId"), change.properties.get("resourceId")
    if is_now is not None and str(is_now).lower() != str(was).lower():
        raise bad_request("The resource that a compute is attached to can't be changed.", target="properties.resourceId")
    for name in _FIXED[kind]:
        if name in given and _lower(given[name]) != _lower(before.get(name)):
            raise bad_request(f"'{name}' of a compute can't be changed once it is created.", target=f"{_INNER}.{name}")


def _check_cluster(change: Change) -> None:
    given = inner(change.body)
    whole = {**(inner(change.previous.body) if change.previous else {}), **given}
    if not whole.get("vmSize"):
        raise bad_request("A compute cluster requires 'vmSize'.", target=f"{_INNER}.vmSize")
    if not _SIZE_NAME.fullmatch(str(whole["vmSize"])):
        raise bad_request(f"'{whole['vmSize']}' isn't a valid size name.", target=f"{_INNER}.vmSize")
    scale = whole.get("scaleSettings") or {}
    windows = whole.get("osType") == "Windows"
    priority = str(whole.get("vmPriority") or compute.DEDICATED)
    request = compute.ClusterRequest(
        minimum_path=f"{_SCALE}.minNodeCount",
        maximum_path=f"{_SCALE}.maxNodeCount",
        idle_path=f"{_SCALE}.nodeIdleTimeBeforeScaleDown",
        priority_path=f"{_INNER}.vmPriority",
        image_path=f"{_INNER}.virtualMachineImage",
        minimum_nodes=int(scale.get("minNodeCount") or 0),
        maximum_nodes=scale.get("maxNodeCount"),
        idle_time=scale.get("nodeIdleTimeBeforeScaleDown"),
        priority=priority,
        windows=windows,
        own_image="virtualMachineImage" in whole,
    )
    found = of_service(compute.cluster_problems(request, change.as_of))
    if change.creating:
        use = SizeUse(
            service=Service.ML_COMPUTE,
            size=str(whole["vmSize"]),
            region=str(change.body["location"]),
            path=f"{_INNER}.vmSize",
            region_path="location",
            operating_system=OperatingSystem.WINDOWS if windows else OperatingSystem.LINUX,
        )
        found += of_service(offers.check(use, change.as_of, prices=prices.packaged()))
    else:
        found = [each for each in found if each.path.startswith(_SCALE)]
    _refuse(found)


def _check_kubernetes(change: Change) -> None:
    resource_id = change.properties.get("resourceId") or (change.previous.properties["resourceId"] if change.previous else None)
    cluster = cluster_at(str(resource_id or ""), change.services)
    if cluster is None:
        message = f"The cluster '{resource_id}' was not found: a compute of the type Kubernetes is attached to a managed cluster."
        raise bad_request(message, target="properties.resourceId")
    found = extension_of(cluster, change.services)
    if found is None:
        message = f"The extension {EXTENSION_TYPE} isn't installed on the cluster '{cluster.id.name}'."
        raise bad_request(message, target="properties.resourceId")
    given = inner(change.body)
    problems: list[Problem] = []
    types: Body = given.get("instanceTypes") or {}
    for name, each in types.items():
        resources = each.get("resources") or {}
        request = InstanceTypeRequest(
            path=f"{_INNER}.instanceTypes.{name}.resources",
            requests=_texts(resources.get("requests")),
            limits=_texts(resources.get("limits")),
        )
        problems += of_service(extension.instance_type_problems(request, change.as_of))
    _refuse(problems)
    default = given.get("defaultInstanceType")
    if default and default not in types and default != DEFAULT_INSTANCE_TYPE:
        message = f"'{default}' is none of the compute's instance types."
        raise bad_request(message, target=f"{_INNER}.defaultInstanceType")


# Microsoft Learn, machine-learning/how-to-manage-kubernetes-instance-types: the one that every attached cluster has
DEFAULT_INSTANCE_TYPE = "defaultinstancetype"


def _check_machine(change: Change) -> None:
    given = inner(change.body)
    kept = inner(change.previous.body) if change.previous else {}
    account = {**(kept.get("administratorAccount") or {}), **(given.get("administratorAccount") or {})}
    resource_id = change.properties.get("resourceId")
    machine = machine_at(str(resource_id), change.services) if resource_id else None
    if resource_id and machine is None:
        raise bad_request(f"The virtual machine '{resource_id}' was not found.", target="properties.resourceId")
    system = ((machine.properties.get("storageProfile") or {}).get("osDisk") or {}).get("osType") if machine else None
    request = compute.MachineRequest(
        # A machine of Azure's brings its own (Test_MachineLearning_Workspaces_20240401_CRUD, 2025-04-01).
        address=str(given.get("address") or kept.get("address") or (machine.id.name if machine else "")),
        user_name=str(account.get("username") or ""),
        has_password=bool(account.get("password")),
        has_private_key=bool(account.get("privateKeyData")),
        path="properties",
        address_path=f"{_INNER}.address",
        user_path=f"{_INNER}.administratorAccount",
        system_path="properties.resourceId",
        port_path=f"{_INNER}.sshPort",
        windows=system == "Windows",
        ssh_port=int(given.get("sshPort") or kept.get("sshPort") or compute.SSH_PORT),
    )
    _refuse(of_service(compute.machine_problems(request, change.as_of)))


def cluster_at(resource_id: str, services: Services) -> Resource | None:
    """The managed cluster that an id names; None where there is none."""
    parsed = parse(resource_id)
    is_one = parsed is not None and parsed.is_type(azure_types.MANAGED_CLUSTER.arm_type)
    return services.store.get(parsed.key) if parsed is not None and is_one else None


def machine_at(resource_id: str, services: Services) -> Resource | None:
    parsed = parse(resource_id)
    is_one = parsed is not None and parsed.is_type(azure_types.VIRTUAL_MACHINE.arm_type)
    return services.store.get(parsed.key) if parsed is not None and is_one else None


def shown_machine(compute_: Resource, services: Services) -> Body:
    """What is shown of an attached machine that is one of Azure's: its size and the address of its first interface."""
    machine = machine_at(str(compute_.properties.get("resourceId")), services)
    if machine is None:
        return {}
    size = str((machine.properties.get("hardwareProfile") or {}).get("vmSize") or "")
    address = str(inner(compute_.body).get("address") or _address_of(machine, services))
    return {"virtualMachineSize": size.upper(), **({"address": address, "ipAddress": address} if address else {})}


def _address_of(machine: Resource, services: Services) -> str:
    """The public address of a machine where it has one, else the private one."""
    interfaces = (machine.properties.get("networkProfile") or {}).get("networkInterfaces") or []
    interface = services.store.get(str(interfaces[0].get("id"))) if interfaces else None
    if interface is None:
        return ""
    whole = merged(interface.body, interface.service)
    first: Body = ((whole.get("properties") or {}).get("ipConfigurations") or [{}])[0].get("properties") or {}
    public = services.store.get(str((first.get("publicIPAddress") or {}).get("id")))
    if public is not None:
        return str((public.service.get("properties") or {}).get("ipAddress") or "")
    return str(first.get("privateIPAddress") or next((one["address"] for one in whole["properties"].get("addresses") or ()), ""))


def extension_of(cluster: Resource, services: Services) -> Resource | None:
    """The extension of Azure Machine Learning that is ready on a cluster."""
    found = services.store.of_type(azure_types.KUBERNETES_EXTENSION.arm_type, cluster.key)
    of_ours = (one for one in found if str(one.properties.get("extensionType")).lower() == EXTENSION_TYPE.lower())
    return next((one for one in of_ours if one.state == "Succeeded"), None)


def _texts(given: Body | None) -> dict[str, str]:
    return {name: str(value) for name, value in (given or {}).items() if value is not None}


def _refuse(found: list[Problem]) -> None:
    if found:
        raise refusal(found, "BadRequest")


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def refuse_deletion(kind: str, action: str) -> ArmError | None:
    """What `underlyingResourceAction` can't be for a kind of compute; one that isn't set is the kind's own."""
    if kind == AML_COMPUTE and action.lower() == "detach":
        return bad_request("A compute cluster is part of its workspace; it can be deleted, and not detached.")
    if kind in (KUBERNETES, VIRTUAL_MACHINE) and action.lower() == "delete":
        return not_implemented("deleting the resource that a compute is attached to; detach the compute and delete that resource")
    return None
