"""Files over HTTP, of tasks and of nodes: list, read whole or in part, ask about.

Headers of a file: `ocp-batch-file-…` and `ocp-creation-time`, as azure-batch 15.1 reads them. A part is answered with 200, the
one status that the clients take.
"""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import quote

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from localazure.arm.store import Body
from localazure.batch.changes import written
from localazure.batch.errors import BatchError
from localazure.batch.model import TaskKey
from localazure.batch.pools import Pools as LivePools
from localazure.batch.service import answers, folders
from localazure.batch.service.folders import Entry
from localazure.batch.service.pools import Pools
from localazure.batch.service.request import DataPlaneRequest
from localazure.batch.work import Work

_PART = re.compile(r"bytes=(\d{1,18})?-(\d{1,18})?")
_CHUNK = 64 * 1024


class Files:
    """The paths that end in /files and /files/PATH."""

    def __init__(self, work: Work, live: LivePools, pools: Pools) -> None:
        self._live = live
        self._pools = pools
        self._work = work

    async def listed(self, request: DataPlaneRequest) -> Response:
        recursive = request.query.get("recursive", "").lower() == "true"
        folder, base = self._folder(request), request.url(*request.segments[:5])
        after = request.after

        def behind() -> list[Entry]:
            return sorted(each for each in folders.entries(folder, recursive=recursive) if each.name > after)

        found = await run_in_threadpool(behind)
        entries = (_view(each, base) for each in found)
        return await answers.listed(request, "files", entries, lambda entry: entry["name"])

    async def get(self, request: DataPlaneRequest) -> Response:
        entry, handle = await self._open(request)
        try:
            if entry.is_directory:
                raise BatchError("OperationInvalidForCurrentState", "The specified path is a folder; only a file can be read.")
            first, length = _part(request.header("ocp-range") or request.header("range"), entry.size)
            headers = _headers(entry, request) | {"Content-Length": str(length)}
            if length != entry.size:
                headers["Content-Range"] = f"bytes {first}-{first + length - 1}/{entry.size}"
        except BaseException:
            os.close(handle)
            raise
        return _FileResponse(handle, first, length, headers, entry.content_type)

    async def head(self, request: DataPlaneRequest) -> Response:
        entry, handle = await self._open(request)
        os.close(handle)
        headers = _headers(entry, request) | {"Content-Length": str(entry.size), "Content-Type": entry.content_type}
        return Response(status_code=200, headers=headers)

    async def _open(self, request: DataPlaneRequest) -> tuple[Entry, int]:
        folder, name = self._folder(request), "/".join(request.segments[5:])
        found = await run_in_threadpool(lambda: folders.find(folder, name))
        if found is None:
            raise BatchError("FileNotFound")
        return found

    def _folder(self, request: DataPlaneRequest) -> Path:
        """Of the task or the node that the path names."""
        if request.segments[0].lower() == "pools":
            pool = self._pools.resource(request, request.segments[1])
            folder = self._live.node_folder(request.pool_key(pool.id.name), request.segments[3])
            if folder is None:
                raise BatchError("NodeNotFound")
            return folder
        task = self._work.tasks.get(TaskKey(request.account.key, request.segments[1].lower(), request.segments[3].lower()))
        folder = self._live.task_folder(task.key, task.node)
        if folder is None or not folder.is_dir():
            raise BatchError("TaskFilesUnavailable")
        return folder


class _FileResponse(StreamingResponse):
    """A part of an open file: as long as was said, even where a task writes on, and closed whatever happens."""

    def __init__(self, handle: int, first: int, length: int, headers: dict[str, str], content_type: str) -> None:
        super().__init__(_chunks(handle, first, length), headers=headers, media_type=content_type)
        self._handle = handle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            os.close(self._handle)


def _chunks(handle: int, first: int, length: int) -> Iterator[bytes]:
    while length > 0:
        chunk = os.pread(handle, min(_CHUNK, length), first)
        if not chunk:
            chunk = b"\0" * min(_CHUNK, length)  # it was made shorter meanwhile: what was promised has to be sent
        first += len(chunk)
        length -= len(chunk)
        yield chunk


def _part(text: str, size: int) -> tuple[int, int]:
    """First byte and length. BatchError 416 for a range that the file doesn't have."""
    if not text:
        return 0, size
    found = _PART.fullmatch(text.strip())
    if found is None or (found[1] is None and found[2] is None):
        raise BatchError("InvalidHeaderValue", values={"HeaderName": "ocp-range", "HeaderValue": text[:100]})
    if found[1] is None:
        first, last = max(0, size - int(found[2])), size - 1
    else:
        first, last = int(found[1]), min(int(found[2]), size - 1) if found[2] else size - 1
    if first > last or first >= size:
        raise BatchError("InvalidRange", headers={"Content-Range": f"bytes */{size}"})
    return first, last - first + 1


def _headers(entry: Entry, request: DataPlaneRequest) -> dict[str, str]:
    moment = _moment(entry)
    return {
        "Last-Modified": format_datetime(moment, usegmt=True),
        "ocp-creation-time": format_datetime(moment, usegmt=True),
        "ocp-batch-file-isdirectory": str(entry.is_directory).lower(),
        "ocp-batch-file-url": request.here,
        "ocp-batch-file-mode": f"0o{entry.mode:o}",
    }


def _view(entry: Entry, base: str) -> Body:
    view: Body = {"name": entry.name, "url": f"{base}/{quote(entry.name)}", "isDirectory": entry.is_directory}
    if not entry.is_directory:
        moment = written(_moment(entry))
        view["properties"] = {
            "creationTime": moment,
            "lastModified": moment,
            "contentLength": str(entry.size),
            "contentType": entry.content_type,
            "fileMode": f"0o{entry.mode:o}",
        }
    return view


def _moment(entry: Entry) -> datetime:
    return datetime.fromtimestamp(entry.changed_at, UTC)
