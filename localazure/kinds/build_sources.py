"""The sources of a registry build: a folder of this server's own checkout, `<git URL>#<commit>:<folder>`, or a context that is
uploaded: an address to put a `tar.gz` at, and its content unpacked for one build.

The address carries its own permission, as the service's does, and holds for an hour. What is unpacked can't leave its folder:
archives with absolute paths, paths or links that lead outside, or devices fail the build, and so do those that are too large.
"""

import hashlib
import hmac
import lzma
import posixpath
import re
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from azure_gpu.formats import git
from localazure.arm.store import Body
from localazure.containers.build_log import BuildFailedError
from localazure.folder import random_secret
from localazure.services import Services, Settings

PATH = "/registry-sources"
LIFE = timedelta(hours=1)
MOST_BYTES = 512 * 1024 * 1024  # of an archive; ours, as the next two
MOST_UNPACKED_BYTES = 4 * MOST_BYTES
MOST_FILES = 100_000
_CHUNK = 1024 * 1024
_DOWNLOAD, _STEP = "downloading the source", "unpacking the source"
_LOCATION = re.compile(r"source/[0-9]{12}/[0-9a-f]{32}\.tar\.gz")
_DOCUMENTS = "uploads/"


def offer(registry: str, services: Services) -> Body:
    """What `listBuildSourceUploadUrl` answers: where to upload to, and what the build calls it then."""
    now = services.clock.now()
    for name, kept in services.store.documents(_DOCUMENTS).items():
        if datetime.fromisoformat(kept["expires"]) <= now - timedelta(days=1):
            services.store.delete_document(name)
            _file(services.settings.state, kept["registry"], name.removeprefix(_DOCUMENTS)).unlink(missing_ok=True)
    location = f"source/{now:%Y%m%d%H%M}/{hashlib.md5(random_secret().encode(), usedforsecurity=False).hexdigest()}.tar.gz"
    signature = random_secret()
    kept: Body = {
        "registry": registry.lower(),
        "signature": hashlib.sha256(signature.encode()).hexdigest(),
        "expires": (now + LIFE).isoformat(),
    }
    services.store.put_document(_DOCUMENTS + location, kept)
    address = f"{services.settings.url}{PATH}/{registry.lower()}/{location}"
    return {"uploadUrl": f"{address}?sv=local&sp=w&se={quote(kept['expires'])}&sig={signature}", "relativePath": location}


def routes(services: Services) -> list[BaseRoute]:
    async def upload(request: Request) -> Response:
        registry, location = request.path_params["registry"].lower(), request.path_params["location"]
        kept = services.store.document(_DOCUMENTS + location)
        given = hashlib.sha256(request.query_params.get("sig", "").encode()).hexdigest()
        right = kept is not None and kept["registry"] == registry and hmac.compare_digest(kept["signature"], given)
        if kept is None or not right or datetime.fromisoformat(kept["expires"]) <= services.clock.now():
            return PlainTextResponse("The address isn't whole, or it is over: ask listBuildSourceUploadUrl.", 403)
        if "comp" in request.query_params or request.headers.get("x-ms-blob-type", "BlockBlob") != "BlockBlob":
            return PlainTextResponse("The embedded Azure takes the whole context as one block blob.", 501)
        return await _receive(request, _file(services.settings.state, registry, location))

    return [Route(f"{PATH}/{{registry}}/{{location:path}}", upload, methods=["PUT"])]


def is_uploaded(location: str) -> bool:
    return _LOCATION.fullmatch(location) is not None


def forget(registry: str, services: Services) -> None:
    """When the registry is deleted."""
    for name, kept in services.store.documents(_DOCUMENTS).items():
        if kept["registry"] == registry.lower():
            services.store.delete_document(name)
    shutil.rmtree(services.settings.state / "sources" / registry.lower(), ignore_errors=True)


def unpack(location: str, registry: str, folder: Path, state: Path) -> Path:
    """The context's folder. BuildFailedError where nothing was uploaded there, or the archive is none that is taken."""
    archive = _file(state, registry, location)
    if not archive.is_file():
        raise BuildFailedError(_STEP, f"nothing was uploaded to {location} of the registry {registry}")
    context = folder / "context"
    context.mkdir(parents=True)
    try:
        with tarfile.open(archive, "r:*") as opened:
            _check_whole(opened)
            opened.extractall(context, filter=_inside())  # noqa: S202 - each member passes the filter
    except (tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError) as error:
        raise BuildFailedError(_STEP, f"the uploaded archive can't be unpacked: {error}") from error
    return context


def _check_whole(archive: tarfile.TarFile) -> None:
    """ValueError where it is too large, and what the compressed file's own checksum says where it was damaged."""
    files = unpacked = 0
    for member in archive:
        files, unpacked = files + 1, unpacked + member.size
        if files > MOST_FILES or unpacked > MOST_UNPACKED_BYTES:
            raise ValueError(f"it holds more than {MOST_FILES} files or {MOST_UNPACKED_BYTES} bytes")
    if archive.fileobj is not None:
        while rest := archive.fileobj.read(_CHUNK):  # to the end, where the checksum stands
            unpacked += len(rest)
            if unpacked > MOST_UNPACKED_BYTES:
                raise ValueError(f"it holds more than {MOST_UNPACKED_BYTES} bytes")


def _inside() -> Callable[[tarfile.TarInfo, str], tarfile.TarInfo]:
    """Python's own filter, and no member that lies behind a link of the archive: through links whose paths are longer than this
    machine's calls take, older versions of that filter can be led outside (CVE-2025-4517). Who packs a folder makes none."""
    links: set[str] = set()

    def checked(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
        name = posixpath.normpath(member.name)
        above = name
        while above := posixpath.dirname(above):
            if above in links:
                raise ValueError(f"{member.name!r} lies behind the link {above!r}")
        if member.issym():
            links.add(name)
        return tarfile.data_filter(member, folder)

    return checked


async def _receive(request: Request, file: Path) -> Response:
    """Writes the request's body to a file, which is there whole or not at all."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    half = file.with_suffix(f".{random_secret()[:8]}")
    try:
        size = 0
        with half.open("wb") as target:
            async for chunk in request.stream():
                size += len(chunk)
                if size > MOST_BYTES:
                    return PlainTextResponse(f"The context is larger than {MOST_BYTES} bytes.", 413)
                target.write(chunk)
        half.rename(file)
    finally:
        half.unlink(missing_ok=True)
    return Response(status_code=201)


def _file(state: Path, registry: str, location: str) -> Path:
    """Where an upload lies. `location` is one that `offer` made, which nothing else is."""
    if not is_uploaded(location):
        raise ValueError(f"{location!r} isn't the location of an upload")
    return state / "sources" / registry.lower() / location.replace("/", "-")


def context_of(location: str, settings: Settings) -> Path:
    """The folder that a source location means. BuildFailedError, as the run would fail, where this machine can't reach it."""
    url, _, rest = location.partition("#")
    ref, _, folder = rest.partition(":")
    url, folder = url.rstrip("/"), folder.strip("/")
    if url not in (settings.checkout_url, settings.checkout_url.replace("//localhost:", "//127.0.0.1:")):
        raise BuildFailedError(
            _DOWNLOAD,
            f"{url} can't be reached: the embedded Azure reads the checkout that it was started in, "
            f"at {settings.checkout_url}#HEAD:<folder>, and no other source",
        )
    if ref not in ("", "HEAD") and not _is_head(settings.checkout, ref):
        raise BuildFailedError(_DOWNLOAD, f"{ref} isn't checked out; write {url}#HEAD:{folder}")
    checkout = settings.checkout.resolve()
    context = (checkout / folder).resolve()
    if not context.is_relative_to(checkout):
        raise BuildFailedError(_DOWNLOAD, f"the folder {folder} lies outside of the checkout")
    if not context.is_dir():
        raise BuildFailedError(_DOWNLOAD, f"the checkout has no folder {folder}")
    return context


def _is_head(checkout: Path, ref: str) -> bool:
    """Whether a commit, tag or branch is the one that is checked out. BuildFailedError on a machine without git."""
    if shutil.which("git") is None:
        raise BuildFailedError(_DOWNLOAD, f"{ref} can't be looked up, because this machine has no git; install it or write HEAD")
    requested = ["git", "-C", str(checkout), "rev-parse", "--verify", "--quiet", "--end-of-options"]
    commits = [
        subprocess.run(
            [*requested, f"{name}^{{commit}}"],
            capture_output=True,
            text=True,
            check=False,
            env=git.environment(),
        ).stdout.strip()
        for name in ("HEAD", ref)
    ]
    return bool(commits[0]) and commits[0] == commits[1]
