"""Defines `Resource`, whose `type` is independent of API version and package of azure-native, and `Stack`, which finds
parents."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import parse
from azure_gpu_policies.known import UNKNOWN, at, text

# `azure-native:batch:Pool`, `azure-native:batch/v20240701:Pool` of version 2 of the provider, and
# `azure-native_batch_v20240701:batch:Pool` of the packages that `pulumi package add` makes for version 3.
# Source: pulumi/pulumi-azure-native, its guide from version 2 to 3 and tests of parameterization (read 2026-11-26).
_AZURE = re.compile(r"azure-native(?:_\w+)?:(?P<module>[a-z0-9]+)(?:/v\w+)?:(?P<type>\w+)")
# `kubernetes:core/v1:Pod`, `kubernetes:apps/v1:DeploymentPatch`.
_KUBERNETES = re.compile(r"kubernetes:(?:[\w.-]+/)?v\w+:(?P<kind>\w+?)(?:Patch)?")
_AZURE_NATIVE, _PREFIX = "azure-native", "kubernetes:"
_WHERE_ANOTHER_IS = (azure_types.AGENT_POOL.token, azure_types.BATCH_POOL.token)  # their region is that of their parent
# Names that version 2 of azure-native used for `properties`. Source: getOnlineEndpoint of its SDKs for
# TypeScript and Go, pulumi/pulumi-azure-native (read 2026-11-26).
_RENAMED = {
    azure_types.ML_ONLINE_ENDPOINT.token: "onlineEndpointProperties",
    azure_types.ML_ONLINE_DEPLOYMENT.token: "onlineDeploymentProperties",
}
# Parents of resources: the property that refers to the parent, and the parent's type.
_WITHIN = (
    ("environmentId", azure_types.MANAGED_ENVIRONMENT),
    ("managedEnvironmentId", azure_types.MANAGED_ENVIRONMENT),  # deprecated; the only one in older API versions
    ("endpointName", azure_types.ML_ONLINE_ENDPOINT),
    ("resourceName", azure_types.MANAGED_CLUSTER),
    ("accountName", azure_types.BATCH_ACCOUNT),
    ("workspaceName", azure_types.ML_WORKSPACE),
    ("resourceGroupName", azure_types.RESOURCE_GROUP),
)


def canonical(token: str) -> str:
    """Removes API versions from a token: `azure-native:batch:Pool`, `kubernetes:Pod`; others stay unchanged."""
    azure = _AZURE.fullmatch(token)
    if azure is not None:
        return f"{_AZURE_NATIVE}:{azure['module']}:{azure['type']}"
    kubernetes = _KUBERNETES.fullmatch(token)
    return f"{_PREFIX}{kubernetes['kind']}" if kubernetes is not None else token


def renamed(kind: str, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the properties with the current names of azure-native. `kind`: canonical."""
    old = _RENAMED.get(kind, "")
    if old not in properties or "properties" in properties:
        return properties
    return {("properties" if key == old else key): value for key, value in properties.items()}


class Resource(NamedTuple):
    """A resource for policies."""

    urn: str
    type: str  # canonical
    name: str  # logical name
    properties: Mapping[str, Any]  # plain values and UNKNOWN
    default_location: str = ""  # of its provider
    depends: Mapping[str, tuple[str, ...]] = {}  # by property, the URNs that its value depends on

    @property
    def is_azure(self) -> bool:
        return self.type.startswith(f"{_AZURE_NATIVE}:")

    @property
    def is_kubernetes(self) -> bool:
        return self.type.startswith(_PREFIX)

    @property
    def kind(self) -> str:
        return self.type.rpartition(":")[2]

    @property
    def location(self) -> str:
        """Its own, or its provider's; "" where neither is known."""
        own = at(self.properties, "location")
        if own is UNKNOWN:
            return ""
        if isinstance(own, str) and own:
            return own
        return "" if self.type in _WHERE_ANOTHER_IS else self.default_location

    def path(self, of: str) -> str:
        """Returns the path of a property: `Pool("train").vmSize`."""
        return f'{self.kind}("{self.name}").{of}' if of else f'{self.kind}("{self.name}")'


class Stack:
    """All resources, with their parents."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self.resources = tuple(resources)
        self._by_urn = {each.urn: each for each in self.resources}

    def around(self, resource: Resource) -> Iterator[Resource]:
        """Yields the parents in the stack, the nearest first."""
        for key, azure_type in _WITHIN:
            if azure_type.token == resource.type:
                continue
            found = self._named(resource, key, azure_type)
            if found is not None:
                yield found

    def location(self, resource: Resource) -> str:
        """Returns its region, else that of its parent; "" where it isn't known."""
        if "location" in resource.properties:
            return resource.location
        for each in self.around(resource):
            if each.location and not (each.type == azure_types.RESOURCE_GROUP.token and resource.type in _WHERE_ANOTHER_IS):
                return each.location
        return resource.location

    def _named(self, resource: Resource, key: str, azure_type: azure_types.AzureType) -> Resource | None:
        for urn in resource.depends.get(key, ()):
            found = self._by_urn.get(urn)
            if found is not None and found.type == azure_type.token:
                return found
        named = text(resource.properties, key)
        parsed = parse(named) if named.startswith("/") else None
        name = parsed.name if parsed is not None else named
        if not name:
            return None
        for each in self.resources:
            if each.type == azure_type.token and name.lower() in _names(each, azure_type):
                return each
        return None


def _names(resource: Resource, azure_type: azure_types.AzureType) -> tuple[str, ...]:
    """Returns its names by inputs and by outputs."""
    return tuple(text(resource.properties, key).lower() for key in (azure_type.name_parameter, "name"))
