"""What a run on a pool settles before it asks Azure anything, and whether one goes on."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from azure_gpu_operations.run.on_batch import run as on_batch
from azure_gpu_operations.run.target import Target, run_name


def test_a_job_is_called_after_its_image_and_not_after_the_registry() -> None:
    made = run_name(Target(image="docker.io/library/python:3.11-slim"))
    assert made.startswith("run-python-3-11-slim-")


@pytest.mark.parametrize(
    ("states", "goes_on"),
    [(None, False), ((), False), (("completed", "completed"), False), (("completed", "running"), True), (("active",), True)],
)
def test_a_run_goes_on_until_each_of_its_tasks_has_ended(
    monkeypatch: pytest.MonkeyPatch, states: tuple[str, ...] | None, goes_on: bool
) -> None:
    account = SimpleNamespace(
        job=lambda name: None if states is None else SimpleNamespace(id=name),
        tasks=lambda _: [SimpleNamespace(state=state) for state in states or ()],
        close=lambda: None,
    )
    monkeypatch.setattr(on_batch, "BatchAccount", lambda *_: account)
    pool = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/a/pools/p"
    view = cast(Any, SimpleNamespace(pools={"p": pool}))
    assert on_batch.is_under_way(cast(Any, None), view, "run-1") is goes_on
