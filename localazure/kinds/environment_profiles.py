"""Workload profiles of a managed environment: which the service has and adds, and what it refuses of them at a date.

Beside other profiles there is always one of the type Consumption: Azure Service Operator's session
Test_App_ManagedEnvironment_20250101_CRUD (2025-08-18).

Codes of the service were read in Azure/azure-cli issues 31239 (WorkloadProfileInvalidNameTooLong) and 30526 and
hashicorp/terraform-provider-azurerm issue 31763 (WorkloadProfilePropertyNotSupported); their sentences are given there. The
types without GPUs: Microsoft Learn, container-apps/workload-profiles-overview.
"""

from datetime import date

from azure_gpu.catalog.services import container_apps_requests
from azure_gpu.catalog.services.container_apps import NAME_MOST, PROFILES, Kind
from azure_gpu.catalog.services.container_apps_requests import ProfileRequest
from localazure.arm.errors import ArmError
from localazure.arm.store import Body, Resource
from localazure.kinds.problem_refusals import of_service, refusal

INVALID = "InvalidRequestContent"  # ARM's general code, where the service's own isn't known
CONSUMPTION = "Consumption"  # name and type of the profile that every environment with profiles may have
FLEX = "Flex"
DEDICATED = ("D4", "D8", "D16", "D32", "E4", "E8", "E16", "E32")
_KNOWN = {one.lower(): one for one in (CONSUMPTION, FLEX, *DEDICATED, *PROFILES)}


def known_type(given: str) -> str:
    """A type in its own spelling: clients send it in any letter case."""
    return _KNOWN.get(given.lower(), given)


def check(body: Body, previous: Resource | None, as_of: date) -> None:
    """ArmError 400 for the first profile that the environment can't have. Writes types in their own spelling into `body`, and the
    profile that the service adds."""
    profiles = body["properties"].get("workloadProfiles") or []
    before = {one["name"] for one in (previous.properties.get("workloadProfiles") or [])} if previous else set[str]()
    if before and not profiles and "workloadProfiles" in body["properties"]:
        # test_containerapp_env_enable_workload_profiles_infer_env_type (2023-10-25); the sentence is assumed.
        message = "All workload profiles of an environment cannot be removed."
        raise _refusal("WorkloadProfileCannotRemoveAll", message, "properties.workloadProfiles")
    seen: set[str] = set()
    for index, profile in enumerate(profiles):
        path = f"properties.workloadProfiles[{index}]"
        if profile["name"].lower() in seen:
            raise _refusal(INVALID, f"Two workload profiles are called '{profile['name']}'.", f"{path}.name")
        seen.add(profile["name"].lower())
        profile["workloadProfileType"] = known_type(profile["workloadProfileType"])
        if not 1 <= len(profile["name"]) <= NAME_MOST:
            message = (
                f"The workload profile name '{profile['name']}' is too long. It must be less than {NAME_MOST + 1} characters."
            )
            raise _refusal("WorkloadProfileInvalidNameTooLong", message, f"{path}.name")
        added_later = previous is not None and profile["name"] not in before
        _check_type(profile, body["location"], path, as_of, added_later=added_later)
    if profiles and CONSUMPTION.lower() not in seen and all(one["workloadProfileType"] != CONSUMPTION for one in profiles):
        body["properties"]["workloadProfiles"] = [*profiles, {"name": CONSUMPTION, "workloadProfileType": CONSUMPTION}]


def _check_type(profile: Body, location: str, path: str, as_of: date, *, added_later: bool) -> None:
    kind = profile["workloadProfileType"]
    least, most = profile.get("minimumCount"), profile.get("maximumCount")
    if kind not in _KNOWN.values():
        message = f"The workload profile type '{kind}' isn't one of {', '.join(_KNOWN.values())}."
        raise _refusal(INVALID, message, f"{path}.workloadProfileType")
    serverless = kind == CONSUMPTION or (kind in PROFILES and PROFILES[kind].kind is Kind.SERVERLESS)
    if serverless and (least is not None or (most is not None and kind == CONSUMPTION)):
        counted = "minimumCount" if least is not None else "maximumCount"
        raise _refusal("WorkloadProfilePropertyNotSupported", "Workload Profile property is not supported", f"{path}.{counted}")
    if not serverless and kind != FLEX and (least is None or most is None):
        message = f"The workload profile '{profile['name']}' of type {kind} needs a minimumCount and a maximumCount."
        raise _refusal(INVALID, message, f"{path}.minimumCount")
    if least is not None and (least < 0 or (most is not None and most < max(least, 1))):
        message = f"The counts of the workload profile '{profile['name']}' are invalid: {least} to {most}."
        raise _refusal(INVALID, message, f"{path}.maximumCount")
    if kind not in PROFILES:
        return
    request = ProfileRequest(
        name=profile["name"],
        type=kind,
        location=location,
        name_path=f"{path}.name",
        type_path=f"{path}.workloadProfileType",
        location_path="location",
        minimum_path=f"{path}.minimumCount",
        maximum_path=f"{path}.maximumCount",
        minimum_count=least,
        maximum_count=most,
        added_later=added_later,
    )
    problems = of_service(container_apps_requests.profile_problems(request, as_of))
    if problems:
        raise refusal(problems, INVALID)


def _refusal(code: str, message: str, target: str) -> ArmError:
    return ArmError(400, code, message, target=target)
