"""Quotas of GPUs that belong to one resource, are zero when it is made, and are raised by a support request for it.

A grant holds for the resource that it was made for: one of the same name that is made later begins at zero again.
"""

from collections.abc import Mapping
from functools import cache

from azure_gpu.catalog.services.container_apps import QUOTAS
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.catalog.sizes.model import same_family
from azure_gpu.formats import azure_types
from localazure.arm.store import Body, Resource
from localazure.services import Services
from localazure.weather import support_tickets


def of_account(account: Resource, name: str, default: int, services: Services) -> int:
    """The limit of a Batch account: of a family, or of what the service calls otherwise."""
    if not services.weather.holds("batch-quota"):
        return default
    granted = support_tickets.granted(account, services.weather.seconds("batch-quota"), services)
    found = [limit for quota, limit in granted if quota == name or same_family(quota, name)]
    if found:
        return found[-1]
    return 0 if any(same_family(name, family) for family in _families_with_gpus()) else default


def shortage(environment: Resource | None, profile: str, gpus: int, used: int, services: Services) -> str:
    """Why an environment of Container Apps has no GPU for a further replica, or ""."""
    name = QUOTAS.get(profile)
    if environment is None or name is None or not gpus or not services.weather.holds("environment-quota"):
        return ""
    limit = _of_environment(environment, name, services)
    if used + gpus <= limit:
        return ""
    # Microsoft Learn, container-apps/quotas, 2026-09-23: the sentence; what stands in brackets is added here.
    return (
        "Maximum Allowed Cores exceeded for the Managed Environment. Please check "
        "https://learn.microsoft.com/en-us/azure/container-apps/quotas for resource limits "
        f"(quota '{name}' of the environment {environment.id.name}: limit {limit}, used {used}, asked {gpus})."
    )


def usages(environment: Resource, used: Mapping[str, int], services: Services) -> list[Body]:
    """GET …/managedEnvironments/NAME/usages, of GPUs alone. `used`: by workload profile."""
    return [
        {
            "name": {"value": name, "localizedValue": name},
            "unit": "Count",
            "currentValue": used.get(profile, 0),
            "limit": _of_environment(environment, name, services),
        }
        for profile, name in QUOTAS.items()
        if services.weather.holds("environment-quota")
    ]


def environment_of(job: Resource, services: Services) -> Resource | None:
    return services.store.get(str(job.properties.get("environmentId") or ""))


def jobs_of(environment: Resource, services: Services) -> list[Resource]:
    """The jobs of an environment, which share its quota."""
    jobs = services.store.of_type(azure_types.JOB.arm_type)
    return [job for job in jobs if str(job.properties.get("environmentId") or "").lower() == environment.key]


def _of_environment(environment: Resource, name: str, services: Services) -> int:
    granted = support_tickets.granted(environment, services.weather.seconds("environment-quota"), services)
    return next((limit for quota, limit in reversed(granted) if quota.lower() == name.lower()), 0)


@cache
def _families_with_gpus() -> frozenset[str]:
    return frozenset(size.series.quota_family for size in SIZES if size.gpu is not None and size.series.quota_family)
