"""Autoscale settings, validated where they are of online deployments, and kept. Nothing counts requests here, and nothing scales.

Rules: REST reference of Microsoft.Insights/autoscaleSettings 2021-05-01-preview, and Microsoft Learn, azure-monitor/autoscale.
Codes and sentences are assumed.
"""

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from localazure.arm.errors import ArmError
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.services import Services
from localazure.weather import own_acts

MOST_PROFILES = 20  # this and the next: the REST reference, "profiles" and "rules"
MOST_RULES = 10
_TRIGGER: Body = {"metricNamespace": "", "dividePerInstance": False}
_TARGET = azure_types.ML_ONLINE_DEPLOYMENT.arm_type


class AutoscaleSettings(Kind):
    """One of them for one deployment at the most."""

    azure_type = azure_types.AUTOSCALE_SETTING
    extra_api_versions = frozenset({"2022-10-01"})  # azure-cli 2.91
    shows_state = False

    def check(self, change: Change) -> None:
        properties = change.properties
        target = str(properties.get("targetResourceUri") or "")
        _check_target(target, change)
        name = properties.get("name")
        if name is not None and name != change.id.name:
            raise _bad(f"The name '{name}' isn't that of the resource, '{change.id.name}'.", "properties.name")
        profiles = properties.get("profiles") or []
        if not 1 <= len(profiles) <= MOST_PROFILES:
            raise _bad(f"There are {len(profiles)} profiles; 1 to {MOST_PROFILES} are allowed.", "properties.profiles")
        for index, profile in enumerate(profiles):
            _check_profile(profile, f"properties.profiles[{index}]", target)

    def defaults(self, change: Change) -> Body:
        return {
            "properties": {
                "enabled": False,
                "name": change.id.name,
                "notifications": [],
                "predictiveAutoscalePolicy": {"scaleMode": "Disabled"},
                "targetResourceLocation": change.body["location"],
            }
        }

    async def provision(self, change: Change) -> Body:
        own_acts.after_autoscale(change.id.key, change.services)
        return {}

    def view(self, resource: Resource, services: Services) -> Body:
        """With what the service fills into each rule: Test_Insights_Autoscalesetting_v20221001_CRUD (2025-07-17)."""
        body = super().view(resource, services)
        profiles = [
            {**profile, "rules": [merged({"metricTrigger": dict(_TRIGGER)}, rule) for rule in profile["rules"]]}
            for profile in body["properties"]["profiles"]
        ]
        shown = [{**profile, "rules": [_with_float(rule) for rule in profile["rules"]]} for profile in profiles]
        return {**body, "properties": {**body["properties"], "profiles": shown}}


def _with_float(rule: Body) -> Body:
    trigger = rule["metricTrigger"]
    return {**rule, "metricTrigger": {**trigger, "threshold": float(trigger["threshold"])}}


def of_deployment(deployment_id: str, services: Services) -> Resource | None:
    """The setting that scales a deployment; None where there is none."""
    found = services.store.of_type(azure_types.AUTOSCALE_SETTING.arm_type)
    return next((one for one in found if str(one.properties.get("targetResourceUri")).lower() == deployment_id.lower()), None)


def _check_target(target: str, change: Change) -> None:
    parsed = parse(target)
    if parsed is None:
        raise _bad("An autoscale setting requires 'targetResourceUri'.", "properties.targetResourceUri")
    if parsed.is_type(_TARGET) and change.services.store.get(parsed.key) is None:
        message = f"The resource '{target}' was not found."
        raise ArmError(404, "ResourceNotFound", message, target="properties.targetResourceUri")
    other = of_deployment(target, change.services)
    if other is not None and other.key != change.id.key:
        message = f"The resource '{target}' has the autoscale setting '{other.id.name}' already."
        raise ArmError(409, "ResourceAlreadyHasAutoscaleSetting", message, target="properties.targetResourceUri")


def _check_profile(profile: Body, path: str, target: str) -> None:
    parsed = parse(target)
    target_type = parsed.type.lower() if parsed else ""
    capacity = profile["capacity"]
    numbers = {name: _whole(str(capacity.get(name)), f"{path}.capacity.{name}") for name in ("minimum", "default", "maximum")}
    if not numbers["minimum"] <= numbers["default"] <= numbers["maximum"]:
        raise _bad("The default is not between the minimum and the maximum.", f"{path}.capacity")
    if numbers["minimum"] < 1 and target_type == _TARGET.lower():
        raise _bad("A managed online deployment has at least 1 instance.", f"{path}.capacity.minimum")
    rules = profile["rules"]
    if len(rules) > MOST_RULES:
        raise _bad(f"There are {len(rules)} rules; at most {MOST_RULES} are allowed.", f"{path}.rules")
    for index, rule in enumerate(rules):
        if target_type == _TARGET.lower():
            _check_metric(rule, f"{path}.rules[{index}]", target)
        value = rule["scaleAction"].get("value")
        if value is not None:
            _whole(str(value), f"{path}.rules[{index}].scaleAction.value")


def _check_metric(rule: Body, path: str, target: str) -> None:
    measured = str(rule["metricTrigger"].get("metricResourceUri") or "")
    endpoint = target.rsplit("/", 2)[0]
    if measured.lower() not in (target.lower(), endpoint.lower()):
        message = f"The metric of '{measured}' says nothing of '{target}'; its own or its endpoint's does."
        raise _bad(message, f"{path}.metricTrigger.metricResourceUri")


def _whole(text: str, path: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise _bad(f"'{text}' isn't an integer.", path)
    return int(text)


def _bad(message: str, target: str) -> ArmError:
    return ArmError(400, "BadRequest", message, target=target)
