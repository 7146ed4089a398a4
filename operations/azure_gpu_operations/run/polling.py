"""Polls the state of a run, and retries for a limited time while the service is unreachable."""

import time
from collections.abc import Callable
from typing import TypeVar

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import AzureError, first_line
from azure_gpu_operations.clusters.errors import ClusterError

UNREACHABLE_SECONDS = 600.0  # after which polling stops, though the run may continue

Result = TypeVar("Result")


def poll_until(
    poll: Callable[[], Result | None],
    *,
    unreachable: str,
    on_give_up: str,
    say: Callable[[str], None],
    poll_seconds: float,
    see: str = f"{COMMAND} running",
    sleep: Callable[[float], None],
    clock: Callable[[], float] = time.monotonic,
) -> Result:
    """Returns the first result of `poll`. `unreachable`, `on_give_up`: messages; on giving up raises the last error.

    `see`: the command that shows whether it goes on.
    """
    lost_at: float | None = None
    while True:
        try:
            found = poll()
        except (AzureError, AzureCoreError, ClusterError, requests.RequestException) as error:
            if isinstance(error, AzureError | ClusterError) and error.status in (401, 403):
                raise  # waiting doesn't help against missing permissions
            if lost_at is None:
                say(f"{unreachable} at the moment, retrying: {first_line(error)}")
                lost_at = clock()
            if clock() - lost_at >= UNREACHABLE_SECONDS:
                say(f"{on_give_up}; see: {see}")
                raise
        else:
            lost_at = None
            if found is not None:
                return found
        sleep(poll_seconds)
