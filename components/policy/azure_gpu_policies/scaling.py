"""Checks that machines with GPUs scale to zero, and have a maximum.

Machines that a service can't scale to zero, such as those of a managed endpoint, aren't violations.
"""

from collections.abc import Iterator

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.size_use import Service
from azure_gpu_policies.machines import Machines, machines_of
from azure_gpu_policies.model import PolicySettings, number, policy
from azure_gpu_policies.resources import Resource
from azure_gpu_policies.rules import problem


def _to_zero(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    for each in machines_of(resource):
        if each.has_gpu and each.idle_path and each.idle is not None and each.idle > int(settings["idle_machines"]):
            idle = f"{each.idle} {each.size} {'is' if each.idle == 1 else 'are'}"
            most = int(settings["idle_machines"])
            yield problem("gpu-scale-to-zero", each.idle_path, _shown(each, each.idle), each.service, idle=idle, allowed=most)


def _maximum(resource: Resource, settings: PolicySettings) -> Iterator[Problem]:
    allowed = int(settings["machines"])
    for each in machines_of(resource):
        if not each.has_gpu or not each.most_path or each.service is Service.CONTAINER_APPS:
            continue
        if each.most is not None and each.most > allowed:
            why = f"scales up to {each.most} {each.size}"
            value = _shown(each, each.most)
        elif each.most is None and each.scales and not each.open:
            why, value = f"no maximum number of {each.size} is set", None
        else:
            continue
        yield problem("gpu-scale-maximum", each.most_path, value, each.service, why=why, allowed=allowed)


def _shown(machines: Machines, value: int) -> int | None:
    """Returns the value to show; None for a formula, which is long."""
    return None if machines.service is Service.BATCH and machines.scales else value


POLICIES = (
    policy(
        "gpu-scale-to-zero",
        of_resource=_to_zero,
        own_settings=(number("idle_machines", "How many machines of a pool may be idle", 0),),
    ),
    policy(
        "gpu-scale-maximum",
        of_resource=_maximum,
        own_settings=(number("machines", "How many machines a pool may have at most", 32, 1),),
    ),
)
