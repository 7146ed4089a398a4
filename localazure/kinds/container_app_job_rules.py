"""Rules of Container Apps for jobs and the templates of executions: facts for the table of refusals, and other resources."""

import re
from datetime import date
from typing import Any

from azure_gpu.catalog.services.container_apps import PROFILES
from azure_gpu.formats import azure_types, cron
from azure_gpu.formats.arm_ids import parse
from localazure import size_facts
from localazure.arm import refusals
from localazure.arm.errors import refused
from localazure.arm.kind import Change
from localazure.arm.store import Body, Resource
from localazure.kinds import attached_identities, environment_profiles
from localazure.services import Services

DEFAULT_RESOURCES = {"cpu": 0.5, "memory": "1Gi"}  # Microsoft Learn, container-apps/containers: allocations of a container
TRIGGERS = {"Manual": "manualTriggerConfig", "Schedule": "scheduleTriggerConfig", "Event": "eventTriggerConfig"}
TEMPLATES = "Microsoft.App/jobs/templates"  # as the table of refusals has them: a job's, or one execution's

_MEMORY = re.compile(r"(\d+(?:\.\d+)?)Gi")
# Microsoft Learn, container-apps/containers: without a profile of its own a replica has CPU in quarters, and twice as many GiB.
_PAIRS = [(number / 4, number / 2) for number in range(1, 17)]


def check(change: Change, arm_type: str) -> None:
    properties = change.properties
    environment = _environment(change)
    have = [one["name"] for one in environment.properties.get("workloadProfiles") or []]
    chosen = properties.get("workloadProfileName") or environment_profiles.CONSUMPTION
    facts = {
        "cron": _cron(properties.get("configuration") or {}),
        "no_profile": chosen not in have and bool(have or chosen != environment_profiles.CONSUMPTION),
        "profile_name": chosen,
        "profiles": ", ".join(have) or "none",
    }
    refusals.judge(arm_type, change.body, change.as_of, facts=facts)
    _check_registries(change.body)
    profile = _profile(environment, properties.get("workloadProfileName"))
    check_template(properties.get("template") or {}, change.body, profile, change.as_of)


def check_template(template: Body, body: Body, profile_type: str, as_of: date) -> None:
    """The containers, of a job or of one execution of it. `profile_type`: of what the job runs on, "" where nothing is known."""
    containers = [
        {**one, "resources": {**DEFAULT_RESOURCES, **(one.get("resources") or {})}} for one in template.get("containers") or []
    ]
    asked: list[dict[str, Any]] = [one["resources"] for one in containers]
    total = {"cpu": sum(one["cpu"] or 0 for one in asked), "memory": sum(memory_gib(one["memory"]) for one in asked)}
    consumption = profile_type == environment_profiles.CONSUMPTION
    refusals.judge(
        TEMPLATES,
        {**template, "containers": containers},
        as_of,
        facts={
            "secrets": [one.get("name") for one in body["properties"]["configuration"].get("secrets") or []],
            "index_of_gpu": max((index for index, one in enumerate(asked) if one.get("gpu")), default=0),
            "profile": _profile_facts(profile_type, as_of),
            "total": total,
            "pairs": "; ".join(f"[cpu: {cpu:g}, memory: {memory:.1f}Gi]" for cpu, memory in _PAIRS) if consumption else "",
            "fits": (total["cpu"], total["memory"]) in _PAIRS,
        },
    )


def profile_type_of(job: Body, services: Services) -> str:
    """The type of the workload profile that a stored job runs on."""
    parsed = parse(job["properties"]["environmentId"])
    environment = services.store.get(parsed.key) if parsed else None
    return _profile(environment, job["properties"].get("workloadProfileName")) if environment else ""


def memory_gib(text: object) -> float:
    """`1.5Gi`; 0 for anything else."""
    found = _MEMORY.fullmatch(str(text))
    return float(found[1]) if found is not None else 0


def _profile_facts(profile_type: str, as_of: date) -> Body:
    profile = PROFILES.get(profile_type)
    if profile is None:
        return {"type": profile_type or environment_profiles.CONSUMPTION}
    return {
        "type": profile_type,
        "gpus": profile.gpu_count,
        "cpu": profile.vcpus,
        "memory": profile.memory_gib,
        "ended": size_facts.outside(profile.lifecycle, f"The workload profile {profile_type}", as_of),
    }


def _cron(configuration: Body) -> str:
    """What is wrong with the schedule."""
    expression = (configuration.get("scheduleTriggerConfig") or {}).get("cronExpression")
    fault = cron.fault(expression) if expression else "there is none"
    return f"{cron.SPELLING}: {fault}" if fault else ""


def _check_registries(body: Body) -> None:
    """An identity has to be the job's, or there is nothing to sign in with."""
    for index, registry in enumerate(body["properties"]["configuration"].get("registries") or []):
        identity = registry.get("identity") or ""
        if identity and identity.lower() != "system" and not attached_identities.is_attached(body, identity):
            raise refused("job: registry identity", identity=identity, server=registry.get("server"), index=index)


def _profile(environment: Resource, name: str | None) -> str:
    """The type of the environment's profile of this name; "Consumption" where none is named."""
    profiles = environment.properties.get("workloadProfiles") or []
    found = next((one for one in profiles if one["name"] == (name or environment_profiles.CONSUMPTION)), None)
    if found is None:
        return environment_profiles.CONSUMPTION
    return environment_profiles.known_type(found["workloadProfileType"])


def _environment(change: Change) -> Resource:
    given = change.properties.get("environmentId") or ""
    environment = change.services.store.at(given, azure_types.MANAGED_ENVIRONMENT)
    if environment is None:
        raise refused("job: no environment", id=given)
    if change.previous is not None and str(change.previous.properties["environmentId"]).lower() != given.lower():
        raise refused("job: other environment")
    if environment.state != "Succeeded":
        raise refused("job: environment not ready", id=given)
    if environment.location != change.body["location"]:
        words = {"region": change.body["location"], "environment": environment.id.name, "other": environment.location}
        raise refused("job: other region", **words)
    return environment
