"""Arguments and validation of a container group's volumes: an empty folder, secret files, an Azure Files share, a git repository.

A share requires the storage account's key, an exception to using identities: Azure Files can't be mounted as an identity
(Microsoft Learn, container-instances-volume-azure-files).
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.container_instances.container import InitContainerSpec
from azure_gpu.shared.wording import give_secret


class AzureFileArgs(TypedDict):
    """A share of Azure Files. Plain, except the key."""

    share: NotRequired[str]
    """Name of the share. Required."""
    account: NotRequired[str]
    """Name of its storage account. Required."""
    key: NotRequired[pulumi.Input[str]]
    """Wired: a key of the storage account, encrypted in the stack file and in the state. Required, as Azure Files can't be
    mounted as an identity. The account must allow shared keys, which the stack's own doesn't."""
    read_only: NotRequired[bool]
    """Whether the volume is read-only for all containers. Default: false."""


class GitRepoArgs(TypedDict):
    """A git repository that is cloned when the group starts. All of it is plain."""

    repository: NotRequired[str]
    """URL of the repository, https://…, without a password, as it is visible to everybody who may read the group. Required."""
    directory: NotRequired[str]
    """Folder in the volume to clone into; `.` is the volume itself. Default: the repository's name."""
    revision: NotRequired[str]
    """Commit to check out. Default: the newest."""


class VolumeArgs(TypedDict):
    """A volume for containers of the group. Exactly one of the keys."""

    empty_dir: NotRequired[bool]
    """Plain: true creates an empty folder with the lifetime of the group, by which containers can share files."""
    secret: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: secret files, the text by the file's name. They are kept in memory, encrypted in the stack file and in the state,
    and never shown by Azure."""
    azure_file: NotRequired[AzureFileArgs]
    """A share of Azure Files, which outlives the group. It requires the account's key."""
    git_repo: NotRequired[GitRepoArgs]
    """A git repository that is cloned when the group starts."""


KINDS = ("empty_dir", "secret", "azure_file", "git_repo")


def problems_of(volumes: Mapping[str, VolumeArgs], containers: Sequence[InitContainerSpec], path: str) -> list[Problem]:
    """Validates the volumes of the group at `path`, and the mounts of its containers."""
    problems: list[Problem] = []
    for name, volume in volumes.items():
        here = f"{path}.volumes.{name}"
        problems += [*names.check(names.VOLUME, name, here), *_kind_problems(volume, here)]
        problems += _share_problems(volume["azure_file"], f"{here}.azure_file") if "azure_file" in volume else []
        problems += _repository_problems(volume["git_repo"], f"{here}.git_repo") if "git_repo" in volume else []
        problems += _secret_problems(volume["secret"], f"{here}.secret") if "secret" in volume else []
    return [*problems, *_mount_problems(volumes, containers, path)]


def _kind_problems(volume: VolumeArgs, path: str) -> list[Problem]:
    given = [kind for kind in KINDS if kind in volume]
    if given == ["empty_dir"] and not volume.get("empty_dir"):
        fix = "write true, or remove the volume"
        return [Problem(path=f"{path}.empty_dir", message="must be true", value=False, allowed="true", fix=fix)]
    if len(given) == 1:
        return []
    return [
        Problem(
            path=path,
            message="set exactly one kind of volume",
            value=", ".join(given) or None,
            allowed=", ".join(KINDS),
            fix="keep one, and add a separate volume for each of the others"
            if given
            else "write empty_dir: true, or another one",
        )
    ]


def _share_problems(share: AzureFileArgs, path: str) -> list[Problem]:
    problems = [
        Problem(path=f"{path}.{key}", message="required, but not set", fix=f"add {key}")
        for key in ("share", "account")
        if not share.get(key)
    ]
    if "account" in share:
        problems += names.check("Microsoft.Storage/storageAccounts", share["account"], f"{path}.account")
    if "key" not in share:
        problems.append(
            Problem(
                path=f"{path}.key",
                message="required: a share is mounted with a key of its storage account",
                allowed="a secret",
                fix=f"{give_secret(f'{path}.key')}; `az storage account keys list` shows the keys",
                source="Microsoft Learn, container-instances-volume-azure-files: no mount as an identity, 2024-08-29",
            )
        )
    return problems


def _repository_problems(repository: GitRepoArgs, path: str) -> list[Problem]:
    problems: list[Problem] = []
    address = repository.get("repository", "")
    shown = None if "@" in address else address or None  # it may contain a password
    if not address.startswith(("https://", "http://")):
        problems.append(
            Problem(
                path=f"{path}.repository",
                message="not a valid URL of a git repository" if address else "required, but not set",
                value=shown,
                allowed="https://<host>/<repository>",
                fix="write the address that `git clone` takes over HTTPS",
                source="Microsoft Learn, container-instances-volume-gitrepo, 2024-08-29",
            )
        )
    elif "@" in address.removeprefix("https://").removeprefix("http://").split("/", 1)[0]:
        problems.append(
            Problem(
                path=f"{path}.repository",
                message="the URL holds a user name or a password, which everybody who may read the group could read",
                allowed="a URL without them",
                fix="clone in an init container that gets the password in secret_environment, into a volume that is empty_dir",
            )
        )
    directory = repository.get("directory", ".")
    if ".." in directory or directory.startswith("/"):
        problems.append(
            Problem(
                path=f"{path}.directory",
                message="must be a folder in the volume",
                value=directory,
                allowed="a folder's name, or . for the volume itself; never ..",
                fix="remove it, or write a name",
                source="Microsoft Learn, container-instances-volume-gitrepo, 2024-08-29",
            )
        )
    return problems


def _secret_problems(files: Mapping[str, object], path: str) -> list[Problem]:
    misnamed = [file for file in files if "/" in file or file in ("", ".", "..")]
    problems = [
        Problem(
            path=f"{path}.{file}",
            message="not a valid file name",
            value=file,
            allowed="a name without a slash",
            fix="write only the name; the folder is set by `path` of the mount",
        )
        for file in misnamed
    ]
    if not files:
        problems.append(Problem(path=path, message="at least one file is required", fix="add <file>: <secret text>"))
    return problems


def _mount_problems(volumes: Mapping[str, VolumeArgs], containers: Sequence[InitContainerSpec], path: str) -> list[Problem]:
    mounts = [(container, mount) for container in containers for mount in container.mounts]
    unknown = [
        Problem(
            path=f"{container.path}.mounts.{mount.volume}",
            message="the group has no volume of this name",
            value=mount.volume,
            allowed=", ".join(volumes) or "none: the group has no volumes",
            fix=f"add {path}.volumes.{mount.volume}, or mount another volume",
            code=Code.NOT_FOUND,
        )
        for container, mount in mounts
        if mount.volume not in volumes
    ]
    mounted = {mount.volume for _, mount in mounts}
    unused = [
        Problem(
            path=f"{path}.volumes.{name}",
            message="no container mounts this volume",
            fix=f"add mounts: {{{name}: {{path: /mnt/{name}}}}} to a container, or remove the volume",
            severity=Severity.WARNING,
        )
        for name in volumes
        if name not in mounted
    ]
    return [*unknown, *unused]
