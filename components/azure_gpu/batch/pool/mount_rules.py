"""What is wrong with the mounts of a Batch pool: what no node can mount, and what the stack lacks for them.

In: `MountArgs` by path on the node. Out: problems.
"""

import re
from collections.abc import Iterator, Mapping

from azure_gpu.batch.pool.mounts import KINDS, BlobMountArgs, FileMountArgs, MountArgs, NfsMountArgs
from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.formats import azure_types

_LINUX_ALONE = "Microsoft Learn, batch/virtual-file-mount: blobs and NFS are mounted on Linux nodes alone, read 2026-11-20"
_SHARE = re.compile(r"https://([^./\s]+)\.file\.[^/\s?#]+/[^\s?#]+")
_EXPORT = re.compile(r"(?:\[[0-9A-Fa-f:]+\]|[^\s:/\[\]]+):/\S*")


def mount_problems(mounts: Mapping[str, MountArgs], system: OperatingSystem, path: str) -> Iterator[Problem]:
    """What is wrong with the mounts by themselves. `path` is where they are written."""
    for place, mount in mounts.items():
        here = f"{path}.{place}"
        kinds = [kind for kind in KINDS if kind in mount]
        if len(kinds) != 1:
            yield Problem(
                path=here,
                message="a mount is one kind of storage",
                value=", ".join(kinds) or None,
                allowed=f"exactly one of {', '.join(KINDS)}",
                fix="keep one",
            )
        if not place or place.startswith(("/", "\\")) or ".." in place.replace("\\", "/").split("/"):
            yield Problem(
                path=here,
                message="this is no path below the node's folder of mounts",
                value=place,
                allowed="a relative path, such as data",
                fix="write data",
            )
        if system is OperatingSystem.WINDOWS:
            for kind in ("azure_blob", "nfs"):
                if kind in mount:
                    yield Problem(
                        path=f"{here}.{kind}",
                        message="nodes with Windows mount shares of Azure Files alone",
                        value=kind,
                        allowed="azure_file",
                        fix="use azure_file, or a Linux pool",
                        source=_LINUX_ALONE,
                        code=Code.IMPOSSIBLE,
                    )
        if "azure_blob" in mount:
            yield from _blobs(mount["azure_blob"], f"{here}.azure_blob")
        if "azure_file" in mount:
            yield from _share(mount["azure_file"], f"{here}.azure_file")
        if "nfs" in mount:
            yield from _export(mount["nfs"], f"{here}.nfs")


def _blobs(mount: BlobMountArgs, path: str) -> Iterator[Problem]:
    yield from names.check(azure_types.BLOB_CONTAINER.arm_type, mount["container"], f"{path}.container")
    if "account" in mount:
        yield from names.check(azure_types.STORAGE_ACCOUNT.arm_type, mount["account"], f"{path}.account")


def _share(mount: FileMountArgs, path: str) -> Iterator[Problem]:
    wrong = names.check(azure_types.STORAGE_ACCOUNT.arm_type, mount["account"], f"{path}.account")
    yield from wrong
    address = _SHARE.fullmatch(mount["url"])
    if address is None or (not wrong and address[1].lower() != mount["account"]):
        account = mount["account"] if not wrong else "<account>"
        yield Problem(
            path=f"{path}.url",
            message="this is no web address of a share of Azure Files" if address is None else "this share is of another account",
            value=mount["url"],
            allowed=f"https://{account}.file.core.windows.net/<share>",
            fix="copy the share's URL whole, without a signature",
        )
    if isinstance(mount["key"], str) and not mount["key"].strip():
        yield Problem(
            path=f"{path}.key",
            message="a share is mounted by a key of its account, and this is none",
            allowed="a key, encrypted",
            fix=f"pulumi config set --secret --path 'azure-gpu:{path}.key'",
        )


def _export(mount: NfsMountArgs, path: str) -> Iterator[Problem]:
    if not _EXPORT.fullmatch(mount["source"]):
        yield Problem(
            path=f"{path}.source",
            message="this is no NFS share",
            value=mount["source"],
            allowed="<host>:/<path>, such as account.blob.core.windows.net:/account/container",
            fix="write the host, a colon and the path",
        )


def needs_problems(mounts: Mapping[str, MountArgs], path: str, *, identity: bool, storage: bool) -> Iterator[Problem]:
    """What the mounts need of the foundation and don't find there."""
    for place, mount in mounts.items():
        if "azure_blob" not in mount:
            continue
        if not identity:
            yield Problem(
                path=f"{path}.{place}.azure_blob",
                message="blobs are mounted as the stack's identity, and there is none",
                allowed="with foundation.identity alone",
                fix="add identity: create to the foundation",
            )
        if "account" not in mount["azure_blob"] and not storage:
            yield Problem(
                path=f"{path}.{place}.azure_blob.account",
                message="the stack has no storage account, and none is named here",
                allowed="the name of a storage account",
                fix="name one, or add storage: create to the foundation",
            )


def with_keys(mounts: Mapping[str, MountArgs]) -> list[str]:
    """The paths of the mounts that have a key."""
    return [place for place, mount in mounts.items() if "azure_file" in mount]
