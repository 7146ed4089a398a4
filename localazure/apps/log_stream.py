"""Streams the log of a replica's container line by line: the endpoint that `az containerapp job logs show` reads.

Opened by its own token, which ARM issues for one job and a short while. A line has its time, the stream's name and `F`, as
the service's have; both of a container's outputs are told as `stdout`, because a container here writes both into one log.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from localazure.apps.executions import RUNNING, Executions, group_of
from localazure.arm.store import Body, Store
from localazure.containers.followed_log import FollowedLog
from localazure.folder import random_secret
from localazure.services import Services
from localazure.subscriptions import SUBSCRIPTION

TOKEN_LIFE = timedelta(minutes=30)
MOST_LINES = 300  # the Azure CLI's own limit of `--tail`
DEFAULT_LINES = 20
_LOOK_SECONDS = 0.1
_TOKENS = "log-tokens/"
_TAIL = re.compile(r"[0-9]{1,3}")
_PATH = (
    "/subscriptions/{subscription}/resourceGroups/{group}/jobs/{job}/executions/{execution}/replicas/{replica}"
    "/containers/{container}/logstream"
)


def routes(prefix: str, executions: Executions, services: Services) -> list[BaseRoute]:
    async def stream(request: Request) -> Response:
        names = request.path_params
        group = f"/subscriptions/{names['subscription']}/resourceGroups/{names['group']}"
        job_key = f"{group}/providers/Microsoft.App/jobs/{names['job']}".lower()
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not opens(services, token.strip(), job_key):
            return PlainTextResponse("The token is missing, is over, or is for another job: ask the job's getAuthToken.", 401)
        record = executions.find(job_key, names["execution"])
        replica = _replica(record, names["replica"], names["container"]) if record else None
        if record is None or replica is None or names["subscription"] != SUBSCRIPTION:
            return PlainTextResponse("The container was not found.", 404)
        requested = request.query_params
        tail = requested.get("tailLines", str(DEFAULT_LINES))
        if not (_TAIL.fullmatch(tail) and int(tail) <= MOST_LINES):
            return PlainTextResponse(f"tailLines takes a number from 0 to {MOST_LINES}.", 400)
        containers, container = group_of(job_key, record, replica), names["container"]
        log = FollowedLog(executions.runtime.folder_of(containers, container) / "log")

        def over() -> bool:
            """Whether the container has ended, or will never begin."""
            record = executions.find(job_key, names["execution"])
            one = _replica(record, names["replica"], container) if record else None
            if record is None or one is None or one["outcome"] is not None or record["status"] != RUNNING:
                return True
            state = executions.runtime.states(containers).get(container)
            return state is not None and bool(state["ended"])

        lines = _lines(log, int(tail), over if requested.get("follow", "false").lower() == "true" else lambda: True)
        as_json = requested.get("output", "json").lower() != "text"
        return StreamingResponse(_told(lines, as_json=as_json), media_type="application/json" if as_json else "text/plain")

    return [Route(f"{prefix}{_PATH}", stream)]


def issue_token(services: Services, job_key: str) -> tuple[str, str]:
    """A new token for a job's logs, and when it is over. Only its hash is kept."""
    now = services.clock.now()
    for name, kept in services.store.documents(_TOKENS).items():
        if datetime.fromisoformat(kept["expires"]) <= now:
            services.store.delete_document(name)
    token, expires = random_secret(), (now + TOKEN_LIFE).strftime("%Y-%m-%dT%H:%M:%SZ")
    services.store.put_document(_TOKENS + _hash(token), {"job": job_key, "expires": expires})
    return token, expires


def opens(services: Services, token: str, job_key: str) -> bool:
    kept = services.store.document(_TOKENS + _hash(token))
    return kept is not None and kept["job"] == job_key and datetime.fromisoformat(kept["expires"]) > services.clock.now()


def forget_tokens(store: Store, job_key: str) -> None:
    for name, kept in store.documents(_TOKENS).items():
        if kept["job"] == job_key:
            store.delete_document(name)


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _replica(record: Body, name: str, container: str) -> Body | None:
    """The replica of this name, of an execution whose template has the container."""
    template = record["template"]
    names = [one["name"] for kind in ("initContainers", "containers") for one in template.get(kind) or []]
    return next((one for one in record["replicas"] if one["name"] == name), None) if container in names else None


async def _told(lines: AsyncIterator[str], *, as_json: bool) -> AsyncIterator[str]:
    """The lines as the client asked for them. `lines`: each behind its time."""
    async for line in lines:
        time, _, text = line.partition(" ")
        told = f"{time} stdout F {text}"
        yield (json.dumps({"TimeStamp": time, "Log": f"stdout F {text}"}) if as_json else told) + "\n"


async def _lines(log: FollowedLog, tail: int, is_over: Callable[[], bool]) -> AsyncIterator[str]:
    """The log's last lines, and what comes after them until it is over."""
    left: int | None = tail
    while True:
        over = is_over()  # before reading, so that nothing printed at the end is missed
        lines = await asyncio.to_thread(log.lines, ended=over)  # up to 4 MB of text
        for line in lines if left is None else lines[len(lines) - min(left, len(lines)) :]:
            yield line.decode("utf-8", errors="replace").removesuffix("\n")
        left = None
        if over:
            return
        await asyncio.sleep(_LOOK_SECONDS)
