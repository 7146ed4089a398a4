"""Polls the state of a run, and retries for a limited time while the service is unreachable."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

import requests
from azure.core.exceptions import AzureError as AzureCoreError

from azure_gpu.shared.installation import COMMAND
from azure_gpu_operations.azure import AzureError, first_line
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.run.protocol import Output

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


class Follower(ABC, Generic[Result]):
    """Looks at one run again and again, until one look returns its end. `called`: the run, as its messages call it."""

    service: ClassVar[str] = "Azure"
    poll_seconds: ClassVar[float] = 1.0
    billed: ClassVar[str] = " and billed"

    def __init__(
        self,
        called: str,
        output: Output,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._called, self._output, self._say = called, output, output.say
        self._sleep, self._clock = sleep, clock
        self._told = ""

    def follow(self) -> Result:
        """Follows it to its end, or until it can't start any more."""
        return poll_until(
            self._look,
            unreachable=f"{self.service} can't be reached",
            on_give_up=f"{self._called} may still be running{self.billed}",
            say=self._say,
            poll_seconds=self.poll_seconds,
            sleep=self._sleep,
            clock=self._clock,
        )

    @abstractmethod
    def _look(self) -> Result | None:
        """None while it isn't over."""

    def _once(self, text: str) -> None:
        """Says what it waits for, when that changes."""
        if text and text != self._told:
            self._told = text
            self._say(text)
