"""The volumes of a container group: an empty folder, secret files, a share of Azure Files, a git repository.

In: `VolumeArgs` by name, and the containers that mount them. Out: problems. Nothing is decided here: a volume is declared as it
is said. A share is reached with the storage account's key, an exception to identities over keys: Azure Files can't be mounted as
an identity (Microsoft Learn, container-instances-volume-azure-files).
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Code, Problem, Severity
from azure_gpu.container_instances.container import InitContainerSpec
from azure_gpu.shared.wording import give_secret


class AzureFileArgs(TypedDict):
    """A share of Azure Files. Plain, but for the key."""

    share: NotRequired[str]
    """Name of the share. Needed."""
    account: NotRequired[str]
    """Name of the storage account that holds it. Needed."""
    key: NotRequired[pulumi.Input[str]]
    """Wired: a key of the storage account, encrypted in the stack file and in the state. Needed: Azure Files can't be mounted as
    an identity. The account has to allow shared keys, which the stack's own doesn't."""
    read_only: NotRequired[bool]
    """True keeps all containers from writing. Default: false."""


class GitRepoArgs(TypedDict):
    """A git repository that is cloned when the group starts. All of it is plain."""

    repository: NotRequired[str]
    """Address of the repository, https://…; no password in it, as everybody who may read the group reads it. Needed."""
    directory: NotRequired[str]
    """Folder in the volume to clone into; `.` is the volume itself. Default: the repository's name."""
    revision: NotRequired[str]
    """Commit to take. Default: the newest, which is another one every day."""


class VolumeArgs(TypedDict):
    """A volume that containers of the group mount. Exactly one of the keys."""

    empty_dir: NotRequired[bool]
    """Plain: true makes an empty folder that lives as long as the group, so that containers can pass files on."""
    secret: NotRequired[Mapping[str, pulumi.Input[str]]]
    """Wired: files that nobody may read outside of the containers, by the file's name, each with its text. They are kept in
    memory; encrypted in the stack file and in the state, never shown by Azure."""
    azure_file: NotRequired[AzureFileArgs]
    """A share of Azure Files, which outlives the group. With the account's key: an exception to identities over keys."""
    git_repo: NotRequired[GitRepoArgs]
    """A git repository that is cloned when the group starts."""


KINDS = ("empty_dir", "secret", "azure_file", "git_repo")


def problems_of(volumes: Mapping[str, VolumeArgs], containers: Sequence[InitContainerSpec], path: str) -> list[Problem]:
    """What is wrong with the volumes of the group at `path`, and with what its containers mount."""
    problems: list[Problem] = []
    for name, volume in volumes.items():
        here = f"{path}.volumes.{name}"
        problems += [*names.check(names.VOLUME, name, here), *_kind_problems(volume, here)]
        problems += _share_problems(volume["azure_file"], f"{here}.azure_file") if "azure_file" in volume else []
        problems += _repository_problems(volume["git_repo"], f"{here}.git_repo") if "git_repo" in volume else []
        problems += _secret_problems(volume["secret"], f"{here}.secret") if "secret" in volume else []
    return [*problems, *_mount_problems(volumes, containers, path)]


def _kind_problems(volume: VolumeArgs, path: str) -> list[Problem]:
    said = [kind for kind in KINDS if kind in volume]
    if said == ["empty_dir"] and not volume.get("empty_dir"):
        fix = "write true, or leave the volume out"
        return [Problem(path=f"{path}.empty_dir", message="false makes no volume", value=False, allowed="true", fix=fix)]
    if len(said) == 1:
        return []
    return [
        Problem(
            path=path,
            message="a volume is exactly one of these",
            value=", ".join(said) or None,
            allowed=", ".join(KINDS),
            fix="keep one, and give the others a volume of their own" if said else "write empty_dir: true, or another one",
        )
    ]


def _share_problems(share: AzureFileArgs, path: str) -> list[Problem]:
    problems = [
        Problem(path=f"{path}.{key}", message=f"the {what} is needed and not given", fix=f"add {key}")
        for key, what in (("share", "share's name"), ("account", "storage account's name"))
        if not share.get(key)
    ]
    if "account" in share:
        problems += names.check("Microsoft.Storage/storageAccounts", share["account"], f"{path}.account")
    if "key" not in share:
        problems.append(
            Problem(
                path=f"{path}.key",
                message="a share is mounted with a key of its storage account, and there is none",
                allowed="a secret",
                fix=f"{give_secret(f'{path}.key')}; `az storage account keys list` shows the keys",
                source="Microsoft Learn, container-instances-volume-azure-files: no mount as an identity, 2024-08-29",
            )
        )
    return problems


def _repository_problems(repository: GitRepoArgs, path: str) -> list[Problem]:
    problems: list[Problem] = []
    address = repository.get("repository", "")
    shown = None if "@" in address else address or None  # a password may be in it
    if not address.startswith(("https://", "http://")):
        problems.append(
            Problem(
                path=f"{path}.repository",
                message="this is no address of a git repository" if address else "the repository is needed and not given",
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
                message="there is a name or password in the address, and everybody who may read the group would read it",
                allowed="an address without one",
                fix="clone in an init container that gets the password in secret_environment, into a volume that is empty_dir",
            )
        )
    directory = repository.get("directory", ".")
    if ".." in directory or directory.startswith("/"):
        problems.append(
            Problem(
                path=f"{path}.directory",
                message="the folder has to lie in the volume",
                value=directory,
                allowed="a folder's name, or . for the volume itself; never ..",
                fix="leave it out, or write a name",
                source="Microsoft Learn, container-instances-volume-gitrepo, 2024-08-29",
            )
        )
    return problems


def _secret_problems(files: Mapping[str, object], path: str) -> list[Problem]:
    misnamed = [file for file in files if "/" in file or file in ("", ".", "..")]
    problems = [
        Problem(
            path=f"{path}.{file}",
            message="this can't be the name of a file in the volume",
            value=file,
            allowed="a name without a slash",
            fix="write the name alone; where the volume is mounted says in which folder",
        )
        for file in misnamed
    ]
    if not files:
        problems.append(Problem(path=path, message="there is no file in this volume", fix="add <file>: <secret text>"))
    return problems


def _mount_problems(volumes: Mapping[str, VolumeArgs], containers: Sequence[InitContainerSpec], path: str) -> list[Problem]:
    mounts = [(container, mount) for container in containers for mount in container.mounts]
    unknown = [
        Problem(
            path=f"{container.path}.mounts.{mount.volume}",
            message="the group has no volume of this name",
            value=mount.volume,
            allowed=", ".join(volumes) or "none: the group has no volumes",
            fix=f"add {path}.volumes.{mount.volume}, or name another volume",
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
