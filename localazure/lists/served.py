"""The lists that are served, their api-versions, and their common checks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from azure_gpu.catalog import regions
from localazure import evidence
from localazure.arm import answers, checks, filters
from localazure.arm.errors import ArmError, not_implemented
from localazure.arm.store import Body
from localazure.lists import (
    batch,
    compute,
    container_apps,
    container_instances,
    container_service,
    features,
    machine_learning,
    permissions,
)
from localazure.lists.query import ListQuery
from localazure.services import Services

_ANY = "*"  # stands for a location in a path
_COMPUTE, _BATCH, _ML = "microsoft.compute", "microsoft.batch", "microsoft.machinelearningservices"
_AUTHORIZATION = "microsoft.authorization"
_ACI = "microsoft.containerinstance"
_AKS, _APPS, _FEATURES = "microsoft.containerservice", "microsoft.app", "microsoft.features"


@dataclass(frozen=True, slots=True)
class _Served:
    type: str  # as ARM's errors name it
    api_versions: frozenset[str]
    answer: Callable[[ListQuery], list[Body] | Body]


_ML_ROW = evidence.types()["Microsoft.MachineLearningServices/workspaces"]
# Versions: those of the azure-mgmt packages, of azure-ai-ml 1.35.2 and of azure-cli 2.91.
_BATCH_VERSIONS = frozenset({"2024-02-01", "2024-07-01", "2025-06-01"})
_ML_VERSIONS = frozenset({"2020-08-01", "2024-10-01", "2025-12-01", *_ML_ROW["extra_api_versions"]})
_ACI_VERSIONS = frozenset({"2018-10-01", "2023-05-01", "2024-05-01-preview"})
_APPS_VERSIONS = frozenset({"2024-03-01", "2025-01-01", "2025-07-01"})
_AKS_VERSIONS = frozenset({"2025-09-01", "2026-06-01", "2026-08-01"})
_USAGE_VERSIONS = frozenset({"2022-03-01", "2024-11-01", "2026-04-01"})
_LISTS: Mapping[tuple[str, ...], _Served] = {
    (_COMPUTE, "skus"): _Served("skus", frozenset({"2019-04-01", "2021-07-01"}), compute.skus),
    (_COMPUTE, "locations", _ANY, "usages"): _Served("locations/usages", _USAGE_VERSIONS, compute.usages),
    (_BATCH, "locations", _ANY, "quotas"): _Served("locations/quotas", _BATCH_VERSIONS, batch.quotas),
    (_BATCH, "locations", _ANY, "virtualmachineskus"): _Served("locations/virtualMachineSkus", _BATCH_VERSIONS, batch.sizes),
    (_ML, "locations", _ANY, "usages"): _Served("locations/usages", _ML_VERSIONS, machine_learning.usages),
    (_ML, "locations", _ANY, "quotas"): _Served("locations/quotas", _ML_VERSIONS, machine_learning.quotas),
    (_ML, "locations", _ANY, "vmsizes"): _Served("locations/vmSizes", _ML_VERSIONS, machine_learning.sizes),
    (_ACI, "locations", _ANY, "usages"): _Served("locations/usages", _ACI_VERSIONS, container_instances.usages),
    (_ACI, "locations", _ANY, "capabilities"): _Served("locations/capabilities", _ACI_VERSIONS, container_instances.capabilities),
    (_ACI, "locations", _ANY, "cachedimages"): _Served(
        "locations/cachedImages", _ACI_VERSIONS, container_instances.cached_images
    ),
    (_AKS, "locations", _ANY, "kubernetesversions"): _Served(
        "locations/kubernetesVersions", _AKS_VERSIONS, container_service.kubernetes_versions
    ),
    (_APPS, "locations", _ANY, "availablemanagedenvironmentsworkloadprofiletypes"): _Served(
        "locations/availableManagedEnvironmentsWorkloadProfileTypes", _APPS_VERSIONS, container_apps.profiles
    ),
    (_AUTHORIZATION, "permissions"): _Served("permissions", permissions.API_VERSIONS, permissions.permissions),
}
_BATCH_NAMES = (_BATCH, "locations", _ANY, "checknameavailability")


def is_list(below: Sequence[str]) -> bool:
    """Whether a path is one of these: what follows the subscription, in lower case."""
    return _path(below) in _LISTS or is_name_check(below) or is_policy_check(below) or _is_feature(below)


def is_policy_check(below: Sequence[str]) -> bool:
    return _path(below) == ("microsoft.policyinsights", "checkpolicyrestrictions")


def is_name_check(below: Sequence[str]) -> bool:
    return _path(below) == _BATCH_NAMES


def answered(method: str, segments: Sequence[str], version: str, conditions: str, services: Services) -> Response:
    """The list at a path for which `is_list` holds. `segments` is the whole path as it was sent, `conditions` its `$filter`."""
    below = [segment.lower() for segment in segments[2:]]
    if _is_feature(below) and (method == "GET" or (method == "POST" and below[-1] == "register")):
        checks.listed_api_version("features", features.API_VERSIONS, version)
        if method == "POST":
            features.register(segments[5], segments[7], services.store)
        return answers.respond(200, features.feature(segments[5], segments[7], services.deviations, services.store))
    served = _LISTS.get(_path(below))
    if served is None or method != "GET":
        raise not_implemented(f"{method} on '/{'/'.join(segments)}'")
    checks.listed_api_version(served.type, served.api_versions, version)
    if below[0] == "resourcegroups":
        checks.scope("/" + "/".join(segments[:4]), services.store)
    namespace = segments[_providers_at(segments) + 1]
    services.deviations.check_registered(namespace)
    region = _region(segments, served.type) or _filtered(conditions)
    value = served.answer(
        ListQuery(region=region, as_of=services.clock.as_of, deviations=services.deviations, store=services.store)
    )
    return answers.listed(value) if isinstance(value, list) else answers.respond(200, value)


def name_availability(segments: Sequence[str], version: str, body: Body, services: Services) -> Response:
    """POST .../locations/{location}/checkNameAvailability of Batch, whose names are unique in a region."""
    served_type = "locations/checkNameAvailability"
    checks.listed_api_version(served_type, _BATCH_VERSIONS, version)
    services.deviations.check_registered(segments[3])
    _region(segments, served_type)
    return answers.respond(200, batch.name_availability(str(body.get("name")), services.store))


def _providers_at(segments: Sequence[str]) -> int:
    """Where `providers` stands in a path."""
    return next(index for index, segment in enumerate(segments) if segment.lower() == "providers")


def _path(below: Sequence[str]) -> tuple[str, ...]:
    """What follows `providers`, with a location left open. Permissions are asked of resource groups too."""
    match list(below):
        case ["providers", namespace, "locations", _, *rest]:
            return (namespace, "locations", _ANY, *rest)
        case ["providers", *rest]:
            return tuple(rest)
        case ["resourcegroups", _, "providers", namespace, "permissions"] if namespace == _AUTHORIZATION:
            return (namespace, "permissions")
        case _:
            return ()


def _is_feature(below: Sequence[str]) -> bool:
    match list(below):
        case ["providers", namespace, "providers", _, "features", _] | [
            "providers",
            namespace,
            "providers",
            _,
            "features",
            _,
            "register",
        ]:
            return namespace == _FEATURES
        case _:
            return False


def _region(segments: Sequence[str], served_type: str) -> str:
    """The location in the path; "" where the path has none."""
    if len(segments) < 6 or segments[4].lower() != "locations":
        return ""
    region = regions.normalise(segments[5])
    if not regions.may_be(region):
        raise ArmError(
            400,
            "NoRegisteredProviderFound",
            f"No registered resource provider found for location '{segments[5]}' for type '{served_type}'. "
            f"The supported locations are '{', '.join(sorted(regions.known()))}'.",
        )
    return region


def _filtered(conditions: str) -> str:
    """The location of `$filter=location eq 'westeurope'`. One that doesn't exist has no sizes, and that isn't an error."""
    return regions.normalise(filters.parse(conditions, ("location",)).get("location", ""))
