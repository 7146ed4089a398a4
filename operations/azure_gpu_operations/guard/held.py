"""Finds the resources of a stack that hold data or serve traffic, in an exported deployment.

`Held` is a resource whose deletion loses something that no `up` restores. A resource group counts too, since it may contain
resources of others, which the state doesn't show. What `down` leaves in Azure because of `keep` in the stack file isn't held.
"""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple

from azure_gpu.catalog.services.aks.clusters import SYSTEM_NAMESPACES
from azure_gpu.formats import azure_types, tags
from azure_gpu_operations.guard.foreign_resources import created
from azure_gpu_operations.terminal import some

_DATA = {
    azure_types.STORAGE_ACCOUNT.token: ("storage account", "its blobs"),
    azure_types.BLOB_CONTAINER.token: ("blob container", "its blobs"),
    azure_types.REGISTRY.token: ("container registry", "its images"),
    azure_types.KEY_VAULT.token: ("key vault", "its secrets"),
    azure_types.ML_WORKSPACE.token: ("Azure Machine Learning workspace", "its models, jobs and metrics"),
    azure_types.LOG_WORKSPACE.token: ("log workspace", "its logs"),
    azure_types.BATCH_ACCOUNT.token: ("Batch account", "its jobs, tasks and applications"),
}
_TRAFFIC = {
    azure_types.ML_ONLINE_ENDPOINT.token: ("online endpoint", "the traffic that it serves"),
    azure_types.MANAGED_CLUSTER.token: ("cluster", "the services on it"),
}
_GROUP = {azure_types.RESOURCE_GROUP.token: ("resource group", "what others have put into it")}
WHAT = {**_DATA, **_TRAFFIC, **_GROUP}
_LOCK = azure_types.MANAGEMENT_LOCK.token
_WITHIN_KEPT = (azure_types.BLOB_SERVICE.token, azure_types.BATCH_APPLICATION.token)  # part of another kept resource
_VERSION = re.compile(r"/v\d\w*:")
_SERVICE = "kubernetes:core/v1:Service"
# Where a stack file configures each, by the names that the program gives to resources.
_KEYS = {
    "foundation-resource-group": "foundation.resource_group",
    "foundation-storage": "foundation.storage",
    "foundation-registry": "foundation.registry",
    "foundation-logs": "foundation.log_workspace",
    "batch-account": "batch_account",
    "ml-models-container": "ml_workspace.models",
    "ml-vault": "ml_workspace.key_vault",
    "ml-workspace": "ml_workspace",
}
_SECTIONS = {
    azure_types.ML_ONLINE_ENDPOINT.token: ("ml_endpoints", "-endpoint"),
    azure_types.MANAGED_CLUSTER.token: ("clusters", "-cluster"),
}


class Held(NamedTuple):
    """One resource that holds data or serves traffic, or a resource group."""

    urn: str
    type: str  # Pulumi's token
    id: str
    inputs: Mapping[str, Any]
    since: str  # RFC 3339; "": unknown

    @property
    def name(self) -> str:
        """Its Pulumi name, such as `foundation-storage`."""
        return self.urn.rsplit("::", 1)[-1]

    @property
    def azure_name(self) -> str:
        return self.id.rsplit("/", 1)[-1]

    @property
    def what(self) -> str:
        return WHAT[self.type][0]

    @property
    def lost(self) -> str:
        """What is lost with it."""
        return WHAT[self.type][1]

    @property
    def holds_data(self) -> bool:
        return self.type in _DATA

    @property
    def is_group(self) -> bool:
        return self.type in _GROUP

    @property
    def key(self) -> str:
        """Where a stack file configures it."""
        if self.type in _SECTIONS:
            section, suffix = _SECTIONS[self.type]
            return f"{section}.{self.name.removesuffix(suffix)}"
        return _KEYS.get(self.name, self.name)

    @property
    def owner(self) -> dict[str, str]:
        """The parts of its name in Azure, by key: project, stack and team."""
        written: Mapping[str, str] = self.inputs.get("tags") or {}
        return {key: written[key] for key in (tags.PROJECT, tags.STACK, tags.TEAM) if key in written}


def held(deployment: Mapping[str, Any]) -> list[Held]:
    """Resources that the stack created and would delete, including replaced ones pending deletion, without retained ones."""
    resources: list[Mapping[str, Any]] = deployment.get("resources") or []
    serving = set(_serving(resources))
    return [
        Held(
            urn=str(each["urn"]),
            type=_type_of(each),
            id=str(each["id"]),
            inputs=each.get("inputs") or {},
            since=str(each.get("created") or ""),
        )
        for each in resources
        if each.get("id")
        and not each.get("external")
        and not stays(each)
        and _type_of(each) in WHAT
        and (_type_of(each) != azure_types.MANAGED_CLUSTER.token or each.get("parent") in serving)
    ]


def locks(deployment: Mapping[str, Any], on: Container[str] | None = None) -> list[str]:
    """The URNs of the stack's own locks in Azure; `on`: those that keep one of these resources. They are deleted before anything
    else is, as what is below one, such as a role, isn't deleted either, and the engine doesn't know that."""
    every = deployment.get("resources") or []
    ids = [f"{each.get('id')}/".lower() for each in every if on is None or each["urn"] in on]
    found = [(each["urn"], f"{each['inputs']['scope']}/".lower()) for each in every if each["type"] == _LOCK]
    return [str(urn) for urn, scope in found if any(each.startswith(scope) for each in ids)]


def protected(deployment: Mapping[str, Any]) -> list[str]:
    """The URNs of all protected resources, of any type."""
    return [str(each["urn"]) for each in deployment.get("resources") or [] if each.get("protect")]


def _type_of(resource: Mapping[str, Any]) -> str:
    """The type without an API version: `azure-native:storage/v20230101:StorageAccount` is a storage account too."""
    return _VERSION.sub(":", str(resource["type"]))


def _serving(resources: list[Mapping[str, Any]]) -> Iterator[str]:
    """The components of clusters that have a user's service."""
    for each in resources:
        metadata: Mapping[str, Any] = (each.get("inputs") or {}).get("metadata") or {}
        if each["type"] == _SERVICE and metadata.get("namespace") not in SYSTEM_NAMESPACES:
            yield str(each.get("parent"))


def stays(resource: Mapping[str, Any]) -> bool:
    """Whether the engine leaves a resource in Azure when the stack ends."""
    return bool(resource.get("retainOnDelete"))


def named_kept(deployment: Mapping[str, Any]) -> tuple[str, ...]:
    """What stays, each as "type name"."""
    return tuple(f"{str(each['type']).rsplit(':', 1)[-1]} {_azure_name(each)}" for each in kept(deployment))


def lines_of_kept(deployment: Mapping[str, Any]) -> Iterator[str]:
    """Lines about the kept resources and how to delete them; none if nothing is kept."""
    names = named_kept(deployment)
    if not names:
        return
    yield f"kept in Azure: {some(names)}; the next `up` of the stack takes them in again"
    left = kept(deployment)
    if any(each["type"] == azure_types.STORAGE_ACCOUNT.token for each in left):
        yield "  what is in the storage account is billed as before"
    groups = [_azure_name(each) for each in left if each["type"] == azure_types.RESOURCE_GROUP.token]
    ids = " ".join(str(each["id"]) for each in left)
    gone = f"az group delete --name {groups[0]}" if groups else f"az resource delete --ids {ids}"
    yield f"  to delete them for good, with the quota that was granted to them: {gone}"


def kept(deployment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in created(deployment) if stays(each) and each["type"] not in _WITHIN_KEPT]


def _azure_name(resource: Mapping[str, Any]) -> str:
    return str(resource["id"]).rsplit("/", 1)[-1]
