"""A run's log as its readers find it: a blob, whole or a range of bytes, whose metadata says when it is complete.

The answer has the form of Blob Storage, as `az acr build` reads it: with a blob client, until the metadata `complete` is there,
from which it takes how the run ended (azure-cli 2.91, acr/_stream_utils.py).
"""

import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from localazure.arm.store import Body

_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})", re.ASCII)
# The run's status -> what the blob calls it. The names of what isn't a success are those that the client knows.
_COMPLETE = {
    "Succeeded": "successful",
    "Failed": "failed",
    "Canceled": "canceled",
    "Timeout": "timedout",
    "Error": "internalerror",
}


def answer(request: Request, record: Body) -> Response:
    """The log, or the part of it that `x-ms-range` or `Range` requests; 416 where the log is shorter."""
    log = Path(record["log"])
    content = log.read_bytes() if log.exists() else b""
    headers = {"accept-ranges": "bytes", "x-ms-blob-type": "AppendBlob"}
    if record["status"] in _COMPLETE:
        headers["x-ms-meta-complete"] = _COMPLETE[record["status"]]
    requested = _RANGE.fullmatch(request.headers.get("x-ms-range") or request.headers.get("range") or "")
    if requested is None:
        return PlainTextResponse(content, headers=headers)
    first = int(requested[1])
    part = content[first : int(requested[2]) + 1 if requested[2] else None]
    if not part:
        return PlainTextResponse("", 416, headers={**headers, "x-ms-error-code": "InvalidRange"})
    headers["content-range"] = f"bytes {first}-{first + len(part) - 1}/{len(content)}"
    return PlainTextResponse(part, 206, headers=headers)
