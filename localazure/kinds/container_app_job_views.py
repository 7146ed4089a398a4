"""Executions of a job and their replicas as ARM shows them, from their records and from the runtime.

Shapes: azure-mgmt-appcontainers 5.1 (JobExecution, ExecutionStatus); replicas, which it has no class for, as the Azure CLI's
extension `containerapp` reads them.
"""

from localazure.apps.executions import Executions
from localazure.arm.store import Body, Resource
from localazure.kinds.managed_environments import EVENTS
from localazure.services import Services

TYPE = "Microsoft.App/jobs/executions"


def execution(job: Resource, record: Body, executions: Executions) -> Body:
    replicas = [
        {
            "name": one["name"],
            "containers": [_container(name, one, state) for name, state in executions.containers(job.key, record, one).items()]
            or [_not_begun(container["name"], one) for container in record["template"]["containers"]],
        }
        for one in record["replicas"]
    ]
    properties: Body = {
        "status": record["status"],
        "startTime": record["startTime"],
        "template": record["template"],
        "detailedStatus": {"replicas": replicas},
    }
    for name in ("endTime", "reason", "message"):
        if record.get(name):
            properties[name] = record[name]
    return {"id": f"{job.id.text}/executions/{record['name']}", "name": record["name"], "type": TYPE, "properties": properties}


def replica(job: Resource, record: Body, one: Body, executions: Executions, services: Services) -> Body:
    """One replica with the address of each container's log."""
    here = f"{job.id.text}/executions/{record['name']}/replicas/{one['name']}"
    states = executions.containers(job.key, record, one)
    kinds = {
        kind: [
            _replica_container(job, record, one, container["name"], states, services) for container in record["template"][kind]
        ]
        for kind in ("containers", "initContainers")
        if record["template"].get(kind)
    }
    return {
        "id": here,
        "name": one["name"],
        "type": f"{TYPE}/replicas",
        "properties": {"createdTime": one["startTime"], "runningState": one["outcome"] or record["status"], **kinds},
        **kinds,  # clients read them here
    }


def _container(name: str, one: Body, state: Body) -> Body:
    shown: Body = {"name": name, "status": state["status"]}
    if "code" in state:
        shown["code"] = state["code"]
    information = one["information"] or one["reason"] or state.get("information")
    return {**shown, "additionalInformation": information} if information else shown


def _not_begun(name: str, one: Body) -> Body:
    """A container that is about to begin, or of a replica that ended before it began: its image couldn't be pulled."""
    return _container(name, one, {"status": one["outcome"] or "Waiting"})


def _replica_container(job: Resource, record: Body, one: Body, name: str, states: dict[str, Body], services: Services) -> Body:
    path = f"/subscriptions/{job.id.subscription}/resourceGroups/{job.id.resource_group}/jobs/{job.id.name}"
    stream = f"{path}/executions/{record['name']}/replicas/{one['name']}/containers/{name}/logstream"
    state = states.get(name, {"status": one["outcome"] or "Waiting"})
    return {
        "name": name,
        "containerId": f"process://{one['name']}/{name}",
        "ready": state["status"] == "Running",
        "started": state["status"] != "Waiting",
        "restartCount": 0,
        "runningState": state["status"],
        "logStreamEndpoint": f"{services.settings.url}/{EVENTS}{stream}",
    }
