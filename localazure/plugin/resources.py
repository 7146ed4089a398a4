"""Creates, reads, updates and deletes resources and calls functions, in the form of Pulumi's SDK.

A resource that Azure may hold although the operation failed raises `PartialError` with its id and what is known of it: the engine
keeps it, and the next `up` puts the whole body again.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any

import requests

from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from localazure.plugin import invokes
from localazure.plugin.arm_client import ArmClient, Json
from localazure.plugin.errors import AcceptedError, AzureError, LostError, PartialError, State
from localazure.plugin.projection import inputs_of, path_inputs, refreshed_inputs
from localazure.plugin.settings import Settings
from localazure.plugin.wire import Properties
from localazure.shapes import default_api_version, from_arm, to_arm

DEFAULT_TIMEOUT_S = 120 * 60.0
_HIDDEN = "__"
# Singletons: made by Azure with what they belong to, and never deleted. Creating one changes it, whatever it is; deleting one
# puts its default body. Source: pulumi/pulumi-azure-native, provider/pkg/provider/provider.go (`res.Singleton`) and
# provider/pkg/openapi/defaults, where the default body of a blob service is empty.
THERE_WITH_PARENT = (azure_types.BLOB_SERVICE,)


class Resources:
    """What is done over one configured connection to ARM; `stopping` ends what waits for Azure."""

    def __init__(
        self, settings: Settings, stopping: threading.Event, session: Callable[[], requests.Session] | None = None
    ) -> None:
        self._settings = settings
        self._arm = ArmClient(settings, stopping, session)
        self._locations: dict[str, str] = {}
        self._subscription = settings["subscriptionId"]

    def group_location(self, group: str) -> str | None:
        """The location of a resource group, looked up once; None where it isn't available."""
        if group not in self._locations:
            path = azure_types.RESOURCE_GROUP.id_of(self._subscription, {"resourceGroupName": group})
            try:
                found = self._arm.get(path, default_api_version(azure_types.RESOURCE_GROUP))
            except AzureError:
                return None
            if found is None:
                return None
            self._locations[group] = str(found["location"])
        return self._locations[group]

    def invoke(self, token: str, arguments: Mapping[str, Any]) -> Properties:
        return invokes.invoke(token, arguments, self._arm, self._settings)

    def create(self, azure_type: AzureType, inputs: Properties, timeout_s: float = DEFAULT_TIMEOUT_S) -> State:
        """Creates what doesn't exist. AzureError where it is: adopting it takes an import."""
        resource_id = azure_type.id_of(self._subscription, inputs)
        if azure_type in THERE_WITH_PARENT:
            return self._put(azure_type, resource_id, inputs, timeout_s)
        if self._arm.get(resource_id, default_api_version(azure_type)) is not None:
            raise ValueError(
                f"cannot create already existing resource '{resource_id}'; to take it over, import it: "
                f"pulumi import {azure_type.token} <name> '{resource_id}'"
            )
        return self._put(azure_type, resource_id, inputs, timeout_s)

    def update(self, azure_type: AzureType, resource_id: str, inputs: Properties, timeout_s: float = DEFAULT_TIMEOUT_S) -> State:
        """Puts the whole body."""
        return self._put(azure_type, resource_id, inputs, timeout_s)

    def read(self, azure_type: AzureType, resource_id: str, old_inputs: Properties, old_outputs: Properties) -> State | None:
        """The resource as it is, or None where it is gone. Without old inputs (an import) they are read from id and body.

        ValueError where an import gives the id of another type.
        """
        imported = {} if old_inputs else path_inputs(azure_type, resource_id)
        resource = self._arm.get(resource_id, default_api_version(azure_type))
        if resource is None:
            return None
        outputs = _outputs(azure_type, resource)
        projected = inputs_of(azure_type, outputs)
        if old_inputs:
            inputs = refreshed_inputs(old_inputs, inputs_of(azure_type, old_outputs), projected)
        else:
            version = {"azureApiVersion": default_api_version(azure_type)}
            inputs = {**imported, **projected, **version}
        return State(str(resource.get("id", resource_id)), outputs, inputs)

    def delete(self, azure_type: AzureType, resource_id: str, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        try:
            if azure_type in THERE_WITH_PARENT:
                self._arm.put(resource_id, default_api_version(azure_type), {}, timeout_s)
            else:
                self._arm.delete(resource_id, default_api_version(azure_type), timeout_s)
        except AcceptedError as error:
            raise ValueError(f"deleting '{resource_id}' failed: {error}") from error

    def _put(self, azure_type: AzureType, resource_id: str, inputs: Properties, timeout_s: float) -> State:
        version = default_api_version(azure_type)
        body = to_arm(azure_type, _visible(inputs))
        try:
            resource = self._arm.put(resource_id, version, body, timeout_s)
        except AcceptedError as error:
            raise self._settled(azure_type, resource_id, inputs, error) from error
        try:
            resource = self._arm.get(resource_id, version) or resource
        except AzureError as error:
            state = State(resource_id, _outputs(azure_type, resource), inputs)
            raise PartialError(state, f"'{resource_id}' was put, but reading it back failed: {error}") from error
        return State(str(resource.get("id", resource_id)), _outputs(azure_type, resource), inputs)

    def _settled(self, azure_type: AzureType, resource_id: str, inputs: Properties, error: AcceptedError) -> Exception:
        """What an operation without a good end leaves behind, as far as asking again tells."""
        try:
            resource = self._arm.get(resource_id, default_api_version(azure_type))
        except AzureError as unreachable:
            reason = f"{error}; reading '{resource_id}' failed too: {unreachable}"
            return PartialError(State(resource_id, preserved_outputs(azure_type, inputs), inputs), reason)
        if resource is None and isinstance(error, LostError):
            return ValueError(f"{error}; '{resource_id}' isn't there, so nothing was created")
        if resource is None:
            return ValueError(str(error))
        return PartialError(State(str(resource.get("id", resource_id)), _outputs(azure_type, resource), inputs), str(error))


def preserved_outputs(azure_type: AzureType, inputs: Properties) -> Properties:
    """Outputs of a resource that nobody could read: what was requested, in the form of outputs."""
    return _outputs(azure_type, to_arm(azure_type, _visible(inputs)))


def _outputs(azure_type: AzureType, resource: Json) -> Properties:
    outputs = {name: value for name, value in from_arm(azure_type, resource).items() if value is not None}
    return {**outputs, "azureApiVersion": default_api_version(azure_type)}


def _visible(inputs: Mapping[str, object]) -> Properties:
    """The inputs that are for Azure: without hidden ones and the provider's own."""
    return {name: value for name, value in inputs.items() if not name.startswith(_HIDDEN) and name != "azureApiVersion"}
