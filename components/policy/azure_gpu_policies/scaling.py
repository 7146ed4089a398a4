"""Whether machines with GPUs go when nothing runs, and how many can come.

In: a resource. Out: problems. What a service can't scale to zero, such as instances of a managed endpoint, is no fault.
"""

from collections.abc import Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.size_use import Service
from azure_gpu_policies import origins
from azure_gpu_policies.machines import Machines, machines_of
from azure_gpu_policies.model import Given, Level, Policy, Severity, number
from azure_gpu_policies.resources import Resource

_ORIGINS = {
    Service.AKS: origins.NODE_POOL_SCALE,
    Service.BATCH: origins.BATCH_SCALE,
    Service.ML_COMPUTE: origins.ML_SCALE,
    Service.CONTAINER_APPS: origins.APP_PROFILE,
}
_TO_ZERO = {
    Service.AKS: "write enableAutoScaling: true with minCount: 0",
    Service.BATCH: "write an autoScale formula that gives 0 while no task waits",
    Service.ML_COMPUTE: "write minNodeCount: 0",
    Service.CONTAINER_APPS: "use a serverless profile, or write minimumCount: 0",
}
_TO_MOST = {
    Service.AKS: "write maxCount",
    Service.BATCH: "end the formula with min(most, …) for a number of nodes that you can pay",
    Service.ML_COMPUTE: "write maxNodeCount",
    Service.CONTAINER_APPS: "write maximumCount",
}


def _to_zero(resource: Resource, given: Given) -> Iterator[Problem]:
    for each in machines_of(resource):
        if each.has_gpu and each.idle_path and each.idle is not None and each.idle > int(given["idle_machines"]):
            yield Problem(
                path=each.idle_path,
                message=f"{each.idle} {each.size} {'costs' if each.idle == 1 else 'cost'} while nothing runs",
                value=_shown(each, each.idle),
                allowed=f"at most {int(given['idle_machines'])} that stay",
                fix=_TO_ZERO[each.service],
                source=str(_ORIGINS[each.service]),
            )


def _maximum(resource: Resource, given: Given) -> Iterator[Problem]:
    allowed = int(given["machines"])
    for each in machines_of(resource):
        if not each.has_gpu or not each.most_path or each.service is Service.CONTAINER_APPS:
            continue
        if each.most is not None and each.most > allowed:
            message = f"up to {each.most} {each.size} can come"
            value = _shown(each, each.most)
        elif each.most is None and each.scales and not each.open:
            message, value = f"nothing says how many {each.size} can come at most", None
        else:
            continue
        yield Problem(
            path=each.most_path,
            message=message,
            value=value,
            allowed=f"at most {allowed}",
            fix=_TO_MOST[each.service],
            source=str(_ORIGINS[each.service]),
        )


def _shown(machines: Machines, value: int) -> int | None:
    """A formula is long, and its path says where it is."""
    return None if machines.service is Service.BATCH and machines.scales else value


POLICIES = (
    Policy(
        name="gpu-scale-to-zero",
        title="No GPU that waits",
        description="Pools and clusters of machines with GPUs have none while nothing runs.",
        level=Level.ADVISORY,
        severity=Severity.MEDIUM,
        fix="Scale the pool by what waits, down to 0.",
        of_resource=_to_zero,
        own_settings=(number("idle_machines", "How many machines of a pool may stay while nothing runs", 0),),
    ),
    Policy(
        name="gpu-scale-maximum",
        title="A most for each pool",
        description="Pools and clusters of machines with GPUs have a largest number of machines.",
        level=Level.ADVISORY,
        severity=Severity.MEDIUM,
        fix="Give the pool a largest number of machines.",
        of_resource=_maximum,
        own_settings=(number("machines", "How many machines a pool may have at most", 32, 1),),
    ),
)
