"""A whole job by azure-batch 14.2, which lives in an environment of its own: a pool, a job, tasks, their files, and back.

Arguments: the account's address, its name, and its key. Prints one JSON object.
"""

import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

# Of azure-batch 14.2, of which a type checker in the project's own environment, with a later one, finds nothing.
batch: Any = import_module("azure.batch")
batch_auth: Any = import_module("azure.batch.batch_auth")
models: Any = import_module("azure.batch.models")

SECONDS = 60


def until(true: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        found = true()
        if found:
            return found
        time.sleep(0.05)
    raise TimeoutError


def refused(act: Callable[[], Any]) -> str:
    try:
        act()
    except models.BatchErrorException as error:
        return error.error.code
    return ""


def main(address: str, account: str, key: str) -> dict[str, Any]:
    client = batch.BatchServiceClient(batch_auth.SharedKeyCredentials(account, key), batch_url=address)
    image = models.ImageReference(publisher="microsoft-dsvm", offer="ubuntu-hpc", sku="2204")
    machine = models.VirtualMachineConfiguration(image_reference=image, node_agent_sku_id="batch.node.ubuntu 22.04")
    client.pool.add(
        models.PoolAddParameter(
            id="old",
            vm_size="Standard_D2s_v3",
            virtual_machine_configuration=machine,
            target_dedicated_nodes=1,
            task_slots_per_node=4,
        )
    )
    found: dict[str, Any] = {"pool exists": client.pool.exists("old"), "other pool exists": client.pool.exists("none")}
    client.job.add(models.JobAddParameter(id="old", pool_info=models.PoolInformation(pool_id="old"), uses_task_dependencies=True))
    tasks = [models.TaskAddParameter(id=f"t{number:03}", command_line=f"/bin/bash -c 'echo {number}'") for number in range(150)]
    # More than a hundred: the client splits them.
    added = client.task.add_collection("old", tasks, threads=2)
    found["added"] = sorted({(each.status.value if hasattr(each.status, "value") else each.status) for each in added.value})
    client.task.add(
        "old",
        models.TaskAddParameter(
            id="last", command_line="/bin/bash -c 'exit 3'", depends_on=models.TaskDependencies(task_ids=["t000", "t149"])
        ),
    )
    until(lambda: client.job.get_task_counts("old").task_counts.completed == 151)
    found["counts"] = client.job.get_task_counts("old").task_counts.as_dict()
    last = client.task.get("old", "last")
    found["last"] = [last.state.value, last.execution_info.exit_code, last.execution_info.failure_info.code]
    options = models.TaskListOptions(filter="state eq 'completed'", select="id,state", max_results=40)
    found["listed"] = len(list(client.task.list("old", task_list_options=options)))
    found["files"] = sorted(file.name for file in client.file.list_from_task("old", "t007", recursive=True))
    found["stdout"] = b"".join(client.file.get_from_task("old", "t007", "stdout.txt")).decode()
    part = models.FileGetFromTaskOptions(ocp_range="bytes=0-0")
    found["first byte"] = b"".join(
        client.file.get_from_task("old", "t149", "stdout.txt", file_get_from_task_options=part)
    ).decode()
    found["length"] = client.file.get_properties_from_task("old", "t149", "stdout.txt", raw=True).headers["Content-Length"]
    found["refused"] = [refused(lambda: client.job.get("none")), refused(lambda: client.task.terminate("old", "last"))]
    nodes = list(client.compute_node.list("old"))
    found["nodes"] = [node.state.value for node in nodes]
    client.job.patch("old", models.JobPatchParameter(priority=7))
    found["priority"] = client.job.get("old").priority
    client.job.terminate("old", terminate_reason="done")
    found["reason"] = until(
        lambda: client.job.get("old").state.value == "completed" and client.job.get("old")
    ).execution_info.terminate_reason
    client.job.delete("old")
    client.pool.delete("old")
    until(lambda: not client.pool.exists("old"))
    return found


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
