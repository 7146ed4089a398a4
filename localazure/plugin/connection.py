"""One configured connection to ARM and what is done over it."""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import requests

from azure_gpu.formats.azure_types import RESOURCE_GROUP
from localazure.plugin import invokes
from localazure.plugin.arm_client import ArmClient
from localazure.plugin.errors import AzureError
from localazure.plugin.resources import Resources
from localazure.plugin.settings import Settings
from localazure.plugin.wire import Properties
from localazure.shapes import default_api_version


class Connection:
    """Made for one provider configuration; `stopping` ends what waits for Azure."""

    def __init__(
        self, settings: Settings, stopping: threading.Event, session: Callable[[], requests.Session] | None = None
    ) -> None:
        self._settings = settings
        self._arm = ArmClient(settings, stopping, session)
        self._locations: dict[str, str] = {}
        self.resources = Resources(self._arm, settings.subscription_id, skip_read_on_update=settings.skip_read_on_update)

    def group_location(self, group: str) -> str | None:
        """The location of a resource group, looked up once; None where it isn't available."""
        if group not in self._locations:
            path = RESOURCE_GROUP.id_of(self._settings.subscription_id, {"resourceGroupName": group})
            try:
                found = self._arm.get(path, default_api_version(RESOURCE_GROUP))
            except AzureError:
                return None
            if found is None:
                return None
            self._locations[group] = str(found["location"])
        return self._locations[group]

    def invoke(self, token: str, arguments: Mapping[str, Any]) -> Properties:
        return invokes.invoke(token, arguments, self._arm, self._settings)
