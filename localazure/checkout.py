"""The checkout as a download: what a registry build that is given this server's `/checkout` address takes its sources from.

Served are the files that git tracks or would track, as a gzipped tar; nothing that `.gitignore` names, so no state and no secret.
"""

import asyncio
import io
import subprocess
import tarfile
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from localazure.arm.answers import refused
from localazure.arm.errors import ArmError


def route(checkout: Path) -> Route:
    async def download(request: Request) -> Response:  # noqa: ARG001 - the whole checkout, whoever asks
        try:
            content = await asyncio.to_thread(archive, checkout)
        except subprocess.CalledProcessError as error:
            return refused(ArmError(404, "NotFound", f"{checkout} is no git checkout: {error.stderr.strip()}"))
        return Response(content, media_type="application/gzip")

    return Route("/checkout", download)


def archive(checkout: Path) -> bytes:
    """The checkout's files. CalledProcessError where the folder is no git checkout."""
    asked = ["git", "-C", str(checkout), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
        for name in sorted(set(listed.split("\0")) - {""}):
            if (checkout / name).is_file():
                tar.add(checkout / name, arcname=name, recursive=False)
    return buffer.getvalue()
