"""The resources that `down` leaves in Azure because of `keep` in the stack file."""

from collections.abc import Iterator, Mapping
from typing import Any

from azure_gpu.formats import azure_types
from azure_gpu_operations.guard.foreign_resources import created
from azure_gpu_operations.terminal import some

_WITHIN = (azure_types.BLOB_SERVICE.token, azure_types.BATCH_APPLICATION.token)  # part of another kept resource


def stays(resource: Mapping[str, Any]) -> bool:
    """Whether the engine leaves a resource in Azure when the stack ends."""
    return bool(resource.get("retainOnDelete"))


def named(deployment: Mapping[str, Any]) -> tuple[str, ...]:
    """What stays, each as "type name"."""
    return tuple(f"{str(each['type']).rsplit(':', 1)[-1]} {_name(each)}" for each in _kept(deployment))


def lines(deployment: Mapping[str, Any]) -> Iterator[str]:
    """Lines about the kept resources and how to delete them; none if nothing is kept."""
    names = named(deployment)
    if not names:
        return
    yield f"kept in Azure: {some(names)}; the next `up` of the stack takes them in again"
    kept = _kept(deployment)
    if any(each["type"] == azure_types.STORAGE_ACCOUNT.token for each in kept):
        yield "  what is in the storage account is billed as before"
    groups = [_name(each) for each in kept if each["type"] == azure_types.RESOURCE_GROUP.token]
    ids = " ".join(str(each["id"]) for each in kept)
    gone = f"az group delete --name {groups[0]}" if groups else f"az resource delete --ids {ids}"
    yield f"  to delete them for good, with the quota that was granted to them: {gone}"


def _kept(deployment: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each for each in created(deployment) if stays(each) and each["type"] not in _WITHIN]


def _name(resource: Mapping[str, Any]) -> str:
    return str(resource["id"]).rsplit("/", 1)[-1]
