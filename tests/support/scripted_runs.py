"""Runs of no service, which do what a test has written down, for whatever drives them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from azure_gpu_operations.run.protocol import Cost, Outcome, Output, Plan


class ScriptedRun:
    """`raises`: what a step ends with instead, by the step's name. `steps`: those that were taken."""

    place = "train"

    def __init__(
        self,
        outcome: Outcome = Outcome(0, "succeeded, exit code 0"),  # noqa: B008 - immutable
        *,
        name: str = "run-1",
        raises: Mapping[str, BaseException] | None = None,
        stops: bool = True,
        can_be_left: bool = True,
    ) -> None:
        self.name, self.can_be_left = name, can_be_left
        self._outcome, self._raises, self._stops = outcome, raises or {}, stops
        self.steps: list[str] = []

    def start(self) -> None:
        self._take("start")

    def follow(self) -> Outcome:
        self._take("follow")
        return self._outcome

    def stop(self) -> bool:
        self._take("stop")
        return self._stops

    def cost(self) -> Cost:
        return Cost("1.0 minutes, 0.01 USD")

    def settle(self) -> None:
        self._take("settle")

    def _take(self, step: str) -> None:
        self.steps.append(step)
        if step in self._raises:
            raise self._raises[step]


def plan_of(run: ScriptedRun) -> Plan:
    """A plan that notes when it is entered and left."""

    @contextmanager
    def plan(_: Output) -> Iterator[ScriptedRun]:
        run.steps.append("enter")
        try:
            yield run
        finally:
            run.steps.append("leave")

    return plan


def output_to(lines: list[str]) -> Output:
    """Everything into one list."""
    return Output(lines.append, lines.append, lines.append)
