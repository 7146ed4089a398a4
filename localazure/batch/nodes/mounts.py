"""File systems that a pool mounts on its nodes, below `fsmounts`: Azure Files shares. Others are refused explicitly.

A share becomes a link to its folder; NodeError for any other file system.
"""

import hmac
from pathlib import Path
from urllib.parse import urlsplit

from azure_gpu.formats import azure_types
from localazure.arm.store import Body
from localazure.batch.failures import NodeError
from localazure.kinds import storage_accounts as storage
from localazure.services import Services

_SHARE = "azureFileShareConfiguration"


def mount(configurations: list[Body], root: Path, services: Services) -> None:
    for configuration in configurations:
        share = configuration.get(_SHARE)
        if not share:
            kind = next(iter(configuration), "")
            raise _refused(kind, f"The embedded Azure does not implement {kind} on nodes")
        _mount_share(share, root, services)


def folders(configurations: list[Body], services: Services) -> list[Path]:
    """Where the files of the shares lie that a pool mounts."""
    shares = [share for each in configurations if (share := each.get(_SHARE))]
    return [storage.share_folder(services.settings, str(share.get("accountName") or ""), _name_of(share)) for share in shares]


def _mount_share(share: Body, root: Path, services: Services) -> None:
    name, path = str(share.get("accountName") or ""), str(share.get("relativeMountPath") or "").strip("/")
    accounts = services.store.named(azure_types.STORAGE_ACCOUNT.arm_type, name)
    if not accounts or accounts[0].properties.get("allowSharedKeyAccess") is False:
        raise _refused(path, f"the storage account {name} {'takes no key' if accounts else 'is not there'}")
    given = str(share.get("accountKey") or "")
    if not any(hmac.compare_digest(key["value"].encode(), given.encode()) for key in accounts[0].private["keys"].values()):
        raise _refused(path, f"the key isn't one of the storage account {name}")
    requested = _name_of(share)
    if not storage.SHARE_NAME.fullmatch(requested):
        raise _refused(path, f"the address names no share; a share's name takes {storage.SHARE_RULE}")
    mounts = root / "fsmounts"
    link = mounts / path
    if not path or ".." in Path(path).parts:
        raise _refused(path, "relativeMountPath points outside the folder of mounts")
    folder = storage.share_folder(services.settings, name, requested)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    link.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if link.is_symlink():
        link.unlink()
    link.symlink_to(folder, target_is_directory=True)


def _name_of(share: Body) -> str:
    return urlsplit(str(share.get("azureFileUrl") or "")).path.strip("/").split("/")[-1]


def _refused(path: str, why: str) -> NodeError:
    return NodeError("MountConfigurationError", MountPath=path, Message=why)
