"""Mounts of a Batch pool's nodes: blobs as the stack's identity, file shares by key, NFS by network."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_azure_native import batch

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.size_use import OperatingSystem
from azure_gpu.catalog.sources import observed
from azure_gpu.formats import azure_types
from azure_gpu.shared import arm_templates
from azure_gpu.shared.context import Dependencies
from azure_gpu.shared.wording import give_part, give_secret, has_no, without_part

_CONTAINERS_API = "2024-01-01"
_UNUSABLE = observed("MicrosoftDocs/azure-docs, articles/batch/virtual-file-mount.md", 2021, 11, 11)
KINDS = ("azure_blob", "azure_file", "nfs")


class BlobMountArgs(TypedDict):
    """A container of blobs, mounted as the stack's identity. All of it is plain."""

    container: str
    """Name of the container, which is created if the stack creates the account."""
    account: NotRequired[str]
    """Name of the storage account, on which the identity must have a role. Default: the stack's."""
    options: NotRequired[str]
    """Options of blobfuse. Default: none."""


class FileMountArgs(TypedDict):
    """A share of Azure Files, which Batch mounts only by key. Plain, except the key."""

    url: str
    """URL of the share: https://<account>.file.core.windows.net/<share>."""
    account: str
    """Name of the storage account."""
    key: pulumi.Input[str]
    """Wired: a key of the account, encrypted in the stack file and in the state."""
    options: NotRequired[str]
    """Options of the mount. Default: none."""


class NfsMountArgs(TypedDict):
    """An NFS share that the pool's subnet can reach. All of it is plain."""

    source: str
    """The share, such as account.blob.core.windows.net:/account/container."""
    options: NotRequired[str]
    """Options of the mount. Default: none."""


class MountArgs(TypedDict):
    """One mount. Exactly one of the keys."""

    azure_blob: NotRequired[BlobMountArgs]
    """A container of blobs."""
    azure_file: NotRequired[FileMountArgs]
    """A share of Azure Files."""
    nfs: NotRequired[NfsMountArgs]
    """An NFS share."""


def without_secrets(mounts: Mapping[str, MountArgs], storage: str) -> list[dict[str, object]]:
    """Returns the mounts as plain data without keys, for comparison. `storage`: the stack's account."""
    found: list[dict[str, object]] = []
    for mount_path, mount in sorted(mounts.items()):
        for kind in KINDS:
            # pyrefly: ignore[no-matching-overload]
            of_kind: dict[str, object] = dict(mount.get(kind) or {})
            if kind == "azure_blob" and of_kind:
                of_kind.setdefault("account", storage)
            values = {key: value for key, value in sorted(of_kind.items()) if value and key != "key"}
            if values:
                found.append({"place": mount_path, "kind": kind, **values})
    return found


def own_containers(mounts: Mapping[str, MountArgs], storage: str) -> tuple[str, ...]:
    """Returns the mounted containers of the stack's account `storage`, without those that Azure creates."""
    blobs = [mount["azure_blob"] for mount in mounts.values() if "azure_blob" in mount]
    own = {blob["container"] for blob in blobs if blob.get("account", storage) == storage}
    return tuple(sorted(container for container in own if not container.startswith("$")))


def template(account: pulumi.Input[str], containers: Sequence[str]) -> dict[str, Any]:
    """Builds the deployment that creates the containers. It may include existing containers, created by hand or by another pool,
    and keeps them when the pool is deleted; a resource for the container itself would do neither."""
    made = [
        {
            "type": azure_types.BLOB_CONTAINER.arm_type,
            "apiVersion": _CONTAINERS_API,
            "name": pulumi.Output.concat(account, f"/default/{container}"),
            "properties": {"publicAccess": "None"},
        }
        for container in containers
    ]
    return arm_templates.template(made, {})


def configuration(mounts: Mapping[str, MountArgs], args: Dependencies) -> "list[batch.MountConfigurationArgs] | None":
    """Returns the configuration sorted by path, so that the order in the settings has no effect."""
    return [_one(mount_path, mount, args) for mount_path, mount in sorted(mounts.items())] or None


def _one(mount_path: str, mount: MountArgs, args: Dependencies) -> "batch.MountConfigurationArgs":
    if "azure_blob" in mount:
        blob = mount["azure_blob"]
        own = args["storage"]["name"] if "storage" in args else ""
        return batch.MountConfigurationArgs(
            azure_blob_file_system_configuration=batch.AzureBlobFileSystemConfigurationArgs(
                account_name=blob.get("account", own),
                container_name=blob["container"],
                relative_mount_path=mount_path,
                blobfuse_options=blob.get("options") or None,
                identity_reference=batch.ComputeNodeIdentityReferenceArgs(resource_id=args.get("identity_id")),
            )
        )
    if "azure_file" in mount:
        share = mount["azure_file"]
        return batch.MountConfigurationArgs(
            azure_file_share_configuration=batch.AzureFileShareConfigurationArgs(
                account_name=share["account"],
                azure_file_url=share["url"],
                account_key=pulumi.Output.secret(share["key"]),
                relative_mount_path=mount_path,
                mount_options=share.get("options") or None,
            )
        )
    nfs = mount.get("nfs", NfsMountArgs(source=""))
    return batch.MountConfigurationArgs(
        nfs_mount_configuration=batch.NFSMountConfigurationArgs(
            source=nfs["source"], relative_mount_path=mount_path, mount_options=nfs.get("options") or None
        )
    )


_LINUX_ONLY = "Microsoft Learn, batch/virtual-file-mount: blobs and NFS are mounted on Linux nodes only, read 2026-11-20"
_SHARE = re.compile(r"https://([^./\s]+)\.file\.[^/\s?#]+/[^\s?#]+")
_EXPORT = re.compile(r"(?:\[[0-9A-Fa-f:]+\]|[^\s:/\[\]]+):/\S*")


def mount_problems(mounts: Mapping[str, MountArgs], system: OperatingSystem, path: str) -> Iterator[Problem]:
    """Validates the mounts at `path` by themselves."""
    for mount_path, mount in mounts.items():
        here = f"{path}.{mount_path}"
        kinds = [kind for kind in KINDS if kind in mount]
        if len(kinds) != 1:
            yield refused("mount.kinds", here, ", ".join(kinds) or None, kinds=", ".join(KINDS))
        if not mount_path or mount_path.startswith(("/", "\\")) or ".." in mount_path.replace("\\", "/").split("/"):
            yield refused("mount.bad_path", here, mount_path)
        if system == "Windows":
            for kind in ("azure_blob", "nfs"):
                if kind in mount:
                    yield refused("mount.on_windows", f"{here}.{kind}", kind, source=_LINUX_ONLY)
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
        name = "mount.bad_share" if address is None else "mount.share_of_other_account"
        yield refused(name, f"{path}.url", mount["url"], account=account)
    if isinstance(mount["key"], str) and not mount["key"].strip():
        yield refused("mount.no_key", f"{path}.key", fix=give_secret(f"{path}.key"))


def _export(mount: NfsMountArgs, path: str) -> Iterator[Problem]:
    if not _EXPORT.fullmatch(mount["source"]):
        yield refused("mount.bad_export", f"{path}.source", mount["source"])


def needs_problems(mounts: Mapping[str, MountArgs], path: str, *, identity: bool, storage: bool) -> Iterator[Problem]:
    """Yields problems for parts of the foundation that the mounts require and that are missing."""
    for mount_path, mount in mounts.items():
        if "azure_blob" not in mount:
            continue
        if not identity:
            yield without_part("mount.blobs_without_identity", f"{path}.{mount_path}.azure_blob", "identity")
        if "account" not in mount["azure_blob"] and not storage:
            words = {"without": has_no(path, "storage account"), "give": give_part(path, "storage")}
            yield refused("mount.no_account", f"{path}.{mount_path}.azure_blob.account", **words)


def unmanaged_containers(mounts: Mapping[str, MountArgs], own: Collection[str], storage: str, path: str) -> Iterator[Problem]:
    """Warns of mounted containers that the program doesn't create. `own`: those that it creates in the account `storage`."""
    for mount_path, mount in mounts.items():
        blob = mount.get("azure_blob")
        account = blob.get("account", storage) if blob is not None else ""
        if blob is None or not account or (account == storage and blob["container"] in own):
            continue
        yield refused(
            "mount.container_not_managed",
            f"{path}.{mount_path}.azure_blob.container",
            blob["container"],
            source=_UNUSABLE,
            account=account,
        )
