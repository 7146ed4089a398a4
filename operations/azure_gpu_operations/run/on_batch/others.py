"""Failures of the workers other than a task's primary, which Batch doesn't report.

Batch only knows that their coordination command succeeded; the worker's exit code is in a file on its node (`worker_commands`).
"""

from typing import NamedTuple, Protocol

from azure.batch import models

from azure_gpu_operations.batch.account import last_lines
from azure_gpu_operations.run.on_batch.worker_commands import EXIT_FILE

_LINES = 15


class Account(Protocol):
    def subtasks(self, job_id: str, task_id: str) -> list[models.BatchSubtask]: ...

    def node_file(self, pool_id: str, node_id: str, path: str) -> bytes | None: ...


class Worker(NamedTuple):
    """One failed worker."""

    number: int  # of the subtask, which isn't the index in TF_CONFIG
    node: str
    code: int
    lines: tuple[str, ...] = ()  # the last ones of its standard error

    @property
    def called(self) -> str:
        return f"the worker of subtask {self.number} on node {self.node}"


def failed(account: Account, pool_id: str, job_id: str, task_id: str) -> list[Worker]:
    """Empty if none has failed, their nodes are gone, or the task has no other workers."""
    found: list[Worker] = []
    for subtask in account.subtasks(job_id, task_id):
        place = subtask.node_info
        if place is None or not place.node_id or not place.task_root_directory:
            continue
        content = account.node_file(pool_id, place.node_id, f"{place.task_root_directory}/{EXIT_FILE}")
        code = int(content) if content and content.strip().isdigit() else 0
        if code:
            errors = account.node_file(pool_id, place.node_id, f"{place.task_root_directory}/stderr.txt")
            found.append(Worker(subtask.id or 0, place.node_id, code, last_lines(errors, _LINES)))
    return found
