"""Downloads resource files to a node before a task, and uploads output files after it.

TaskError has the service's codes. Blobs are reached through `Blobs`, as whom the reference says: with one of the pool's own
identities, or only by the address. Everything below the task's folder may be of the task's own making, links and pipes included,
and nothing here follows one out of it.
"""

import asyncio
import glob
import os
import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from localazure.arm.store import Body
from localazure.batch.failures import TaskError
from localazure.batch.nodes import mounts
from localazure.batch.nodes.node import Node
from localazure.batch.pool_settings import PoolSettings
from localazure.blobs.errors import BlobError

_DEFAULT_MODE = 0o770
_CONDITIONS = {"tasksuccess": (True,), "taskfailure": (False,), "taskcompletion": (True, False)}
_WILDCARDS = re.compile(r"[*?\[]")
_MODE = re.compile("(?:0o?)?([0-7]{1,4})")  # documentation of fileMode: in octal form
OUT, ERR = "fileuploadout.txt", "fileuploaderr.txt"  # what an upload writes beside stdout.txt


async def fetch(files: list[Body] | None, folder: Path, node: Node) -> None:
    """Brings resource files into `folder`, in order, which is made."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    settings, blobs = node.settings, node.context.blobs
    for file in files or ():
        target = await asyncio.to_thread(_inside, folder, str(file.get("filePath") or ""))
        mode = _mode(str(file.get("fileMode") or ""))
        try:
            identity = _identity(file, settings)
            if file.get("httpUrl"):
                if target == folder:
                    raise TaskError("ResourceFileWriteFailed", Message="a resource file with httpUrl requires filePath")
                came = await blobs.fetch(file["httpUrl"], "", target, identity)
            else:
                url = file.get("storageContainerUrl")
                if not url:
                    url, identity = auto_storage(node, str(file.get("autoStorageContainerName") or ""))
                came = await blobs.fetch(url, str(file.get("blobPrefix") or ""), target, identity)
        except BlobError as error:
            raise TaskError(_DOWNLOAD.get(error.status, "BlobDownloadMiscError"), **_told(file, error)) from error
        except OSError as error:
            raise TaskError("ResourceFileWriteFailed", Message=str(error.strerror or error)) from error
        await asyncio.to_thread(_set_modes, came, mode)


_DOWNLOAD = {401: "BlobAccessDenied", 403: "BlobAccessDenied", 404: "BlobNotFound", 409: "BlobAccessDenied"}
_UPLOAD = {401: "FileUploadAccessDenied", 403: "FileUploadAccessDenied", 404: "FileUploadContainerNotFound"}


async def upload(files: list[Body] | None, folder: Path, env: dict[str, str], node: Node, *, succeeded: bool) -> None:
    """Sends output files on, those whose condition holds. `folder`: the task's; `env`: its variables, for the patterns."""
    chosen = [file for file in files or () if succeeded in _CONDITIONS[_condition(file)]]
    if not chosen:
        return
    settings, services = node.settings, node.context.services
    out, problem = [], None
    for file in chosen:
        container: Body = (file.get("destination") or {}).get("container") or {}
        pattern = str(file.get("filePattern") or "")
        shares = mounts.folders(settings.mounts, services)
        found = await asyncio.to_thread(matches, pattern, folder / "wd", env, services.settings.state, shares)
        wild = _WILDCARDS.search(pattern) is not None
        for path, below in found:
            prefix = str(container.get("path") or "")
            blob = f"{prefix.rstrip('/')}/{below}" if wild and prefix else (prefix or below)
            try:
                identity = _identity(container, settings)
                await node.context.blobs.upload(path, str(container.get("containerUrl") or ""), blob, identity)
                out.append(f"{path} -> {blob}")
            except BlobError as error:
                problem = TaskError(_UPLOAD.get(error.status, "FileUploadMiscError"), FilePath=str(path), **_message(error))
            except OSError as error:
                problem = TaskError("FileUploadMiscError", FilePath=str(path), Message=str(error.strerror or error))
            if problem is not None:
                break
        if problem is not None:
            break
    await asyncio.to_thread(_write, folder / OUT, "".join(line + "\n" for line in out))
    await asyncio.to_thread(_write, folder / ERR, "" if problem is None else f"{problem}\n")
    if problem is not None:
        raise problem


def matches(pattern: str, working: Path, env: dict[str, str], state: Path, shares: Sequence[Path] = ()) -> list[tuple[Path, str]]:
    """The files that a pattern means, each with its path below the part of the pattern that has no wildcard.

    A pattern may lead anywhere on the machine, as on a real node; but of what the embedded Azure itself keeps in `state` only the
    node's own folder and the `shares` that it has mounted are on its machine.
    """
    own = [one.resolve() for one in (Path(env["AZ_BATCH_NODE_ROOT_DIR"]), *shares)]
    expanded = re.sub(r"\$(\w+)|\$\{(\w+)\}", lambda name: env.get(name[1] or name[2], ""), pattern)
    whole = expanded if expanded.startswith("/") else os.path.join(glob.escape(str(working)), expanded)  # noqa: PTH118
    fixed = _WILDCARDS.split(expanded)[0]
    base = Path(os.path.join(working, fixed if expanded == fixed else fixed.rpartition("/")[0]))  # noqa: PTH118
    files = sorted(Path(one) for one in glob.glob(whole, recursive=True) if os.path.isfile(one))  # noqa: PTH207, PTH113
    found = [one for one in files if not _lies_in(one, [state.resolve()]) or _lies_in(one, own)]
    return [(one, one.name if one == base else os.path.relpath(one, base)) for one in found]


def auto_storage(node: Node, container: str) -> tuple[str, str | None]:
    """The address of a container in the account's auto-storage, and as whom nodes reach it."""
    blobs, services = node.context.blobs, node.context.services
    resource = services.store.get(node.context.account)
    storage: Body = (resource.properties.get("autoStorage") or {}) if resource else {}
    storage_id = str(storage.get("storageAccountId") or "")
    if not storage_id:
        raise TaskError("BlobNotFound", Message="the Batch account has no auto-storage account")
    name = storage_id.rsplit("/", 1)[-1]
    identity = _identity({"identityReference": storage.get("nodeIdentityReference")}, node.settings)
    if identity:
        return blobs.container_url(name, container), identity
    until = services.clock.now() + timedelta(hours=1)
    return blobs.sas_url(name, container, "", "rl", until), None  # the service signs the address for its nodes


def _condition(file: Body) -> str:
    given = str((file.get("uploadOptions") or {}).get("uploadCondition") or "taskcompletion").lower()
    return given if given in _CONDITIONS else "taskcompletion"


def _identity(reference: Body, settings: PoolSettings) -> str | None:
    """Documentation of identityReference in azure-batch 15.1's models: a user-assigned identity that the pool has."""
    identity = str((reference.get("identityReference") or {}).get("resourceId") or "")
    if identity and identity.lower() not in {one.lower() for one in settings.identities}:
        name = identity.rsplit("/", 1)[-1]
        raise BlobError(403, "AuthorizationFailure", f"The identity {name} isn't among the pool's own identities.")
    return identity or None


def _mode(text: str) -> int:
    found = _MODE.fullmatch(text)
    if text and found is None:
        raise TaskError("ResourceFileWriteFailed", Message=f"the fileMode {text[:20]!r} isn't an octal number")
    return int(found[1], 8) if found else _DEFAULT_MODE


def _lies_in(file: Path, folders: Sequence[Path]) -> bool:
    real = file.resolve()
    return any(real.is_relative_to(folder) for folder in folders)


def _write(file: Path, text: str) -> None:
    """Anew, whatever the task has put in its place."""
    file.unlink(missing_ok=True)
    file.write_text(text, encoding="utf-8")


def _inside(folder: Path, path: str) -> Path:
    target = Path(os.path.normpath(folder / path))
    if not target.is_relative_to(folder) or not target.resolve().is_relative_to(folder.resolve()):
        raise TaskError("ResourceFileWriteFailed", FilePath=path, Message="the path points outside the task's working directory")
    return target


def _set_modes(files: list[Path], mode: int) -> None:
    for file in files:
        file.chmod(mode)


def _told(file: Body, error: BlobError) -> dict[str, str]:
    url = str(file.get("httpUrl") or file.get("storageContainerUrl") or file.get("autoStorageContainerName") or "")
    return {"BlobSource": url.partition("?")[0], **_message(error)}  # what follows the question mark may be a signature


def _message(error: Any) -> dict[str, str]:
    return {"Message": f"{error.code}: {error.message}"}
