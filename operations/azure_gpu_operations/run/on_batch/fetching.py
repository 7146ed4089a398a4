"""Downloads files of tasks: standard output and error from their nodes, output files from the storage account.

Files of a node that no longer exists are skipped.
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
    """Returns the number of files. `apart`: each task has a subfolder."""
    count = 0
    for task_id in task_ids:
        target = folder / task_id if apart else folder
        target.mkdir(parents=True, exist_ok=True)
        for name in LOGS:
            count += _log(target / name, task_id, name, read)
        if blobs is not None:
            count += sum(1 for _ in blobs.fetch(CONTAINER, f"{job_id}/{task_id}/", target))
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
