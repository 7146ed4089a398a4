"""The base of a run on any Azure service: starting, following, stopping and giving up, its cost and its messages.

A service implements the steps `_send`, `follow` and `_cancel`. Its state is polled; while the service is unreachable, for a
limited time.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, Generic, Protocol, TypeVar

from azure_gpu.catalog.prices.price_book import Price
from azure_gpu.shared.installation import COMMAND
from azure_gpu.shared.polling import first_line, poll_until
from azure_gpu_operations import job_cost
from azure_gpu_operations.azure import UNREADABLE
from azure_gpu_operations.clusters.errors import ClusterError
from azure_gpu_operations.run.carried import NO_FILES, RunFiles
from azure_gpu_operations.run.protocol import Cost, Outcome, Output, RunError, Say
from azure_gpu_operations.run.target import Target


class HasEndedError(Exception):
    """A run that is to be stopped has ended already. The text says how."""


REFUSED = (*UNREADABLE, ClusterError)
Result = TypeVar("Result")


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
            errors=REFUSED,
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


class Request(Protocol):
    """What every service's request has."""

    @property
    def target(self) -> Target: ...

    @property
    def timeout_minutes(self) -> float | None: ...


R = TypeVar("R", bound=Request)


@dataclass
class ServiceRun(ABC, Generic[R]):
    """One run. `is_sent`: it was started earlier."""

    stack: str
    place: str
    output: Output
    request: R
    name: str = field(kw_only=True, default="")  # in Azure; "" before the start if the service chooses it
    files: RunFiles = field(kw_only=True, default=NO_FILES)
    is_sent: bool = field(kw_only=True, default=False)
    noun: ClassVar[str] = "job"
    owner: ClassVar[str] = ""  # with which it is deleted too
    stopped: ClassVar[str]  # what it is after `stop`

    def __post_init__(self) -> None:
        self.may_run = self.is_sent

    @property
    def can_be_left(self) -> bool:
        return self.is_sent

    @property
    def called(self) -> str:
        return f"the {self.noun} {self.name}"

    @property
    def say(self) -> Say:
        return self.output.say

    def start(self) -> None:
        self.may_run = True  # even after an error it may exist
        described = self._send()
        self.say(f"started {described}: {self.noun} {self.name}")
        self._complete()
        self.is_sent = True
        self.files.tell(self.say)

    @abstractmethod
    def _send(self) -> str:
        """Starts it; returns what was started where. WrongRunError if the service rejects it."""

    def _complete(self) -> None:
        """Sends what follows the start."""

    @abstractmethod
    def follow(self) -> Outcome: ...

    def stop(self) -> bool:
        try:
            if not self.may_run or not self.did(self._cancel):
                return False
        except HasEndedError as ended:
            self.say(f"{self.called} has ended already: {ended}")
        else:
            self.say(f"{self.called} {self.stopped}")
        return True

    @abstractmethod
    def _cancel(self) -> None:
        """Stops it in Azure. HasEndedError if there is nothing to stop."""

    def did(self, act: Callable[[], object]) -> bool:
        """Whether Azure took a request that ends it. False, after a message, if it may still be running."""
        try:
            act()
        except (KeyboardInterrupt, *REFUSED) as error:
            reason = f" ({first_line(error)})" if str(error) else ""
            self.say(f"{self.called} may still be running and billed{reason}; see: {self._seen_by}")
            return False
        return True

    @property
    def _seen_by(self) -> str:
        """The command that shows whether it is running."""
        return f"{COMMAND} running --stack {self.stack}"

    def explain(self, name: str = "") -> str:
        return f"{COMMAND} explain {name or self.name} --stack {self.stack}"

    def gone(self) -> RunError:
        owner = f" or its {self.owner}" if self.owner else ""
        return RunError(f"{self.called} doesn't exist any more; it{owner} was deleted outside the stack")

    def end_files(self) -> None:
        self.files.end(self.say, self.stack)

    def cost_of(self, seconds: float | None, price: Price | None, more: str = "") -> Cost:
        words = job_cost.summary(seconds, price, datetime.now(UTC).date())
        return Cost(f"{words}{more}", job_cost.cost(price, seconds), seconds)
