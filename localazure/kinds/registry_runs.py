"""The runs of a registry: one record for each build, kept in the store beside the resources, and its log as a blob.

A record holds what ARM answers about a run (`RunProperties`), and with it the log's path and the signature of its address. The
log has the form of Blob Storage, as `az acr build` reads it: with a blob client, until the metadata `complete` is there, from
which it takes how the run ended (azure-cli 2.91, acr/_stream_utils.py).
"""

import re
import secrets
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from localazure.arm.store import Body
from localazure.folder import random_secret
from localazure.services import Services

LOGIN_SUFFIX = ".azurecr.local"
_OURS = frozenset({"log", "signature"})
_RANGE = re.compile(r"bytes=(\d{1,18})-(\d{0,18})", re.ASCII)
# The run's status -> what the blob calls it. The names of what isn't a success are those that the client knows.
_COMPLETE = {
    "Succeeded": "successful",
    "Failed": "failed",
    "Canceled": "canceled",
    "Timeout": "timedout",
    "Error": "internalerror",
}


def login_server(registry: str) -> str:
    return registry.lower() + LOGIN_SUFFIX


def begin(registry: str, services: Services) -> Body:
    """A new run: numbered, queued, with a log. Kept by `keep`."""
    store, counter, now = services.store, _counter(registry), services.clock.stamp()
    number = int((store.document(counter) or {"last": 0})["last"]) + 1
    store.put_document(counter, {"last": number})
    run = f"ca{number}"
    return {
        "runId": run,
        "status": "Running",
        "runType": "QuickBuild",
        "createTime": now,
        "startTime": now,
        "lastUpdatedTime": now,
        "isArchiveEnabled": False,
        "provisioningState": "Creating",
        "log": str(services.settings.state / "logs" / f"build-{registry.lower()}-{run}-{secrets.token_hex(3)}.log"),
        "signature": random_secret(),
    }


def keep(registry: str, record: Body, services: Services) -> None:
    services.store.put_document(_name(login_server(registry), record["runId"]), record)


def end(registry: str, record: Body, status: str, message: str, services: Services) -> None:
    """A run that doesn't come to its own end."""
    record["finishTime"] = record["lastUpdatedTime"] = services.clock.stamp()
    record |= {"provisioningState": "Failed", "status": status, "runErrorMessage": message}
    keep(registry, record, services)


def find(login: str, run: str, services: Services) -> Body | None:
    return services.store.document(_name(login, run))


def all_of(registry: str, services: Services) -> list[Body]:
    """The newest first."""
    records = services.store.documents(_name(login_server(registry), "")).values()
    return sorted(records, key=lambda record: record["createTime"], reverse=True)


def forget(registry: str, services: Services) -> None:
    """When the registry is deleted. The logs stay among the state folder's."""
    for name in services.store.documents(_name(login_server(registry), "")):
        services.store.delete_document(name)
    services.store.delete_document(_counter(registry))


def document(registry_id: str, record: Body) -> Body:
    """A run as ARM answers it."""
    return {
        "id": f"{registry_id}/runs/{record['runId']}",
        "name": record["runId"],
        "type": "Microsoft.ContainerRegistry/registries/runs",
        "properties": {key: value for key, value in record.items() if key not in _OURS},
    }


def log(request: Request, record: Body) -> Response:
    """The log, or the part of it that `x-ms-range` or `Range` requests; 416 where the log is shorter."""
    file = Path(record["log"])
    content = file.read_bytes() if file.exists() else b""
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


def _name(login: str, run: str) -> str:
    return f"runs/{login}/{run}"


def _counter(registry: str) -> str:
    return f"run-counters/{login_server(registry)}"
