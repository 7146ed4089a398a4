"""Storage that the nodes of a Batch pool mount: blobs as the stack's identity, file shares by key, NFS by network.

In: `MountArgs` by path on the node. Out: the configuration as the provider takes it. What is refused is in
`batch_pool_mount_rules`.
"""

from collections.abc import Mapping
from typing import NotRequired, TypedDict

import pulumi
from pulumi_azure_native import batch

from azure_gpu.shared.context import Surroundings

KINDS = ("azure_blob", "azure_file", "nfs")


class BlobMountArgs(TypedDict):
    """A container of blobs, mounted as the stack's identity. All of it is plain."""

    container: str
    """Name of the container."""
    account: NotRequired[str]
    """Name of the storage account, on which the identity needs a role. Default: the stack's."""
    options: NotRequired[str]
    """Options of blobfuse. Default: none."""


class FileMountArgs(TypedDict):
    """A share of Azure Files, which Batch mounts by key alone. Plain, but for the key."""

    url: str
    """Web address of the share: https://<account>.file.core.windows.net/<share>."""
    account: str
    """Name of the storage account."""
    key: pulumi.Input[str]
    """Wired: a key of the account, encrypted in the stack file and in the state."""
    options: NotRequired[str]
    """Options of the mount. Default: none."""


class NfsMountArgs(TypedDict):
    """An NFS share, which the pool's subnet reaches. All of it is plain."""

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
    """The mounts as plain data, which tells one set of them from another: as they are declared, where `storage` is the stack's
    account. Keys of shares aren't in it."""
    found: list[dict[str, object]] = []
    for place, mount in sorted(mounts.items()):
        for kind in KINDS:
            of_kind: dict[str, object] = dict(mount.get(kind) or {})
            if kind == "azure_blob" and of_kind:
                of_kind.setdefault("account", storage)
            said = {key: value for key, value in sorted(of_kind.items()) if value and key != "key"}
            if said:
                found.append({"place": place, "kind": kind, **said})
    return found


def configuration(mounts: Mapping[str, MountArgs], args: Surroundings) -> "list[batch.MountConfigurationArgs] | None":
    """In the order of their paths, so that writing them in another order changes nothing."""
    return [_one(place, mount, args) for place, mount in sorted(mounts.items())] or None


def _one(place: str, mount: MountArgs, args: Surroundings) -> "batch.MountConfigurationArgs":
    if "azure_blob" in mount:
        blob = mount["azure_blob"]
        own = args["storage"]["name"] if "storage" in args else ""
        return batch.MountConfigurationArgs(
            azure_blob_file_system_configuration=batch.AzureBlobFileSystemConfigurationArgs(
                account_name=blob.get("account", own),
                container_name=blob["container"],
                relative_mount_path=place,
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
                relative_mount_path=place,
                mount_options=share.get("options") or None,
            )
        )
    nfs = mount.get("nfs", NfsMountArgs(source=""))
    return batch.MountConfigurationArgs(
        nfs_mount_configuration=batch.NFSMountConfigurationArgs(
            source=nfs["source"], relative_mount_path=place, mount_options=nfs.get("options") or None
        )
    )
