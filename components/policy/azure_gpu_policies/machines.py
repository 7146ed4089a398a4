"""Reads the machines of a resource: size, service, minimum and maximum number, with the paths of these values."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.services.container_apps import PROFILES
from azure_gpu.catalog.services.machine_learning import compute, endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.formats import azure_types
from azure_gpu.formats.autoscale_formula import bounds
from azure_gpu_policies.known import UNKNOWN, at, entries, is_open, is_word, mapping, number, text
from azure_gpu_policies.resources import Resource

SCALE_SET = "azure-native:compute:VirtualMachineScaleSet"
CONTAINER_APP = "azure-native:app:ContainerApp"


class Machines(NamedTuple):
    """Machines of one size, or containers on one kind of GPU."""

    resource: Resource
    service: Service
    size: str  # of a virtual machine; a GPU SKU, or a workload profile's type
    path: str  # of the size
    idle: int | None  # minimum number, while nothing runs; None: not known
    most: int | None  # maximum number; None: not known
    idle_path: str = ""  # of that number; empty: the service can't scale to zero
    most_path: str = ""
    scales: bool = False  # automatically
    open: bool = False  # a number isn't known before an update
    spot: bool | None = False  # None: not known
    windows: bool = False

    @property
    def has_gpu(self) -> bool:
        """Whether they are known to have GPUs."""
        if self.service in (Service.CONTAINER_INSTANCES, Service.CONTAINER_APPS):
            return True
        return endpoints.has_gpu(self.size) is True

    def use(self, region: str) -> SizeUse:
        return SizeUse(
            service=self.service,
            size=self.size,
            region=region,
            path=self.path,
            region_path=self.resource.path("location"),
            nodes=max(self.most or 1, 1),
            spot=bool(self.spot),
            operating_system="Windows" if self.windows else "Linux",
        )


def machines_of(resource: Resource) -> tuple[Machines, ...]:
    """Returns the machines of known size; empty for a resource without machines."""
    read = _READERS.get(resource.type)
    return tuple(each for each in read(resource) if each.size) if read is not None else ()


def _machine(resource: Resource) -> Iterator[Machines]:
    found = resource.properties
    yield Machines(
        resource=resource,
        service=Service.VIRTUAL_MACHINES,
        size=text(found, "hardwareProfile", "vmSize"),
        path=resource.path("hardwareProfile.vmSize"),
        idle=1,
        most=1,
        spot=_spot(at(found, "priority")),
        windows=_is_windows(at(found, "storageProfile", "osDisk", "osType"), at(found, "osProfile", "windowsConfiguration")),
    )


def _scale_set(resource: Resource) -> Iterator[Machines]:
    found, profile = resource.properties, at(resource.properties, "virtualMachineProfile")
    capacity = number(found, "sku", "capacity")
    yield Machines(
        resource=resource,
        service=Service.VIRTUAL_MACHINES,
        size=text(found, "sku", "name"),
        path=resource.path("sku.name"),
        idle=capacity,
        most=capacity,
        spot=_spot(at(profile, "priority")),
        windows=_is_windows(at(profile, "storageProfile", "osDisk", "osType"), at(profile, "osProfile", "windowsConfiguration")),
    )


def _cluster(resource: Resource) -> Iterator[Machines]:
    for index, each in entries(resource.properties, "agentPoolProfiles"):
        yield _node_pool(resource, each, f"agentPoolProfiles[{index}].")


def _agent_pool(resource: Resource) -> Iterator[Machines]:
    yield _node_pool(resource, resource.properties, "")


def _node_pool(resource: Resource, pool: Any, at_: str) -> Machines:
    """Reads a node pool. Without autoscaling it has `count` nodes. A system pool can't scale to zero."""
    scales = at(pool, "enableAutoScaling")
    idle, most = ("minCount", "maxCount") if scales is True else ("count", "count")
    known = scales is not UNKNOWN
    return Machines(
        resource=resource,
        service=Service.AKS,
        size=text(pool, "vmSize"),
        path=resource.path(f"{at_}vmSize"),
        idle=number(pool, idle) if known else None,
        most=number(pool, most) if known else None,
        idle_path="" if is_word(at(pool, "mode"), "System") else resource.path(f"{at_}{idle}"),
        most_path=resource.path(f"{at_}{most}"),
        scales=scales is True,
        open=UNKNOWN in (scales, at(pool, idle), at(pool, most)),
        spot=_spot(at(pool, "scaleSetPriority")),
        windows=is_word(at(pool, "osType"), "Windows"),
    )


def _batch_pool(resource: Resource) -> Iterator[Machines]:
    found = resource.properties
    fixed, formula = mapping(found, "scaleSettings", "fixedScale"), text(found, "scaleSettings", "autoScale", "formula")
    below = "scaleSettings.autoScale.formula"
    idle: tuple[int, int] | None
    most: int | None
    if fixed is not None:
        below = "scaleSettings.fixedScale"
        dedicated, low = (
            0 if at(fixed, each) is None else number(fixed, each) for each in ("targetDedicatedNodes", "targetLowPriorityNodes")
        )
        idle = None if dedicated is None or low is None else (dedicated, low)
        most = sum(idle) if idle is not None else None
    else:
        idle, most = (bounds.idle_nodes(formula), bounds.most_nodes(formula)) if formula else (None, None)
    image = at(found, "deploymentConfiguration", "virtualMachineConfiguration")
    yield Machines(
        resource=resource,
        service=Service.BATCH,
        size=text(found, "vmSize"),
        path=resource.path("vmSize"),
        idle=sum(idle) if idle is not None else None,
        most=most,
        idle_path=resource.path(below),
        most_path=resource.path(below),
        scales=bool(formula),
        spot=_all_spot(idle, formula),
        windows=_is_windows(text(image, "imageReference", "offer"), at(image, "windowsConfiguration"))
        or "windows" in text(image, "nodeAgentSkuId").lower(),
    )


def _all_spot(idle: tuple[int, int] | None, formula: str) -> bool | None:
    """Whether all nodes are Spot nodes; None for a formula that may use both kinds."""
    if formula:
        return False if "$TargetLowPriorityNodes" not in formula else None
    return None if idle is None else idle[0] == 0 and idle[1] > 0


def _ml_compute(resource: Resource) -> Iterator[Machines]:
    found = at(resource.properties, "properties")
    inner = at(found, "properties")
    kind = text(found, "computeType")
    if kind not in (compute.CLUSTER, compute.INSTANCE):  # attached: the machines belong to another resource
        return
    is_cluster = kind == compute.CLUSTER
    scale = at(inner, "scaleSettings")
    yield Machines(
        resource=resource,
        service=Service.ML_COMPUTE,
        size=text(inner, "vmSize"),
        path=resource.path("properties.properties.vmSize"),
        idle=(0 if at(scale, "minNodeCount") is None else number(scale, "minNodeCount")) if is_cluster else 1,
        most=number(scale, "maxNodeCount") if is_cluster else 1,
        idle_path=resource.path("properties.properties.scaleSettings.minNodeCount") if is_cluster else "",
        most_path=resource.path("properties.properties.scaleSettings.maxNodeCount"),
        scales=is_cluster,
        open=is_open(scale),
        spot=_spot(at(inner, "vmPriority")),
        windows=is_word(at(inner, "osType"), "Windows"),
    )


def _ml_deployment(resource: Resource) -> Iterator[Machines]:
    """Reads a managed deployment, which can't scale to zero."""
    if not is_word(at(resource.properties, "properties", "endpointComputeType"), "Managed"):
        return
    capacity = at(resource.properties, "sku", "capacity")
    count = 1 if capacity is None else number(resource.properties, "sku", "capacity")
    yield Machines(
        resource=resource,
        service=Service.ML_ENDPOINT,
        size=text(resource.properties, "properties", "instanceType"),
        path=resource.path("properties.instanceType"),
        idle=count,
        most=count,
    )


def _container_group(resource: Resource) -> Iterator[Machines]:
    for index, each in entries(resource.properties, "containers"):
        yield Machines(
            resource=resource,
            service=Service.CONTAINER_INSTANCES,
            size=text(each, "resources", "requests", "gpu", "sku"),
            path=resource.path(f"containers[{index}].resources.requests.gpu.sku"),
            idle=1,
            most=number(each, "resources", "requests", "gpu", "count"),
            spot=_spot(at(resource.properties, "priority")),
        )


def _environment(resource: Resource) -> Iterator[Machines]:
    """Reads profiles with GPUs. A dedicated one is billed by its nodes; a serverless one by its jobs and apps."""
    for index, each in entries(resource.properties, "workloadProfiles"):
        kind = text(each, "workloadProfileType")
        if kind not in PROFILES and "gpu" not in kind.lower():
            continue
        here = f"workloadProfiles[{index}]"
        serverless = kind not in PROFILES or PROFILES[kind].kind == "serverless"
        yield Machines(
            resource=resource,
            service=Service.CONTAINER_APPS,
            size=kind,
            path=resource.path(f"{here}.workloadProfileType"),
            idle=0 if serverless else number(each, "minimumCount"),
            most=0 if serverless else number(each, "maximumCount"),
            idle_path=resource.path(f"{here}.minimumCount"),
            most_path=resource.path(f"{here}.maximumCount"),
            scales=True,
        )


_READERS = {
    azure_types.VIRTUAL_MACHINE.token: _machine,
    SCALE_SET: _scale_set,
    azure_types.MANAGED_CLUSTER.token: _cluster,
    azure_types.AGENT_POOL.token: _agent_pool,
    azure_types.BATCH_POOL.token: _batch_pool,
    azure_types.ML_COMPUTE.token: _ml_compute,
    azure_types.ML_ONLINE_DEPLOYMENT.token: _ml_deployment,
    azure_types.CONTAINER_GROUP.token: _container_group,
    azure_types.MANAGED_ENVIRONMENT.token: _environment,
}


def _spot(priority: object) -> bool | None:
    """Whether the priority is Spot, which includes LowPriority of Azure ML and Low of virtual machines."""
    return None if priority is UNKNOWN else any(is_word(priority, each) for each in ("Spot", "Low", compute.LOW_PRIORITY))


def _is_windows(kind: object, configuration: object) -> bool:
    return (isinstance(kind, str) and "windows" in kind.lower()) or isinstance(configuration, Mapping)
