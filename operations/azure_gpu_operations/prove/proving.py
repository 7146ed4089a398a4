"""Tests the services of a stack, two at a time, and stops the runs on Ctrl-C.

More than two at a time would affect the measurements if all of them are on one machine.
"""

import argparse
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

from azure_gpu_operations.azure import Arm
from azure_gpu_operations.errors import expected
from azure_gpu_operations.explain.command import lines_of
from azure_gpu_operations.prove import on_endpoint, on_group, on_runs
from azure_gpu_operations.prove.on_runs import RejectedError
from azure_gpu_operations.prove.proof import Proof, Service
from azure_gpu_operations.run.protocol import Run, RunError, Say
from azure_gpu_operations.stack_view import StackView

AT_A_TIME = 2


class Proving:
    """One execution of `prove` for a stack."""

    def __init__(self, view: StackView, options: argparse.Namespace, say: Say) -> None:
        self._view, self._options, self._say = view, options, say
        self._going: list[Run] = []
        self._stopped = threading.Event()

    def all(self, places: Mapping[Service, Sequence[str]]) -> list[Proof]:
        """A `Proof` per service, in their order. On Ctrl-C stops the runs and raises KeyboardInterrupt."""
        with ThreadPoolExecutor(AT_A_TIME) as threads:
            coming = [threads.submit(self._first, service, parts) for service, parts in places.items()]
            try:
                return [each.result() for each in coming]
            except KeyboardInterrupt:
                self._stopped.set()
                for run in list(self._going):
                    with suppress(*expected()):
                        run.stop()
                threads.shutdown(wait=False, cancel_futures=True)
                raise

    def _first(self, service: Service, places: Sequence[str]) -> Proof:
        """The proof of the first part that accepts the run, or else of the first one."""
        rejected: list[Proof] = []
        for place in places:
            try:
                return self._one(service, place)
            except RejectedError as error:
                rejected.append(error.proof)
        return rejected[0]

    def _one(self, service: Service, place: str) -> Proof:
        def say(line: str) -> None:
            self._say(f"{service.title} {place}: {line}")

        try:
            with closing(Arm(self._view.connection)) as arm:
                if service is Service.CONTAINER_GROUP:
                    return on_group.prove(arm, place, self._view.groups[place], self._explain)
                if service is Service.ENDPOINT:
                    return on_endpoint.prove(arm, self._view, place, self._explain)
            steps = on_runs.steps(self._view, service, place, self._options.config_folder, require_gpu=self._options.require_gpu)
            return on_runs.prove(
                service, place, steps, self._view.name, say, self._explain, watched=self._watched, expected=expected()
            )
        except expected() as error:
            return Proof(service, place, passed=False, why=(str(error), *self._explain(place)))

    @contextmanager
    def _watched(self, run: Run) -> Iterator[None]:
        """Registers a run while it is active."""
        self._going.append(run)
        try:
            if self._stopped.is_set():
                raise RunError("stopped before it began")
            yield
        finally:
            self._going.remove(run)

    def _explain(self, name: str) -> list[str]:
        """The lines of `explain`; empty if it doesn't know the name."""
        with suppress(*expected()), closing(Arm(self._view.connection)) as arm:
            return lines_of(arm, name, self._view, self._options.config_folder)
        return []
