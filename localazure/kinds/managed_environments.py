"""Managed environments of Azure Container Apps: what jobs run in, with their workload profiles and log destinations.

Created in the background; the minutes that the service takes aren't imitated. There is no network around it and no ingress.
Statuses, headers, states and what is filled in: Azure Service Operator's session Test_App_ManagedEnvironment_20250101_CRUD
(2025-08-18).
"""

import hashlib
import secrets

from azure_gpu.catalog import regions
from azure_gpu.formats import azure_types
from localazure.apps.executions import Executions
from localazure.arm.errors import refused
from localazure.arm.kind import Answer, Call, Change, Kind, merged, reading
from localazure.arm.store import Body, Resource
from localazure.kinds import environment_profiles
from localazure.services import Services
from localazure.weather import granted_quotas

DOMAIN_SUFFIX = "azurecontainerapps.local"
EVENTS = "container-apps"  # first part of the paths that event streams and logs are read at


class ManagedEnvironments(Kind):
    azure_type = azure_types.MANAGED_ENVIRONMENT

    def __init__(self, executions: Executions) -> None:
        self._executions = executions

    def read(self, body: Body) -> Body:
        """Numbers of nodes as texts: Azure CLI's session test_containerapp_env_workload_profiles_e2e (2025-07-01)."""
        match body:
            case {"properties": {"workloadProfiles": [*profiles]}} if all(isinstance(each, dict) for each in profiles):
                read = [{name: _number(name, value) for name, value in each.items()} for each in profiles]
                return merged(body, {"properties": {"workloadProfiles": read}})
        return body

    def check_removal(self, resource: Resource, services: Services) -> None:
        jobs = granted_quotas.jobs_of(resource, services)
        if jobs:
            names = ", ".join(job.id.name for job in jobs)
            raise refused("environment: has jobs", name=resource.id.name, count=len(jobs), jobs=names)

    def check(self, change: Change) -> None:
        change.body.setdefault("properties", {})
        environment_profiles.check(change.body, change.previous, change.as_of)
        super().check(change)
        _check_profiles_in_use(change)

    def begun(self, change: Change) -> Body:
        resource = change.stored
        region, settings = change.body["location"], change.services.settings
        domain = f"{change.id.name.lower()[:20]}-{secrets.token_hex(4)}.{region}.{DOMAIN_SUFFIX}"
        path = f"/subscriptions/{change.id.subscription}/resourceGroups/{change.id.resource_group}"
        proof = hashlib.sha256(change.id.subscription.encode()).hexdigest().upper()  # one for a whole subscription
        made: Body = {
            "customDomainConfiguration": {"customDomainVerificationId": proof},
            "defaultDomain": domain,
            "eventStreamEndpoint": f"{settings.url}/{EVENTS}{path}/managedEnvironments/{change.id.name}/eventstream",
        }
        return merged(merged(super().begun(change), {"properties": made}), {"properties": resource.service.get("properties", {})})

    def view(self, resource: Resource, services: Services) -> Body:
        return {**super().view(resource, services), "location": shown_location(resource)}

    @reading("usages")
    async def usages(self, resource: Resource, call: Call) -> Answer:
        """The environment's quotas of GPUs, where it has some of its own, as `az containerapp env list-usages` requests them."""
        jobs = [job.key for job in granted_quotas.jobs_of(resource, call.services)]
        used = {one: self._executions.gpus(one, resource.location, jobs) for one in granted_quotas.QUOTAS}
        return Answer(body={"value": granted_quotas.usages(resource, used, call.services)})

    @reading("workloadProfileStates")
    async def profile_states(self, resource: Resource, call: Call) -> Answer:  # noqa: ARG002
        """How many nodes of each profile there are: as many as its least count says, and none of a serverless one."""
        value = [
            {
                "id": f"{resource.id.text}/workloadProfileStates/{profile['name']}",
                "name": profile["name"],
                "type": "Microsoft.App/managedEnvironments/workloadProfileStates",
                "properties": {
                    "minimumCount": profile.get("minimumCount", 0),
                    "maximumCount": profile.get("maximumCount", 0),
                    "currentCount": profile.get("minimumCount", 0),
                },
            }
            for profile in resource.properties.get("workloadProfiles") or []
        ]
        return Answer(body={"value": value})


def shown_location(resource: Resource) -> str:
    """Container Apps answers a region as the portal shows it: West US 2."""
    region = regions.known().get(resource.location)
    return region.display_name if region else resource.location


def _check_profiles_in_use(change: Change) -> None:
    """A profile that jobs run on can't be taken away."""
    if change.previous is None:
        return
    kept = {one["name"] for one in change.properties.get("workloadProfiles") or []}
    for job in granted_quotas.jobs_of(change.previous, change.services):
        used = job.properties.get("workloadProfileName")
        if used and used not in kept and used != environment_profiles.CONSUMPTION:
            raise refused("environment: profile in use", profile=used, job=job.id.name)


def _number(name: str, value: object) -> object:
    counts = name in ("minimumCount", "maximumCount")
    return int(value) if counts and isinstance(value, str) and value.isdecimal() else value
