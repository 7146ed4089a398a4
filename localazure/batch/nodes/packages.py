"""Application packages on nodes: downloaded from the account's storage, unpacked below `applications`, with a variable each.

References are a pool's (ids of applications or versions). A variable has the folder of each package. The names of variables on
Linux nodes are there as the id is spelt and in lower case: users have seen both.
"""

import errno
import shutil
import zipfile
import zlib
from datetime import timedelta
from pathlib import Path

from azure_gpu.catalog.services.batch import packages
from localazure.arm.store import Body, Resource
from localazure.batch.failures import NodeError
from localazure.batch.nodes.node import Node
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.kinds import batch_packages
from localazure.kinds.batch_packages import PackageSource
from localazure.services import Services
from localazure.waiting import to_its_end

_SPARE_BYTES = 1 << 30  # that a package leaves free


class _PackageError(Exception):
    """A package that isn't available. The message has the reason."""


async def of_pool(references: list[Body], node: Node) -> dict[str, str]:
    """A pool's packages, unpacked again. NodeError where one isn't available."""
    resource = node.context.services.store.get(node.context.account)
    found: dict[str, str] = {}
    for reference in references:
        named = batch_packages.referred(reference, resource) if isinstance(resource, Resource) else None
        try:
            if named is None:
                raise _PackageError("this Batch account has no such application")
            found |= await _install(*named, node)
        except _PackageError as error:
            raise NodeError("ApplicationPackageError", ApplicationPackage=str(reference.get("id")), Message=str(error)) from error
    return found


async def _install(application: str, version: str, node: Node) -> dict[str, str]:
    context = node.context
    source = batch_packages.source(context.account, application, version, context.services)
    if source is None:
        raise _PackageError(f"{application} {version or '(default version)'} isn't there, or isn't active")
    # An "@" stands in no name, so that `a1` in version `0` lies apart from `a` in version `10`.
    folder = node.root / "applications" / f"{source.application}@{source.version}".lower()
    await _fetch(source, folder, context.blobs, context.services)
    name = packages.variable(source.application, source.version if version else "", "Linux")
    lower = packages.variable(source.application.lower(), source.version.lower() if version else "", "Linux")
    return {name: str(folder), lower: str(folder)}


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
