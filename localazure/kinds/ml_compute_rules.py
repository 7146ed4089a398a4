"""Rules of Azure Machine Learning for computes: facts for the table of refusals, and what a compute is attached to."""

from collections.abc import Callable

from azure_gpu.catalog import durations
from azure_gpu.catalog.services.machine_learning.extension import EXTENSION_TYPE
from azure_gpu.catalog.size_use import Service
from azure_gpu.formats import azure_types
from localazure import size_facts
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.kind import Change, merged
from localazure.arm.store import Body, Resource
from localazure.kinds.ml_kind import bad_request
from localazure.services import Services

AML_COMPUTE, KUBERNETES, VIRTUAL_MACHINE = "AmlCompute", "Kubernetes", "VirtualMachine"
DEFAULT_INSTANCE_TYPE = (
    "defaultinstancetype"  # of every attached cluster: machine-learning/how-to-manage-kubernetes-instance-types
)
_GPU = "nvidia.com/gpu"


def kind_of(compute_: Body) -> str:
    """The kind of compute that a body is about."""
    return str((compute_.get("properties") or {}).get("computeType") or "")


def inner(body: Body) -> Body:
    """What is said of a compute of its kind: `properties.properties`."""
    return (body.get("properties") or {}).get("properties") or {}


def check(change: Change, judge: Callable[..., None]) -> None:
    """What isn't said of a compute that is there stays as it is."""
    kind, store, before = kind_of(change.body), change.services.store, change.previous.body if change.previous else None
    given = str(change.properties.get("resourceId") or "")
    machine = store.at(given, azure_types.VIRTUAL_MACHINE) if kind == VIRTUAL_MACHINE else None
    if change.previous and machine:  # what a GET shows of it may be put again
        before = merged({"properties": {"properties": shown_machine(change.previous, change.services)}}, change.previous.body)
    whole = {**(inner(before) if before else {}), **inner(change.body)}
    judged = {**change.body, "properties": {**change.properties, "properties": whole}} if change.properties else change.body
    if before and kind == KUBERNETES and change.properties:
        judged["properties"]["resourceId"] = given or before["properties"]["resourceId"]
    judge(change, judged, _facts(change, whole, machine), was=before)


def _facts(change: Change, whole: Body, machine: Resource | None) -> Body:
    account = whole.get("administratorAccount") or {}
    disk = ((machine.properties.get("storageProfile") or {}).get("osDisk") or {}) if machine else {}
    types: Body = whole.get("instanceTypes") or {}
    limits = {name: _resources(each, "limits").get(_GPU) for name, each in types.items()}
    idle = (whole.get("scaleSettings") or {}).get("nodeIdleTimeBeforeScaleDown")
    windows = whole.get("osType") == "Windows"
    size, region = str(whole.get("vmSize") or ""), str(change.body.get("location"))
    return {
        **size_facts.of(size, Service.ML_COMPUTE, region, change.as_of, windows=windows),
        "idle": idle is None or durations.length(str(idle)) is not None,
        # A machine of Azure's brings its own (Test_MachineLearning_Workspaces_20240401_CRUD, 2025-04-01).
        "address": whole.get("address") or (machine.id.name if machine else ""),
        "signs_in": bool(account.get("username") and (account.get("password") or account.get("privateKeyData"))),
        "windows": disk.get("osType") == "Windows",
        "types": [*types, DEFAULT_INSTANCE_TYPE],
        "extension": kind_of(change.body) == KUBERNETES and _has_extension(change),
        "gpu_request": next((name for name, each in types.items() if _resources(each, "requests").get(_GPU) is not None), ""),
        "gpu_limit": next((name for name, limit in limits.items() if limit is not None and not str(limit).isdigit()), ""),
    }


def _resources(instance_type: Body, what: str) -> Body:
    return (instance_type.get("resources") or {}).get(what) or {}


def shown_machine(compute_: Resource, services: Services) -> Body:
    """What is shown of an attached machine that is one of Azure's: its size and the address of its first interface."""
    machine = services.store.at(str(compute_.properties.get("resourceId")), azure_types.VIRTUAL_MACHINE)
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


def _has_extension(change: Change) -> bool:
    before = change.previous.properties if change.previous else {}
    given = str(change.properties.get("resourceId") or before.get("resourceId") or "")
    cluster = change.services.store.at(given, azure_types.MANAGED_CLUSTER)
    return cluster is not None and extension_of(cluster, change.services) is not None


def extension_of(cluster: Resource, services: Services) -> Resource | None:
    """The extension of Azure Machine Learning that is ready on a cluster."""
    found = services.store.of_type(azure_types.KUBERNETES_EXTENSION.arm_type, cluster.key)
    of_ours = (one for one in found if str(one.properties.get("extensionType")).lower() == EXTENSION_TYPE.lower())
    return next((one for one in of_ours if one.state == "Succeeded"), None)


def refuse_deletion(kind: str, action: str) -> ArmError | None:
    """What `underlyingResourceAction` can't be for a kind of compute; one that isn't set is the kind's own."""
    if kind == AML_COMPUTE and action.lower() == "detach":
        return bad_request("A compute cluster is part of its workspace; it can be deleted, and not detached.")
    if kind in (KUBERNETES, VIRTUAL_MACHINE) and action.lower() == "delete":
        return not_implemented("deleting the resource that a compute is attached to; detach the compute and delete that resource")
    return None
