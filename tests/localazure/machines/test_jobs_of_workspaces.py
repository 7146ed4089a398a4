"""A job of a workspace as its runner gets it."""

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

from localazure.arm.caller import Caller
from localazure.arm.kind import Change
from localazure.arm.store import Resource
from localazure.kinds.ml_jobs import MlJobs
from tests.localazure.parts import arm_id, services_in

JOB = arm_id("/subscriptions/0/resourceGroups/rg/providers/Microsoft.MachineLearningServices/workspaces/ws/jobs/train")


def test_a_new_job_is_stored_before_it_starts_and_a_change_of_it_starts_nothing(tmp_path: Path) -> None:
    services = services_in(tmp_path, principal="owner")
    begun: list[tuple[bool, Caller]] = []

    class Runner:
        async def start(self, job: Resource, caller: Caller) -> None:
            begun.append((services.store.get(job.key) is not None, caller))

    runner: Any = Runner()
    body = {"properties": {"jobType": "Command"}}
    stored = Resource(id=JOB, body=body)

    def provision(previous: Resource | None, caller: Caller | None) -> None:
        change = Change(
            id=JOB, body=body, previous=previous, as_of=date(2026, 11, 21), services=services, caller=caller, resource=stored
        )
        asyncio.run(MlJobs(runner).provision(change))

    provision(None, None)
    provision(stored, None)
    assert begun == [(True, Caller("owner", "c"))]  # resumed by the server itself
    services.store.delete(JOB.key)
    provision(None, Caller("somebody", "app"))
    assert begun[1:] == [(True, Caller("somebody", "app"))]
