"""The workers of a task beside its first: how those ended that Batch doesn't tell about.

In: the account, a job, its task. Out: the workers that failed. Batch knows of a node beside the primary that its coordination
command succeeded; the code with which its worker ended lies in a file there (`worker_commands`).
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
    """One that has failed."""

    number: int  # of the service's subtask: that of the node, not the index of TF_CONFIG
    node: str
    code: int
    lines: tuple[str, ...] = ()  # the last that it wrote to standard error

    @property
    def called(self) -> str:
        return f"the worker of subtask {self.number} on node {self.node}"


def failed(account: Account, pool_id: str, job_id: str, task_id: str) -> list[Worker]:
    """None where all run or have ended well, their nodes are gone, or the task has no workers."""
    found: list[Worker] = []
    for subtask in account.subtasks(job_id, task_id):
        place = subtask.node_info
        if place is None or not place.node_id or not place.task_root_directory:
            continue
        said = account.node_file(pool_id, place.node_id, f"{place.task_root_directory}/{EXIT_FILE}")
        code = int(said) if said and said.strip().isdigit() else 0
        if code:
            errors = account.node_file(pool_id, place.node_id, f"{place.task_root_directory}/stderr.txt")
            found.append(Worker(subtask.id or 0, place.node_id, code, last_lines(errors, _LINES)))
    return found
