"""Models, environments and code of a workspace: containers, and their versions, which never change what they are.

A version makes its container where there is none. Of a version that is there tags, description, properties, stage and whether
it is archived can change. What a version names has to be in blob storage, where that is this server's; the service itself finds
that out when somebody needs it. Codes and sentences are assumed.
"""

from collections.abc import Mapping
from typing import ClassVar

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from localazure.arm.kind import Answer, Call, Change, merged, offer
from localazure.arm.store import Body, Resource
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.kinds import ml_uploads
from localazure.kinds.blob_containers import as_arm
from localazure.kinds.ml_kind import MlKind, keep_with_workspace, user_error, workspace_of
from localazure.kinds.ml_uris import blob_of, is_known
from localazure.services import Services

# The parameters of a list of code → the properties that azure-ai-ml 1.35.2 gives a version that it has uploaded.
_HASHES = {"hash": "hash_sha256", "hashversion": "hash_version"}


class _Containers(MlKind):
    """The name that versions share."""

    async def remove(self, resource: Resource, services: Services) -> None:
        keep_with_workspace(resource, services)

    def view(self, resource: Resource, services: Services) -> Body:
        versions = services.store.of_type(f"{self.arm_type}/versions", resource.key)
        newest = max(versions, key=lambda each: each.created_at).id.name if versions else None
        numbers = [int(each.id.name) for each in versions if each.id.name.isascii() and each.id.name.isdigit()]
        live: Body = {"nextVersion": str(max(numbers, default=0) + 1)}
        if newest is not None:
            live["latestVersion"] = newest
        return merged(super().view(resource, services), {"properties": live})


class _Versions(MlKind):
    """Validated once, and kept."""

    def parent_id(self, resource_id: ArmId) -> str:
        return resource_id.scope.rsplit("/", 2)[0]

    def check(self, change: Change) -> None:
        if change.previous is None:
            super().check(change)
            return
        before, given = change.previous.properties, change.properties
        for name in sorted({*before, *given} - {*self.row["changeable"]}):
            if name in given and given[name] != before.get(name):
                message = (
                    f"The version '{change.id.name}' of '{_name(change.id)}' exists, and its '{name}' can't be changed. "
                    "Create another version."
                )
                raise user_error(message, target=f"properties.{name}", status=409)

    async def provision(self, change: Change) -> Body:
        if change.previous is None:
            await self.check_files(change)
        body: Body = {"properties": {"isArchived": False, "tags": {}, "properties": {}}}
        change.services.store.made(change.id.scope, body, change.services.clock.stamp())
        return {}

    async def remove(self, resource: Resource, services: Services) -> None:
        keep_with_workspace(resource, services)

    async def check_files(self, change: Change) -> None:
        """What a new version names in blob storage has to be there."""


class ModelContainers(_Containers):
    azure_type = azure_types.ML_MODEL_CONTAINER


class EnvironmentContainers(_Containers):
    azure_type = azure_types.ML_ENVIRONMENT_CONTAINER


class CodeContainers(_Containers):
    azure_type = azure_types.ML_CODE_CONTAINER


class _UploadedVersions(_Versions):
    """Versions whose files are blobs, for which a client can request an upload address."""

    uri: ClassVar[str]

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    @offer("startPendingUpload")
    async def start_upload(self, resource: Resource, call: Call) -> Answer:
        return await ml_uploads.start(resource, self._blobs, call)

    def facts(self, change: Change) -> Body:
        return {"known": is_known(str(change.properties.get(self.uri) or ""))}

    async def check_files(self, change: Change) -> None:
        await _check_blobs(str(change.properties[self.uri]), self.uri, self._blobs, change)


class ModelVersions(_UploadedVersions):
    """A folder or a file of blobs, and what kind of model it is."""

    azure_type = azure_types.ML_MODEL_VERSION
    uri = "modelUri"


class CodeVersions(_UploadedVersions):
    """A folder of blobs with scripts in it."""

    azure_type = azure_types.ML_CODE_VERSION
    uri = "codeUri"

    def read(self, body: Body) -> Body:
        """Numbers among the properties are taken as text: azure-ai-ml 1.35.2 sends `hash_version` as one."""
        given = (body.get("properties") or {}).get("properties")
        if not isinstance(given, dict):
            return body
        read = {name: str(value) if type(value) in (int, float) else value for name, value in given.items()}
        return {**body, "properties": {**body["properties"], "properties": read}}

    def listed(self, scope: str, conditions: str, services: Services) -> list[Resource]:
        """Empty for missing code: azure-ai-ml 1.35.2 looks for the same files before it uploads the first version."""
        workspace = scope.rsplit("/", 2)[0]
        if services.store.get(scope) is None and services.store.get(workspace) is not None:
            return []
        return super().listed(scope, conditions, services)

    def chosen(self, listed: list[Resource], query: Mapping[str, str]) -> list[Resource]:
        """`hash` and `hashVersion`: the versions whose properties have the hash that a client has computed of their files."""
        hashes = {_HASHES[name]: value for name, value in query.items() if name in _HASHES}
        found = super().chosen(listed, query)
        return [each for each in found if all(_has(each, name, value) for name, value in hashes.items())]


class EnvironmentVersions(_Versions):
    """An image, with packages on top of it where there is a conda file."""

    azure_type = azure_types.ML_ENVIRONMENT_VERSION


def _has(version: Resource, name: str, value: str) -> bool:
    return str((version.properties.get("properties") or {}).get(name)) == value


async def _check_blobs(uri: str, name: str, blobs: Blobs, change: Change) -> None:
    """ArmError where the URI leads to this server and nothing lies there."""
    workspace = workspace_of(change.id.text, change.services)
    place = blob_of(uri, workspace, change.services)
    if place is None:
        if uri.lower().startswith("azureml:"):
            message = f"'{uri}' names no datastore of blobs, or no job, that is in the workspace '{workspace.id.name}'."
            raise user_error(message, target=f"properties.{name}")
        return
    try:
        there = await blobs.any_below(place.account.id.name.lower(), place.container, place.path)
    except BlobError as error:
        raise as_arm(error) from error
    if not there:
        message = (
            f"'{uri}' doesn't exist: there is no blob '{place.path}' in the container '{place.container}', and none below it."
        )
        raise user_error(message, target=f"properties.{name}")


def _name(version_id: ArmId) -> str:
    return version_id.scope.rsplit("/", 1)[1]


def version_at(given: str, azure_type: AzureType, services: Services) -> Resource | None:
    """The version of an asset that an id names, in any letter case; None where there is none."""
    return services.store.at(given.removeprefix("azureml:"), azure_type)
