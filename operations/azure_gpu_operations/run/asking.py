"""Whoever follows a run goes on asking while nobody answers: that is said once, and given up after a while.

In: a function that looks, what to say, and functions that say it and sleep. Out: the first that it finds.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import AzureError, first_line
from azure_gpu_operations.clusters.errors import ClusterError

UNREACHABLE_SECONDS = 600.0  # after which we give up on a run that may still go on

Found = TypeVar("Found")


def until_found(
    look: Callable[[], Found | None],
    *,
    unasked: str,
    unknown: str,
    say: Callable[[str], None],
    poll_seconds: float,
    sleep: Callable[[float], None],
    clock: Callable[[], float] = time.monotonic,
) -> Found:
    """`unasked` says whom we can't ask about what, `unknown` what may be so when we give up, whose error is the last one's."""
    lost_at: float | None = None
    while True:
        try:
            found = look()
        except (AzureError, AzureCoreError, ClusterError, requests.RequestException) as error:
            if isinstance(error, AzureError | ClusterError) and error.status in (401, 403):
                raise  # a right that is missing doesn't come by waiting
            if lost_at is None:
                say(f"{unasked} at the moment, trying on: {first_line(error)}")
                lost_at = clock()
            if clock() - lost_at >= UNREACHABLE_SECONDS:
                say(f"{unknown}; see: {COMMAND} running")
                raise
        else:
            lost_at = None
            if found is not None:
                return found
        sleep(poll_seconds)
