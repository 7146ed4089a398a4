"""Downloads model and code of a deployment from the embedded Azure's blob storage into a folder of this machine.

What is done is written into the log of the service's storage initializer, which clients can read.
"""

import asyncio
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from localazure.arm.store import Resource
from localazure.blobs.errors import BlobError
from localazure.blobs.service import Blobs
from localazure.kinds import ml_uris
from localazure.ml import failures
from localazure.ml.access import Identity
from localazure.services import Services

_VALID = timedelta(hours=1)


class InitializerLog:
    """The log of what is fetched before a container starts."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path

    def say(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ} {text}\n")


async def fetch(
    what: str,
    uri: str,
    target: Path,
    workspace: Resource,
    identity: Identity,
    log: InitializerLog,
    blobs: Blobs,
    services: Services,
) -> None:
    """The blob, or all blobs of the folder, that `uri` names, into the folder `target`. ArmError.

    `what`: "model", which keeps the last name of its path, as at the service; or "code", whose folder is the target.
    """
    place = ml_uris.blob_of(uri, workspace, services)
    if place is None:
        raise failures.of("BadArgument", f"User {what} download failed: '{uri}' isn't in the embedded Azure's blob storage.")
    log.say(f"Downloading {what} from {uri}")
    if not identity.may_read(place.account, place.container):
        log.say(f"AuthorizationPermissionMismatch: {identity.shown} may not read {place.account.id.name}/{place.container}")
        raise failures.not_authorized(
            identity.shown, "Storage Blob Data Reader", f"the storage account {place.account.id.name}", f"read the {what}"
        )
    count = await _into(place, target, blobs, services, named=what == "model")
    if not count:
        log.say(f"BlobNotFound: {place.account.id.name}/{place.container} has nothing at '{place.path}'")
        raise failures.of(
            "BadArgument",
            f"User {what} download failed: the container {place.container} of the storage account {place.account.id.name} has "
            f"no blob at '{place.path}'.",
        )
    log.say(f"Downloaded {count} files of the {what}")


async def _into(place: ml_uris.BlobPlace, target: Path, blobs: Blobs, services: Services, *, named: bool) -> int:
    """How many files came."""
    path = place.path.strip("/")
    half = target.with_name(f".{target.name}.half")
    await asyncio.to_thread(shutil.rmtree, half, ignore_errors=True)
    expires = services.clock.now() + _VALID
    account = place.account.id.name.lower()
    try:
        address = blobs.sas_url(account, place.container, "", "rl", expires)
        files = await blobs.fetch(address, f"{path}/" if path else "", half)
        if not files and path:
            one = half / path
            address = blobs.sas_url(account, place.container, path, "r", expires)
            files = await blobs.fetch(address, "", one)
    except BlobError:
        return 0
    whole = half / path if path else half
    in_folder = named or whole.is_file()
    await asyncio.to_thread(_moved, whole, target / (path.rsplit("/", 1)[-1] if path and in_folder else ""))
    await asyncio.to_thread(shutil.rmtree, half, ignore_errors=True)
    return len(files)


def _moved(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.move(source, target)
