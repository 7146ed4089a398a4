"""Autoscale settings, kept. Nothing counts requests here, and nothing scales."""

from azure_gpu.formats import azure_types
from localazure.arm.kind import Change, Kind
from localazure.arm.store import Body
from localazure.weather import own_acts


class AutoscaleSettings(Kind):
    azure_type = azure_types.AUTOSCALE_SETTING

    async def provision(self, change: Change) -> Body:
        own_acts.after_autoscale(change.id.key, change.services)
        return {}
