"""A job of a workspace as its runner gets it."""

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

from localazure.arm.kind import Change
from localazure.arm.store import Resource
from localazure.kinds.ml_jobs import MlJobs
from tests.localazure.parts import arm_id, services_in

JOB = arm_id("/subscriptions/0/resourceGroups/rg/providers/Microsoft.MachineLearningServices/workspaces/ws/jobs/train")


def test_a_new_job_is_stored_before_it_starts_and_a_change_of_it_starts_nothing(tmp_path: Path) -> None:
    services = services_in(tmp_path, principal="owner")
    begun: list[bool] = []

    class Runner:
        async def start(self, job: Resource) -> None:
            begun.append(services.store.get(job.key) is not None)

    runner: Any = Runner()
    stored = Resource(id=JOB, body={"properties": {"jobType": "Command"}})
    for previous in (None, stored):
        change = Change(id=JOB, body=stored.body, previous=previous, as_of=date(2026, 11, 21), services=services, resource=stored)
        asyncio.run(MlJobs(runner).provision(change))
    assert begun == [True]
