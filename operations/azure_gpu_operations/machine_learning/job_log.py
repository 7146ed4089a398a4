"""Reads the error of a workspace's job, and its log from the workspace's storage, during the job and afterwards.

A job on several nodes has a log per process; the first one is used.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azure_gpu_operations.batch.blobs import Blobs

CONTAINER = "azureml"
# As Azure's own client finds the log that it streams: COMMON_RUNTIME_STREAM_LOG_PATTERN of azure-ai-ml (JobLogPattern).
_FIRST = re.compile(r"user_logs/std_log\D*0*(?:_ps)?\.txt")


class Reader:
    """The log of one job."""

    def __init__(self, blobs: "Blobs", job_name: str) -> None:
        self._blobs, self._folder, self._found = blobs, f"ExperimentRun/dcid.{job_name}/", ""

    def read_from(self, start: int) -> bytes | None:
        """The log from a byte on; None if there is no log (yet)."""
        self._found = self._found or _first(self._blobs.names(CONTAINER, f"{self._folder}user_logs/"), self._folder)
        return self._blobs.read_from(CONTAINER, self._found, start) if self._found else None


def _first(names: Iterable[str], folder: str) -> str:
    return next((name for name in sorted(names) if _FIRST.fullmatch(name.removeprefix(folder))), "")


def error_of(properties: Mapping[str, Any]) -> str:
    """The service's reason for a failure, which a job has as an object or as text among its properties; "" without one."""
    more = properties.get("properties") or {}
    if more.get("azureml.error.message"):
        return words_of({key: more.get(f"azureml.error.{key}") for key in ("code", "message")})
    error = properties.get("error") or more.get("azureml.error") or {}
    return words_of(error.get("error") or error) if isinstance(error, Mapping) else str(error)


def words_of(error: Mapping[str, Any]) -> str:
    return ": ".join(str(error[key]) for key in ("code", "message") if error.get(key))
