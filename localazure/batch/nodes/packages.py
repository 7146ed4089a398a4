"""Application packages on nodes: downloaded from the account's storage, unpacked below `applications`, with a variable each.

References are a pool's (ids of applications or versions) or a task's (`applicationId`, `version`). A variable has the folder of
each package. The names of variables on Linux nodes are there as the id is spelt and in lower case: users have seen both.
"""

import asyncio
import contextlib
import errno
import shutil
import zipfile
import zlib
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

from azure_gpu.catalog.services.batch import packages
from localazure.arm.store import Body, Resource
from localazure.batch.failures import NodeError, TaskError
from localazure.batch.nodes.node import Node
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.kinds import batch_packages
from localazure.kinds.batch_packages import PackageSource
from localazure.services import Services
from localazure.waiting import to_its_end

_UNPACKED = ".unpacked"
_SPARE_BYTES = 1 << 30  # that a package leaves free


class _PackageError(Exception):
    """A package that isn't available. The message has the reason."""


async def of_pool(references: tuple[Body, ...], node: Node) -> dict[str, str]:
    """A pool's packages, unpacked again. NodeError where one isn't available."""
    resource = node.context.services.store.get(node.context.account)
    found: dict[str, str] = {}
    for reference in references:
        named = batch_packages.referred(reference, resource) if isinstance(resource, Resource) else None
        try:
            if named is None:
                raise _PackageError("this Batch account has no such application")
            found |= await _install(*named, node, anew=True)
        except _PackageError as error:
            raise NodeError("ApplicationPackageError", ApplicationPackage=str(reference.get("id")), Message=str(error)) from error
    return found


async def of_task(references: list[Body] | None, node: Node) -> dict[str, str]:
    """A task's packages, each unpacked once on a node. TaskError where one isn't available."""
    found: dict[str, str] = {}
    for reference in references or ():
        name = str(reference.get("applicationId") or "")
        try:
            found |= await _install(name, str(reference.get("version") or ""), node, anew=False)
        except _PackageError as error:
            raise TaskError("ApplicationPackageError", ApplicationPackage=name, Message=str(error)) from error
    return found


async def _install(application: str, version: str, node: Node, *, anew: bool) -> dict[str, str]:
    context = node.context
    source = batch_packages.source(context.account, application, version, context.services)
    if source is None:
        raise _PackageError(f"{application} {version or '(default version)'} isn't there, or isn't active")
    # An "@" stands in no name, so that `a1` in version `0` lies apart from `a` in version `10`.
    folder = node.root / "applications" / f"{source.application}@{source.version}".lower()
    async with _alone(folder):  # tasks that start together may want the same
        if anew or not (folder / _UNPACKED).is_file():
            await _fetch(source, folder, context.blobs, context.services)
    name = packages.variable(source.application, source.version if version else "", "Linux")
    lower = packages.variable(source.application.lower(), source.version.lower() if version else "", "Linux")
    return {name: str(folder), lower: str(folder)}


_installing: dict[Path, list[asyncio.Lock]] = {}  # by folder: its lock, once for each who has or awaits it


@contextlib.asynccontextmanager
async def _alone(folder: Path) -> AsyncIterator[None]:
    users = _installing.setdefault(folder, [])
    lock = users[0] if users else asyncio.Lock()
    users.append(lock)
    try:
        async with lock:
            yield
    finally:
        users.pop()
        if not users:
            del _installing[folder]


async def _fetch(source: PackageSource, folder: Path, blobs: Blobs, services: Services) -> None:
    file = folder.with_name(f".{folder.name}.zip")
    until = services.clock.now() + timedelta(hours=1)
    try:
        url = blobs.sas_url(source.account_name, source.container, source.blob, "r", until)
        await blobs.fetch(url, "", file, None)
        await to_its_end(_unpack, file, folder)
    except BlobError as error:
        raise _PackageError(f"{error.code}: {error.message}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
        raise _PackageError(f"invalid zip file: {str(error).lower()}") from error
    except RuntimeError as error:  # a password, or a way of compression that Python doesn't know
        raise _PackageError(f"it can't be unpacked: {error}") from error
    except OSError as error:
        raise _PackageError(str(error.strerror or error)) from error
    finally:
        file.unlink(missing_ok=True)


def _unpack(file: Path, folder: Path) -> None:
    """Modes that the file holds are kept. Python leads paths that would lead out into the folder, and makes no links."""
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(file) as content:
        size, free = sum(entry.file_size for entry in content.infolist()), shutil.disk_usage(file.parent).free
        if size > free - _SPARE_BYTES:  # no entry becomes larger than it says, so a bomb is known before it goes off
            raise OSError(errno.ENOSPC, f"it would take {size} bytes of this machine's {free} that are free")
        for entry in content.infolist():
            path = Path(content.extract(entry, folder))
            mode = entry.external_attr >> 16 & 0o777
            if mode and not entry.is_dir():
                path.chmod(mode | 0o400)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _UNPACKED).touch()
