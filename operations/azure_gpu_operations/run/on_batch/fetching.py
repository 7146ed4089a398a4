"""Files of tasks into a folder: what they wrote to the screen, from their nodes, and what they left, from the storage account.

In: the tasks' ids, functions that read. Out: files, and how many. A file whose node is gone is left out.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu_operations.azure import AzureError
from azure_gpu_operations.batch.blobs import Blobs
from azure_gpu_operations.run.carried import CONTAINER

LOGS = ("stdout.txt", "stderr.txt")


def fetch(
    task_ids: Sequence[str],
    job_id: str,
    folder: Path,
    read: Callable[[str, str], bytes | None],
    blobs: Blobs | None,
    *,
    apart: bool,
) -> int:
    """How many files. `apart`: each task has a folder of its own."""
    count = 0
    for task_id in task_ids:
        place = folder / task_id if apart else folder
        place.mkdir(parents=True, exist_ok=True)
        for name in LOGS:
            count += _log(place / name, task_id, name, read)
        if blobs is not None:
            count += sum(1 for _ in blobs.fetch(CONTAINER, f"{job_id}/{task_id}/", place))
    return count


def _log(file: Path, task_id: str, name: str, read: Callable[[str, str], bytes | None]) -> int:
    try:
        content = read(task_id, name)
    except (AzureError, AzureCoreError, requests.RequestException):
        return 0
    if content is None:
        return 0
    file.write_bytes(content)
    return 1
