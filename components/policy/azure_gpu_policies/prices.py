"""Checks the hourly price of machines with GPUs against a limit, per resource and for the stack.

Problems have the date of the prices. An unknown price doesn't count as 0: it is reported, and only known prices can exceed a
limit.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, cast

from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.container_apps import packaged_meters
from azure_gpu.catalog.prices.hourly_cost import NOTHING, HourlyCost, Machines as Priced, of_machines
from azure_gpu.catalog.prices.price_table import plain
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.aks import clusters
from azure_gpu.catalog.services.container_apps import PROFILES
from azure_gpu.catalog.size_use import Service
from azure_gpu.formats import azure_types
from azure_gpu_policies.ends import profile_of
from azure_gpu_policies.known import at, mapping, number, text
from azure_gpu_policies.machines import CONTAINER_APP, Machines, machines_of
from azure_gpu_policies.model import DATED, PolicySettings, number as a_number, policy
from azure_gpu_policies.resources import Resource, Stack
from azure_gpu_policies.rules import problem

_WITHOUT_SIZES = (Service.CONTAINER_INSTANCES, Service.CONTAINER_APPS)


class Cost(NamedTuple):
    """The maximum cost of a resource: the known part, and what isn't known."""

    resource: Resource
    known: HourlyCost
    unknown: tuple[str, ...]
    path: str  # of its first size


def cost_of(resource: Resource, stack: Stack) -> Cost | None:
    """Returns the maximum cost; None for a resource without machines."""
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
    """Returns the maximum cost; machines that may be Spot have the regular price."""
    if machines.most is None:
        return HourlyCost(None, (f"an unknown number of {machines.size} in {machines.resource.path('')}",))
    if not region:
        return HourlyCost(None, (f"{machines.size} in a region that isn't known",))
    if machines.windows:
        return HourlyCost(None, (f"{machines.size} with Windows",))
    priced = Priced(machines.size, machines.most, bool(machines.spot))
    return of_machines([priced], region, packaged(), clusters.price)


def _dedicated(environment: Resource, stack: Stack) -> Cost | None:
    """Returns the cost of dedicated profiles, whose nodes have no list price. Serverless ones have no nodes."""
    found = [each for each in machines_of(environment) if each.most != 0]
    if not found:
        return None
    where = stack.location(environment) or "a region that isn't known"
    return Cost(environment, NOTHING, tuple(f"{each.size} in {where}" for each in found), found[0].path)


def _serverless(resource: Resource, stack: Stack) -> Cost | None:
    """Returns the cost at the maximum number of replicas; None on a dedicated profile, which is billed by its nodes."""
    profile = PROFILES.get(profile_of(resource, stack))
    if profile is None or profile.kind != "serverless":
        return None
    path, region = resource.path("workloadProfileName"), stack.location(resource)
    replicas = _replicas(resource)
    what = f"{profile.type} in {region or 'a region that is not known'}"
    amounts = _amounts(resource)
    price = packaged_meters().hourly_cost(*amounts, profile.gpu, region) if amounts is not None else None
    if price is None or replicas is None:
        return Cost(resource, NOTHING, (what,), path)
    return Cost(resource, HourlyCost(price.usd_hour * replicas, oldest=price.day), (), path)


def _amounts(resource: Resource) -> tuple[Decimal, Decimal] | None:
    """Returns vCPUs and memory (GiB) of one replica; None where they aren't all known."""
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
    """Returns the maximum number of replicas; None where it isn't known."""
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


def _of_each(stack: Stack, settings: PolicySettings) -> Iterator[tuple[Resource, Problem]]:
    limit = Decimal(str(settings["usd_hour"]))
    for resource in stack.resources:
        cost = cost_of(resource, stack)
        if cost is not None and cost.known.usd_hour is not None and cost.known.usd_hour > limit:
            day = settings.day(resource, *stack.around(resource))
            why = f"the maximum cost is {cost.known.text(day)}{_beside(cost.unknown)}"
            yield resource, problem("gpu-price-resource", cost.path, float(cost.known.usd_hour), why=why, limit=plain(limit))


def _of_all(stack: Stack, settings: PolicySettings) -> Iterator[tuple[None, Problem]]:
    limit = Decimal(str(settings["usd_hour"]))
    kept = [each for each in stack.resources if not settings.excepts(each.urn)]
    costs = [cost for each in kept if (cost := cost_of(each, stack)) is not None]
    total, unknown = NOTHING, list[str]()
    for cost in costs:
        total = total.plus(cost.known)
        unknown += cost.unknown
    if total.usd_hour is None or total.usd_hour <= limit:
        return
    largest = sorted(costs, key=lambda each: each.known.usd_hour or Decimal(0), reverse=True)[:3]
    named = ", ".join(f"{each.resource.path('')} {plain(each.known.usd_hour)}" for each in largest if each.known.usd_hour)
    day = settings.day(*(each.resource for each in costs))
    why = f"the maximum cost of all machines with GPUs is {total.text(day)}{_beside(unknown)}; largest: {named}"
    yield None, problem("gpu-price-stack", "the stack", float(total.usd_hour), why=why, limit=plain(limit))


def _beside(unknown: tuple[str, ...] | list[str]) -> str:
    return f", and no price is known for {' and '.join(dict.fromkeys(unknown))}" if unknown else ""


POLICIES = (
    policy(
        "gpu-price-resource",
        of_stack=_of_each,
        own_settings=(a_number("usd_hour", "USD per hour, at the maximum number of machines", 20), *DATED),
    ),
    policy(
        "gpu-price-stack",
        of_stack=_of_all,
        own_settings=(a_number("usd_hour", "USD per hour, at the maximum number of machines", 40), *DATED),
    ),
)
