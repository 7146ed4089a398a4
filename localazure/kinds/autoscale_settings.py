"""Autoscale settings, kept. Nothing counts requests here, and nothing scales."""

from azure_gpu.formats import azure_types
from localazure.arm.kind import Change, Kind, merged
from localazure.arm.store import Body, Resource
from localazure.services import Services
from localazure.weather import own_acts

_TRIGGER: Body = {"metricNamespace": "", "dividePerInstance": False}


class AutoscaleSettings(Kind):
    azure_type = azure_types.AUTOSCALE_SETTING

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
