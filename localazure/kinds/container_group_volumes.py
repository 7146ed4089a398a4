"""The volumes of a container group: which can't be opened, and how the runtime creates them.

An Azure file share is a folder of the state folder, opened by a key of its storage account; a git repository is this server's own
checkout. FailedMountAzureFileVolume, an event, was read in MicrosoftDocs/azure-docs issue 70920.
"""

import base64
import binascii
import hmac
from pathlib import Path

from azure_gpu.formats import azure_types
from localazure.arm.errors import ArmError, not_implemented, refused
from localazure.arm.store import Body
from localazure.containers.volumes import GitRepository, MountFailedError, Volume, Volumes
from localazure.kinds import storage_accounts as storage
from localazure.services import Services, Settings

FAILED_MOUNT = ("FailedMountAzureFileVolume", "Failed to mount Azure File Volume.")
_KINDS = ("azureFile", "emptyDir", "gitRepo", "secret")


def unclear(volumes: list[Body]) -> str:
    """The name of a volume that isn't of one kind."""
    return next((one["name"] for one in volumes if sum(one.get(kind) is not None for kind in _KINDS) != 1), "")


def unwritable(volumes: list[Body]) -> str:
    """A secret that can't be written as a file."""
    for volume in volumes:
        for file, value in (volume.get("secret") or {}).items():
            if not file or file in (".", "..") or any(each in file for each in "/\0") or _decoded(value) is None:
                return file or "''"
    return ""


def check_access(group: str, body: Body, services: Services) -> None:
    """ArmError for a share that the group's key doesn't open, or a repository that this server can't reach."""
    for index, volume in enumerate(body["properties"].get("volumes") or []):
        target = f"properties.volumes[{index}]"
        if volume.get("azureFile") is not None:
            error = _no_share(group, volume, f"{target}.azureFile", services)
            if error is not None:
                raise error
        if volume.get("gitRepo") is not None and not _is_checkout(volume["gitRepo"]["repository"], services.settings):
            raise not_implemented(
                f"a gitRepo volume of another repository than its own checkout, {services.settings.checkout_url}"
            )


def made_of(group: str, run: str, body: Body, services: Services) -> Volumes:
    """The volumes as the runtime makes them. MountFailedError for a share that can't be opened any more."""
    volumes: list[Volume] = []
    for volume in body["properties"].get("volumes") or []:
        error = _no_share(group, volume, "", services) if volume.get("azureFile") is not None else None
        if error is not None:
            raise MountFailedError(error.message)
        volumes.append(_volume(volume, services.settings))
    return Volumes(run=run, volumes=tuple(volumes))


def _volume(volume: Body, settings: Settings) -> Volume:
    name, share, repository = volume["name"], volume.get("azureFile"), volume.get("gitRepo")
    if share is not None:
        return Volume(name=name, shared=storage.share_folder(settings, share["storageAccountName"], share["shareName"]))
    if repository is not None:
        directory = repository.get("directory") or Path(settings.checkout_url).stem
        return Volume(name=name, repository=GitRepository(settings.checkout, repository.get("revision") or "", directory))
    if volume.get("secret") is not None:
        return Volume(name=name, files={file: _decoded(value) or b"" for file, value in volume["secret"].items()})
    return Volume(name=name)


def _no_share(group: str, volume: Body, target: str, services: Services) -> ArmError | None:
    """Why a share can't be opened."""
    share = volume["azureFile"]
    name, given = share["storageAccountName"], share.get("storageAccountKey") or ""
    words = {"account": name, "volume": volume["name"], "group": group, "path": target}
    accounts = services.store.named(azure_types.STORAGE_ACCOUNT.arm_type, name)
    if not accounts or accounts[0].properties.get("allowSharedKeyAccess") is False:
        return refused("volume: no account", **words, why="it takes no key" if accounts else "there is no such account")
    keys = [key["value"] for key in accounts[0].private["keys"].values()]
    if not any(hmac.compare_digest(key.encode(), given.encode()) for key in keys):
        return refused("volume: key", **words)
    if not storage.SHARE_NAME.fullmatch(share["shareName"]):
        return refused("volume: share name", **words, share=share["shareName"], rule=storage.SHARE_RULE)
    return None


def _is_checkout(repository: str, settings: Settings) -> bool:
    return repository.rstrip("/") in (settings.checkout_url, settings.checkout_url.replace("//localhost:", "//127.0.0.1:"))


def _decoded(value: object) -> bytes | None:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else None
    except (binascii.Error, ValueError):
        return None
