"""Blob storage by the host's name: `https://ACCOUNT.blob.core.localhost:PORT/CONTAINER/BLOB`, as clients spell it that make an
account's address themselves, from its name and the suffix of the cloud's storage.

Such a request is served as one to `/blob/ACCOUNT/…`. A machine's resolver has to lead names below `localhost` to loopback, as
RFC 6761 section 6.3 requests: systemd-resolved, libnss-myhostname and browsers do, the C library alone doesn't.
"""

import re

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

SUFFIX = ".blob.core.localhost"
SIGNED_PATH = "localazure.blobs.signed_path"  # key in the ASGI scope: the path as it was sent, which clients sign
_HOST = re.compile(rf"([a-z0-9]{{3,24}}){re.escape(SUFFIX)}(?::\d+)?", re.IGNORECASE)


def around(app: ASGIApp) -> ASGIApp:
    """`app`, which knows accounts by their path only, with such hosts in front of it."""

    async def answering(scope: Scope, receive: Receive, send: Send) -> None:
        found = _HOST.fullmatch(Headers(scope=scope).get("host", "")) if scope["type"] == "http" else None
        if found is not None:
            above = f"/blob/{found[1].lower()}"
            raw = scope["raw_path"]
            scope = {
                **scope,
                "path": above + scope["path"],
                "raw_path": above.encode("ascii") + raw,
                SIGNED_PATH: raw.decode("latin-1"),
            }
        await app(scope, receive, send)

    return answering
