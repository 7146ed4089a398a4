"""An execution's task by itself: what it leaves behind where the server meets an error of its own."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from localazure.apps import records
from localazure.apps.executions import Executions, Work
from localazure.arm.store import Body, Store
from localazure.containers.container_spec import ContainerSpec
from localazure.containers.images import Image
from localazure.containers.runtime import Runtime
from tests.localazure.containers.conftest import until

JOB = "/subscriptions/s/resourcegroups/g/providers/microsoft.app/jobs/one"
LIMITS = {"parallelism": 2, "completions": 2, "retries": 0, "timeout": 60, "gpus": 0, "profile": "", "location": ""}


def test_an_error_of_the_servers_own_leaves_no_process(runtime: Runtime, store: Store, hello: Image) -> None:
    async def scene() -> None:
        executions = Executions(store, runtime, lambda: datetime.now(UTC), lambda: datetime.now(UTC).isoformat())
        record = records.new("one", {"containers": [{"name": "main"}]}, LIMITS, datetime.now(UTC).isoformat())

        async def specs(record: Body, one: Body) -> tuple[list[ContainerSpec], list[ContainerSpec]]:
            if one is record["replicas"][1]:
                first = records.group_of(JOB, record, record["replicas"][0])
                await until(lambda: runtime.states(first).get("main", {}).get("current"), "the first replica runs")
                raise RuntimeError("broken")
            command: Any = ("python", "main.py", "wait")
            return [], [ContainerSpec(name="main", image=hello, command=command, env={}, restart_policy="Never", run="1")]

        executions.begin(JOB, record, Work(specs, lambda _: ""))
        await until(lambda: record["status"] != records.RUNNING and not executions._tasks, "the execution ends")
        assert (record["status"], record["reason"]) == ("Failed", "InternalError")
        states = [runtime.states(records.group_of(JOB, record, one)) for one in record["replicas"]]
        assert [state["ended"] for each in states for state in each.values()] == [True]

    asyncio.run(scene())
