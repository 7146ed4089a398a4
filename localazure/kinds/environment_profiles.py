"""Workload profiles of a managed environment: which the service has and adds, and what it refuses of them at a date.

Beside other profiles there is always one of the type Consumption: Azure Service Operator's session
Test_App_ManagedEnvironment_20250101_CRUD (2025-08-18).

Codes of the service were read in Azure/azure-cli issues 31239 (WorkloadProfileInvalidNameTooLong) and 30526 and
hashicorp/terraform-provider-azurerm issue 31763 (WorkloadProfilePropertyNotSupported); their sentences are given there. The
types without GPUs: Microsoft Learn, container-apps/workload-profiles-overview.
"""

from datetime import date

from azure_gpu.catalog.services.container_apps import PROFILES
from localazure import size_facts
from localazure.arm import refusals
from localazure.arm.errors import refused
from localazure.arm.store import Body, Resource

JUDGED_AS = "Microsoft.App/managedEnvironments/workloadProfiles"  # as the table of refusals has them
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
        raise refused("environment: last profile")
    seen: set[str] = set()
    for profile in profiles:
        profile["workloadProfileType"] = known_type(profile["workloadProfileType"])
        seen.add(profile["name"].lower())
        later = previous is not None and profile["name"] not in before
        refusals.judge(JUDGED_AS, profile, as_of, facts=_facts(profile, as_of, later=later))
    if profiles and CONSUMPTION.lower() not in seen and all(one["workloadProfileType"] != CONSUMPTION for one in profiles):
        body["properties"]["workloadProfiles"] = [*profiles, {"name": CONSUMPTION, "workloadProfileType": CONSUMPTION}]


def _facts(profile: Body, as_of: date, *, later: bool) -> Body:
    kind = profile["workloadProfileType"]
    known = PROFILES.get(kind)
    facts: Body = {"types": list(_KNOWN.values()), "serverless": kind == CONSUMPTION}
    if known is None:
        return facts
    return {
        **facts,
        "serverless": known.kind == "serverless",
        "ended": size_facts.outside(known.lifecycle, f"The workload profile {kind}", as_of),
        "later": later and known.kind == "dedicated",
    }
