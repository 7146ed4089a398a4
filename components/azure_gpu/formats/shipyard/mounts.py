"""Converts Shipyard's shared volumes to mounts of a pool, and its data volumes to `-v` options of a container."""

import re
from typing import Any

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats.left import Left
from azure_gpu.formats.shipyard.files import Accounts, volumes
from azure_gpu.formats.shipyard.part import Part

_ON_NODE = "$AZ_BATCH_NODE_MOUNTS_DIR"
_SHARED = re.compile(r"\$\{?AZ_BATCH_NODE_(?:SHARED|MOUNTS|ROOT)_DIR\}?/?")


def mounts_of(config: Part | None, accounts: Accounts) -> tuple[dict[str, Any], list[Left], list[str], list[Problem]]:
    """All shared volumes."""
    found, problems = volumes(config, "shared_data_volumes")
    mounts: dict[str, Any] = {}
    left: list[Left] = []
    secrets: list[str] = []
    for alias, volume in found:
        name = mount_name(alias, volume)
        mount = _mount(name, volume, accounts, left, secrets)
        if mount:
            mounts[name] = mount
            was = str(volume.get("container_path") or alias)
            left.append(volume.change("container_path", f"tasks find it at {_ON_NODE}/{name}, where they had {was}"))
        if volume.get("bind_options") == "ro":
            left.append(volume.leave("bind_options", "write access is an option of the mount", "options of the mount"))
    return mounts, left, secrets, problems


def mount_name(alias: str, volume: Part) -> str:
    """Its folder on the node: what its path in the container ends with."""
    path = _SHARED.sub("", str(volume.get("container_path") or ""))
    return re.sub(r"[^A-Za-z0-9_-]+", "-", path.strip("/")) or alias


def _mount(name: str, volume: Part, accounts: Accounts, left: list[Left], secrets: list[str]) -> dict[str, Any]:
    driver = str(volume.get("volume_driver") or "")
    link = str(volume.get("storage_account_settings") or "")
    account = accounts.storage.get(link, "")
    options = " ".join(volume.texts("mount_options"))
    extra = {"options": options} if options else {}
    if driver == "azureblob":
        container = str(volume.get("azure_blob_container_name") or "")
        if options:
            left.append(
                volume.leave("mount_options", "Batch mounts with blobfuse2, whose options are others", "options of blobfuse2")
            )
        message = f"the stack's own storage takes the place of the account behind {link or 'it'}"
        left.append(
            volume.change("storage_account_settings", message, f"account: {account or 'its name'}, with the right to read it")
        )
        return {"azure_blob": {"container": container}}
    if driver == "azurefile":
        share = str(volume.get("azure_file_share_name") or "")
        if not account:
            message = f"the account of {link or 'this'} is in the credentials, which are missing"
            left.append(volume.leave("storage_account_settings", message, f"mounts: {{{name}: {{azure_file: …}}}}"))
            return {}
        secrets.append(f"mounts.{name}.azure_file.key")
        url = f"https://{account}.file.core.windows.net/{share}"
        return {"azure_file": {"url": url, "account": account, **extra}}
    if driver == "custom_linux_mount" and str(volume.get("fstab_entry.fs_vfstype") or "").startswith("nfs"):
        options = str(volume.get("fstab_entry.fs_mntops") or "")
        source = str(volume.get("fstab_entry.fs_spec") or "")
        return {"nfs": {"source": source, **({"options": options} if options not in ("", "defaults") else {})}}
    what = {
        "storage_cluster": "Shipyard's own file server isn't made here",
        "glusterfs_on_compute": "a file system over the nodes' own disks isn't made here",
        "custom_linux_mount": "Batch mounts NFS, Azure Files and blobs, and no other file system",
    }.get(driver, "this kind of volume isn't known")
    left.append(volume.leave("volume_driver", what, f"mounts: {{{name}: {{nfs: {{source: …}}}}}}, or azure_blob"))
    return {}


def volume_options(volume: Part) -> str:
    """A data volume, as `docker run` takes it."""
    inside, outside = str(volume.get("container_path") or ""), str(volume.get("host_path") or "")
    mode = ":ro" if volume.get("bind_options") == "ro" else ""
    if not inside:
        return ""
    return f"-v {outside}:{inside}{mode}" if outside else f"-v {inside}"
