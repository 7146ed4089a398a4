"""Stored executions of jobs: one document each, kept for as long as the service keeps them.

A record is a dict, so that the store takes it as it is; its keys are those of `new`. The newest KEPT of a job stay.
"""

import secrets

from localazure.arm.store import Body, Store

KEPT = 100  # Microsoft Learn, container-apps/jobs: a job's history holds its 100 latest executions
RUNNING, SUCCEEDED, FAILED, STOPPED = "Running", "Succeeded", "Failed", "Stopped"
LOST = "Lost"  # of a replica alone: it went with this server, nobody asked for it, and another takes its place
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # Kubernetes makes the ends of its names of these


def new(job: str, template: Body, limits: Body, now: str) -> Body:
    """The record of a new execution.

    `limits`: parallelism, completions, retries and timeout, and what a replica takes: gpus of a profile in a location.
    """
    return {
        "name": f"{job}-{suffix(7)}",
        "status": RUNNING,
        "startTime": now,
        "template": template,
        **limits,
        "replicas": [],
        "asked_to_stop": False,
    }


def new_replica(record: Body, now: str) -> Body:
    """A further replica of an execution, noted in its record. `outcome` is None until it has ended."""
    replica: Body = {
        "name": f"{record['name']}-{suffix(5)}",
        "startTime": now,
        "outcome": None,
        "placed": False,  # whether a machine was found for it
        "reason": "",
        "information": "",
        "containers": {},
    }
    record["replicas"].append(replica)
    return replica


def suffix(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def put(store: Store, job_key: str, record: Body) -> None:
    store.put_document(f"{_prefix(job_key)}{record['name']}", record)


def find(store: Store, job_key: str, name: str) -> Body | None:
    return store.document(f"{_prefix(job_key)}{name}")


def all_of(store: Store, job_key: str) -> list[Body]:
    """The newest first."""
    return sorted(store.documents(_prefix(job_key)).values(), key=lambda record: record["startTime"], reverse=True)


def forget(store: Store, job_key: str, name: str) -> None:
    store.delete_document(f"{_prefix(job_key)}{name}")


def group_of(job_key: str, record: Body, replica: Body) -> str:
    """What the runtime knows a replica's containers by."""
    return f"{job_key}/executions/{record['name']}/replicas/{replica['name']}"


def _prefix(job_key: str) -> str:
    return f"executions/{job_key}/"
