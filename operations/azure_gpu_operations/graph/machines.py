"""The machines of a part: size, GPU, and how many at idle and at most; None if a number isn't known."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from azure_gpu.catalog.sizes import SIZES
from azure_gpu.container_apps.environment.args import GpuModel, profile_name
from azure_gpu.formats import azure_types
from azure_gpu.formats.autoscale_formula import bounds
from azure_gpu.shared.validation import choices
from azure_gpu_operations.graph.recorded import Resource
from azure_gpu_operations.observed.bodies import at

_SPOT = "spot"


class Machines(NamedTuple):
    """Machines of one size."""

    name: str  # of a node pool or a deployment; empty where the part has one kind of machines
    size: str
    gpu: str  # such as `T4` or `2 x A100`; empty: none, or not known
    idle: int | None  # that stay while nothing runs
    most: int | None
    spot: bool = False


def machines_of(resources: Iterable[Resource]) -> tuple[Machines, ...]:
    """The machines of a part with these resources."""
    return tuple(each for resource in resources for each in _of(resource))


def gpu_of(size: str) -> str:
    """The GPUs of a size of virtual machines."""
    found = SIZES.find(size)
    if found is None or found.gpu is None or not found.gpu_count:
        return ""
    return found.gpu.name if found.gpu_count == 1 else f"{found.gpu_count} x {found.gpu.name}"


def _of(resource: Resource) -> Sequence[Machines]:
    inputs = resource.inputs
    match resource.type:
        case azure_types.JOB.token:
            return [_job(inputs)]
        case azure_types.CONTAINER_GROUP.token:
            return [_group(inputs)]
        case azure_types.BATCH_POOL.token:
            return [_pool(inputs)]
        case azure_types.VIRTUAL_MACHINE.token:
            size = _text(inputs, "hardwareProfile", "vmSize")
            return [Machines("", size, gpu_of(size), 0, 1, _is_spot(inputs.get("priority")))]
        case azure_types.MANAGED_CLUSTER.token:
            return [_node_pool(each, str(each.get("name", ""))) for each in inputs.get("agentPoolProfiles", [])]
        case azure_types.AGENT_POOL.token:
            labels = inputs.get("nodeLabels", {})
            return [_node_pool(inputs, str(labels.get("azure-gpu/pool", inputs.get("agentPoolName", ""))))]
        case azure_types.ML_COMPUTE.token:
            return _compute(inputs)
        case azure_types.ML_ONLINE_DEPLOYMENT.token:
            size, count = _text(inputs, "properties", "instanceType"), _count(at(inputs, "sku", "capacity"))
            return [Machines(str(inputs.get("deploymentName", "")), size, gpu_of(size), count, count)]
        case _:
            return []


def _job(inputs: Mapping[str, Any]) -> Machines:
    """A job of Container Apps, whose replicas are billed while they run."""
    profile = str(inputs.get("workloadProfileName", ""))
    gpu = next((each for each in choices(GpuModel) if profile_name(each) == profile), profile)
    configuration = inputs.get("configuration", {})
    trigger: Mapping[str, Any] = next((each for key, each in configuration.items() if key.endswith("TriggerConfig")), {})
    executions = _count(at(trigger, "scale", "maxExecutions")) or 1
    one: Mapping[str, Any] = next(iter(at(inputs, "template", "containers") or []), {})
    memory = _text(one, "resources", "memory").removesuffix("Gi")
    size = f"{_number(at(one, 'resources', 'cpu'))} CPU, {memory} GiB"
    return Machines("", size, gpu, 0, executions * (_count(trigger.get("parallelism")) or 1))


def _group(inputs: Mapping[str, Any]) -> Machines:
    requests = [at(each, "resources", "requests") or {} for each in inputs.get("containers", [])]
    gpus = [each["gpu"] for each in requests if "gpu" in each]
    count = sum(_count(each.get("count")) or 0 for each in gpus)
    gpu = "" if not gpus else f"{count} x {gpus[0].get('sku')}" if count > 1 else str(gpus[0].get("sku"))
    cpu, memory = (_number(sum(float(each.get(key) or 0) for each in requests)) for key in ("cpu", "memoryInGB"))
    return Machines("", f"{cpu} CPU, {memory} GB", gpu, 1, 1, _is_spot(inputs.get("priority")))


def _pool(inputs: Mapping[str, Any]) -> Machines:
    size, idle = str(inputs.get("vmSize", "")), idle_nodes(inputs)
    if at(inputs, "scaleSettings", "fixedScale") is not None and idle is not None:
        return Machines("", size, gpu_of(size), sum(idle), sum(idle), spot=not idle[0] and idle[1] > 0)
    most = bounds.most_nodes(_text(inputs, "scaleSettings", "autoScale", "formula"))
    return Machines("", size, gpu_of(size), sum(idle) if idle is not None else None, most)


def idle_nodes(pool: Mapping[str, Any]) -> tuple[int, int] | None:
    """The dedicated and the Spot nodes of a Batch pool, at the busiest hour of a week in which nothing waits; None where that
    can't be told. `pool`: its inputs."""
    fixed = at(pool, "scaleSettings", "fixedScale")
    if fixed is not None:
        return _count(fixed.get("targetDedicatedNodes")) or 0, _count(fixed.get("targetLowPriorityNodes")) or 0
    return bounds.idle_nodes(_text(pool, "scaleSettings", "autoScale", "formula"))


def _node_pool(inputs: Mapping[str, Any], name: str) -> Machines:
    size = str(inputs.get("vmSize", ""))
    scales = bool(inputs.get("enableAutoScaling"))
    idle, most = ("minCount", "maxCount") if scales else ("count", "count")
    spot = _is_spot(inputs.get("scaleSetPriority"))
    return Machines(name, size, gpu_of(size), _count(inputs.get(idle)), _count(inputs.get(most)), spot)


def _compute(inputs: Mapping[str, Any]) -> Sequence[Machines]:
    size = _text(inputs, "properties", "properties", "vmSize")
    if not size:  # attached: its machines are another part's
        return []
    scale = at(inputs, "properties", "properties", "scaleSettings") or {"minNodeCount": 1, "maxNodeCount": 1}
    spot = _text(inputs, "properties", "properties", "vmPriority").lower() == "lowpriority"
    return [Machines("", size, gpu_of(size), _count(scale.get("minNodeCount")), _count(scale.get("maxNodeCount")), spot)]


def _text(value: object, *keys: str) -> str:
    return str(at(value, *keys) or "")


def _count(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value or "")


def _is_spot(priority: object) -> bool:
    return str(priority).lower() == _SPOT
