"""`prove` on a pool that has given a node back with the output of its task."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import pytest

from azure_gpu_operations.prove import on_runs
from azure_gpu_operations.prove.proof import Proof, Service
from azure_gpu_operations.prove.runs import Step
from azure_gpu_operations.run.errors import RunError
from azure_gpu_operations.run.protocol import Outcome, Output, Run
from tests.support.scripted_runs import ScriptedRun

ADDED = json.dumps({"workload": "vector_add", "passed": True, "device": "cpu", "bandwidth_gb_per_s": 51.9})


def proved(*outputs: str, code: int = 0) -> tuple[Proof, int]:
    """The row of a step whose first run prints the first of `outputs`, and so on; and how many runs there were."""
    runs: list[ScriptedRun] = []

    @contextmanager
    def plan(output: Output) -> Iterator[Run]:
        text = outputs[len(runs)]
        runs.append(ScriptedRun(Outcome(code, "ended")))
        if text:
            output.show(text)
        yield runs[-1]

    step = Step(("vector_add", "--on", "batch"), plan, ())
    found = on_runs.prove(
        Service.BATCH,
        "train",
        [step],
        "dev",
        lambda _: None,
        lambda _: [],
        watched=lambda _: nullcontext(),
        expected=(RunError,),
        clock=lambda: 0.0,
    )
    return found, len(runs)


@pytest.mark.parametrize(
    ("outputs", "code", "passed", "runs"),
    [
        (("", ADDED), 0, True, 2),
        (("", ""), 0, False, 2),
        ((ADDED,), 0, True, 1),
        (("another line",), 0, False, 1),
        (("",), 1, False, 1),
    ],
    ids=["lost once", "lost twice", "not lost", "no report", "failed"],
)
def test_a_run_that_succeeded_and_left_no_line_is_run_once_more(
    outputs: tuple[str, ...], code: int, passed: bool, runs: int
) -> None:
    found, ran = proved(*outputs, code=code)
    assert (found.passed, ran) == (passed, runs), found.why
