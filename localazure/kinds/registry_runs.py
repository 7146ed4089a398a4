"""The runs of a registry: one record for each build, kept in the store beside the resources.

A record holds what ARM answers about a run (`RunProperties`), and with it the log's path and the signature of its address.
"""

import secrets
from pathlib import Path

from localazure.arm.store import Body, Store
from localazure.folder import random_secret

_OURS = frozenset({"log", "signature"})


def begin(store: Store, login: str, logs: Path, now: str) -> Body:
    """A new run: numbered, queued, with a log. Kept by `keep`."""
    counter = _counter(login)
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
        "log": str(logs / f"build-{login.partition('.')[0]}-{run}-{secrets.token_hex(3)}.log"),
        "signature": random_secret(),
    }


def keep(store: Store, login: str, record: Body) -> None:
    store.put_document(_name(login, record["runId"]), record)


def find(store: Store, login: str, run: str) -> Body | None:
    return store.document(_name(login, run))


def all_of(store: Store, login: str) -> list[Body]:
    """The newest first."""
    records = store.documents(f"runs/{login}/").values()
    return sorted(records, key=lambda record: record["createTime"], reverse=True)


def forget(store: Store, login: str) -> None:
    """When the registry is deleted. The logs stay among the state folder's."""
    for name in store.documents(f"runs/{login}/"):
        store.delete_document(name)
    store.delete_document(_counter(login))


def document(registry_id: str, record: Body) -> Body:
    """A run as ARM answers it."""
    return {
        "id": f"{registry_id}/runs/{record['runId']}",
        "name": record["runId"],
        "type": "Microsoft.ContainerRegistry/registries/runs",
        "properties": {key: value for key, value in record.items() if key not in _OURS},
    }


def _name(login: str, run: str) -> str:
    return f"runs/{login}/{run}"


def _counter(login: str) -> str:
    return f"run-counters/{login}"
