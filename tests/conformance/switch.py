"""The dead man's switch: a job in Azure that deletes a run's resource group after its time, even if nobody is there any more.

It is made before anything else of a run, in the run's group, and goes with it. A scheduled job of Container Apps looks once an
hour, at the minute at which the time is over, and deletes nothing before; it costs cents. Its identity has the role Contributor
on the group, which permits deleting it, and nothing elsewhere. Form of the token's request: Microsoft Learn,
container-apps/managed-identity, REST endpoint reference.
"""

import time
import uuid
from datetime import datetime, timedelta
from typing import Any

from azure_gpu.catalog import roles
from azure_gpu.formats import arm_bodies, azure_types
from azure_gpu.formats.azure_types import AzureType
from tests.conformance.azure import Azure
from tests.conformance.lease import Lease

IMAGE = "mcr.microsoft.com/mirror/docker/library/python:3.11-slim"
GROUPS, DEPLOYMENTS = "2024-03-01", "2024-03-01"
_LIMIT_SECONDS = 900
_LOOK_SECONDS = 2.0
_SCRIPT = """\
import json, os, time, urllib.parse, urllib.request
if time.time() < float(os.environ["UNTIL"]):
    raise SystemExit("it isn't time yet")
query = {"resource": os.environ["ARM"], "client_id": os.environ["CLIENT"], "api-version": "2019-08-01"}
ask = urllib.request.Request(f"{os.environ['IDENTITY_ENDPOINT']}?{urllib.parse.urlencode(query)}")
ask.add_header("X-IDENTITY-HEADER", os.environ["IDENTITY_HEADER"])
token = json.load(urllib.request.urlopen(ask))["access_token"]
url = f"{os.environ['ARM']}{os.environ['GROUP']}?api-version=2024-03-01"
delete = urllib.request.Request(url, method="DELETE", headers={"Authorization": f"Bearer {token}"})
print("deletes", os.environ["GROUP"], urllib.request.urlopen(delete).status)
"""


class SwitchError(Exception):
    """The switch couldn't be made. The text is for the user."""


def group_id(azure: Azure, run: str) -> str:
    return f"/subscriptions/{azure.subscription}/resourceGroups/{name(run)}"


def name(run: str) -> str:
    """Of the group, and of all that is the switch's in it."""
    return f"conformance-{run}"


def minute(until: datetime) -> datetime:
    """The minute at which the job looks first when the time is over."""
    return (until + timedelta(minutes=1)).replace(second=0, microsecond=0)


def make(azure: Azure, lease: Lease, location: str) -> None:
    """The run's group with the switch. SwitchError; the group is then being deleted."""
    group = group_id(azure, lease.run)
    made = azure.send("PUT", group, GROUPS, {"location": location, "tags": lease.tags()})
    if made.status not in (200, 201):
        raise SwitchError(f"the resource group {name(lease.run)} can't be made: {made.status} {made.response}")
    deployment = f"{group}/providers/{azure_types.DEPLOYMENT.arm_type}/{name(lease.run)}"
    template = _template(azure, lease, location)
    sent = azure.send("PUT", deployment, DEPLOYMENTS, {"properties": {"mode": "Incremental", "template": template}})
    state, found, until = "Running" if sent.status in (200, 201) else str(sent.status), sent, time.monotonic() + _LIMIT_SECONDS
    while state in ("Accepted", "Running", "Created") and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        found = azure.send("GET", deployment, DEPLOYMENTS)
        state = found.response["properties"]["provisioningState"]
    if state != "Succeeded":
        azure.send("DELETE", group, GROUPS)
        raise SwitchError(f"the job that would delete the run's resource group can't be made, so nothing is: {found.response}")


def _template(azure: Azure, lease: Lease, location: str) -> dict[str, Any]:
    group, named = group_id(azure, lease.run), name(lease.run)

    def id_of(azure_type: AzureType) -> str:
        return f"{group}/providers/{azure_type.arm_type}/{named}"

    def resource(azure_type: AzureType, **members: Any) -> dict[str, Any]:
        version = arm_bodies.api_version(azure_type)
        common = {"name": named, "location": location, "tags": {**lease.tags()}}
        return {"type": azure_type.arm_type, "apiVersion": version, **common, **members}

    identity = id_of(azure_types.USER_ASSIGNED_IDENTITY)
    of_identity = f"reference('{identity}', '{arm_bodies.api_version(azure_types.USER_ASSIGNED_IDENTITY)}')"
    environment = id_of(azure_types.MANAGED_ENVIRONMENT)
    profile = {"name": "Consumption", "workloadProfileType": "Consumption"}
    role = {
        "type": azure_types.ROLE_ASSIGNMENT.arm_type,
        "apiVersion": arm_bodies.api_version(azure_types.ROLE_ASSIGNMENT),
        "name": str(uuid.uuid5(uuid.NAMESPACE_URL, group)),
        "dependsOn": [identity],
        "properties": {
            "roleDefinitionId": roles.definition_id(azure.subscription, roles.CONTRIBUTOR),
            "principalId": f"[{of_identity}.principalId]",
            "principalType": "ServicePrincipal",
        },
    }
    job = resource(
        azure_types.JOB,
        identity={"type": "UserAssigned", "userAssignedIdentities": {identity: {}}},
        dependsOn=[identity, environment],
        properties=_job(azure, lease, environment, f"[{of_identity}.clientId]"),
    )
    return {
        "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
        "contentVersion": "1.0.0.0",
        "resources": [
            resource(azure_types.USER_ASSIGNED_IDENTITY),
            role,
            resource(azure_types.MANAGED_ENVIRONMENT, properties={"workloadProfiles": [profile]}),
            job,
        ],
    }


def _job(azure: Azure, lease: Lease, environment: str, client: str) -> dict[str, Any]:
    given = {
        "ARM": str(azure.client.base_url).rstrip("/"),
        "GROUP": group_id(azure, lease.run),
        "CLIENT": client,
        "UNTIL": str(lease.until.timestamp()),
    }
    return {
        "environmentId": environment,
        "workloadProfileName": "Consumption",
        "configuration": {
            "triggerType": "Schedule",
            "replicaTimeout": 300,
            "replicaRetryLimit": 1,
            "scheduleTriggerConfig": {
                "cronExpression": f"{minute(lease.until).minute} * * * *",
                "parallelism": 1,
                "replicaCompletionCount": 1,
            },
        },
        "template": {
            "containers": [
                {
                    "name": "switch",
                    "image": IMAGE,
                    "command": ["python", "-c", _SCRIPT],
                    "env": [{"name": key, "value": value} for key, value in given.items()],
                    "resources": {"cpu": 0.25, "memory": "0.5Gi"},
                }
            ]
        },
    }
