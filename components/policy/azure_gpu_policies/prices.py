"""What the machines with GPUs that are declared cost an hour, held against a limit: each resource's, and all of them together.

In: the stack. Out: problems, with the day of the prices. A price that isn't known is never taken for 0: it is told beside the
rest, and a limit is broken by what is known alone.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.container_apps import Meter, packaged_meters
from azure_gpu.catalog.prices.hourly_cost import NOTHING, HourlyCost, Machines as Priced, of_machines
from azure_gpu.catalog.prices.price_table import plain
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.aks import system_pools
from azure_gpu.catalog.services.container_apps import PROFILES, Kind
from azure_gpu.catalog.size_use import Service
from azure_gpu.formats import azure_types
from azure_gpu_policies.ends import profile_of
from azure_gpu_policies.known import at, mapping, number, text
from azure_gpu_policies.machines import CONTAINER_APP, Machines, machines_of
from azure_gpu_policies.model import DATED, Given, Level, Policy, Severity, number as a_number
from azure_gpu_policies.resources import Resource, Stack

_WITHOUT_SIZES = (Service.CONTAINER_INSTANCES, Service.CONTAINER_APPS)


class Cost(NamedTuple):
    """What one resource costs at most: what is known, and what isn't."""

    resource: Resource
    known: HourlyCost
    unknown: tuple[str, ...]
    path: str  # of its first size


def cost_of(resource: Resource, stack: Stack) -> Cost | None:
    """None for what has no machines."""
    if resource.type in (azure_types.JOB.token, CONTAINER_APP):
        return _serverless(resource, stack)
    if resource.type == azure_types.MANAGED_ENVIRONMENT.token:
        return _dedicated(resource, stack)
    found = [each for each in machines_of(resource) if each.service not in _WITHOUT_SIZES and each.has_gpu]
    if not found:
        return None
    region = stack.location(resource)
    known, unknown = NOTHING, list[str]()
    for each in found:
        cost = _of(each, region)
        known = known.plus(cost) if cost.usd_hour is not None else known
        unknown += cost.unknown
    return Cost(resource, known, tuple(unknown), found[0].path)


def _of(machines: Machines, region: str) -> HourlyCost:
    """At most: machines that may be Spot cost what others do."""
    if machines.most is None:
        return HourlyCost(None, (f"as many {machines.size} as {machines.resource.path('')} can have",))
    if not region:
        return HourlyCost(None, (f"{machines.size} in a region that isn't known",))
    if machines.windows:
        return HourlyCost(None, (f"{machines.size} with Windows",))
    priced = Priced(machines.size, machines.most, bool(machines.spot))
    return of_machines([priced], region, packaged(), system_pools.price)


def _dedicated(environment: Resource, stack: Stack) -> Cost | None:
    """No price list has the nodes of its profiles. Serverless ones have none."""
    found = [each for each in machines_of(environment) if each.most != 0]
    if not found:
        return None
    where = stack.location(environment) or "a region that isn't known"
    return Cost(environment, NOTHING, tuple(f"{each.size} in {where}" for each in found), found[0].path)


def _serverless(resource: Resource, stack: Stack) -> Cost | None:
    """While as many replicas run as can run at once. What runs on a dedicated profile is paid with the environment's nodes."""
    profile = PROFILES.get(profile_of(resource, stack))
    if profile is None or profile.kind is not Kind.SERVERLESS:
        return None
    path, region = resource.path("workloadProfileName"), stack.location(resource)
    replicas = _replicas(resource)
    what = f"{profile.type} in {region or 'a region that is not known'}"
    amounts = _amounts(resource)
    price = packaged_meters().hourly_cost(*amounts, Meter(profile.gpu), region) if amounts is not None else None
    if price is None or replicas is None:
        return Cost(resource, NOTHING, (what,), path)
    return Cost(resource, HourlyCost(price.usd_hour * replicas, oldest=price.day), (), path)


def _amounts(resource: Resource) -> tuple[Decimal, Decimal] | None:
    """vCPUs, and memory in GiB, of all containers of one replica; None where they aren't all known."""
    containers: Any = at(resource.properties, "template", "containers")
    if not isinstance(containers, Sequence) or not containers:
        return None
    cpu = memory = Decimal(0)
    try:
        for each in cast(Sequence[Any], containers):
            cpu += Decimal(str(at(each, "resources", "cpu")))
            memory += Decimal(text(each, "resources", "memory").removesuffix("Gi"))
    except ArithmeticError:
        return None
    return cpu, memory


def _replicas(resource: Resource) -> int | None:
    """That run at once; None where that isn't known."""
    if resource.type == CONTAINER_APP:
        most = at(resource.properties, "template", "scale", "maxReplicas")
        return number(resource.properties, "template", "scale", "maxReplicas") if most is not None else None
    configuration = at(resource.properties, "configuration")
    trigger = next((found for key in _TRIGGERS if (found := mapping(configuration, key)) is not None), None)
    parallelism = at(trigger, "parallelism")
    executions = at(trigger, "scale", "maxExecutions")
    counts = [1 if each is None else number({"count": each}, "count") for each in (parallelism, executions)]
    return None if None in counts else int(counts[0] or 1) * int(counts[1] or 1)


_TRIGGERS = ("manualTriggerConfig", "scheduleTriggerConfig", "eventTriggerConfig")


def _of_each(stack: Stack, given: Given) -> Iterator[tuple[Resource, Problem]]:
    limit = Decimal(str(given["usd_hour"]))
    for resource in stack.resources:
        cost = cost_of(resource, stack)
        if cost is not None and cost.known.usd_hour is not None and cost.known.usd_hour > limit:
            day = given.day(resource, *stack.around(resource))
            yield (
                resource,
                Problem(
                    path=cost.path,
                    message=f"at most it costs {cost.known.text(day)}{_beside(cost.unknown)}",
                    value=float(cost.known.usd_hour),
                    allowed=f"at most {plain(limit)} USD/hour",
                    fix="declare fewer machines, smaller ones, or Spot",
                    source="list prices of Azure, by the catalog",
                ),
            )


def _of_all(stack: Stack, given: Given) -> Iterator[tuple[None, Problem]]:
    limit = Decimal(str(given["usd_hour"]))
    kept = [each for each in stack.resources if not given.excepts(each.urn)]
    costs = [cost for each in kept if (cost := cost_of(each, stack)) is not None]
    total, unknown = NOTHING, list[str]()
    for cost in costs:
        total = total.plus(cost.known)
        unknown += cost.unknown
    if total.usd_hour is None or total.usd_hour <= limit:
        return
    largest = sorted(costs, key=lambda each: each.known.usd_hour or Decimal(0), reverse=True)[:3]
    named = ", ".join(f"{each.resource.path('')} {plain(each.known.usd_hour)}" for each in largest if each.known.usd_hour)
    yield (
        None,
        Problem(
            path="the stack",
            message=f"all machines with GPUs together cost at most {total.text(given.day(*(each.resource for each in costs)))}"
            f"{_beside(unknown)}; most of it: {named}",
            value=float(total.usd_hour),
            allowed=f"at most {plain(limit)} USD/hour",
            fix="declare fewer machines, smaller ones, or Spot",
            source="list prices of Azure, by the catalog",
        ),
    )


def _beside(unknown: tuple[str, ...] | list[str]) -> str:
    return f", and no price is known of {' and of '.join(dict.fromkeys(unknown))}" if unknown else ""


POLICIES = (
    Policy(
        name="gpu-price-resource",
        title="A price limit for each resource",
        description="The machines with GPUs that one resource can have cost at most so much an hour.",
        level=Level.ADVISORY,
        severity=Severity.MEDIUM,
        fix="Declare fewer machines, smaller ones, or Spot.",
        of_stack=_of_each,
        own_settings=(a_number("usd_hour", "USD an hour, with all the machines that there can be", 20), *DATED),
    ),
    Policy(
        name="gpu-price-stack",
        title="A price limit for the stack",
        description="All machines with GPUs that the stack can have cost at most so much an hour.",
        level=Level.ADVISORY,
        severity=Severity.MEDIUM,
        fix="Declare fewer machines, smaller ones, or Spot.",
        of_stack=_of_all,
        own_settings=(a_number("usd_hour", "USD an hour, with all the machines that there can be", 40), *DATED),
    ),
)
