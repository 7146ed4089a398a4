"""Finds a name or an id among Azure ML resources and virtual machines, and reads what it is; returns facts and a finding."""

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.dates import instant
from azure_gpu_operations.azure import Arm, AzureError
from azure_gpu_operations.explain import activity_log, machine_rules, ml_rules
from azure_gpu_operations.explain.facts import Facts, Finding
from azure_gpu_operations.explain.machine_rules import MachineCase
from azure_gpu_operations.explain.ml_rules import ComputeCase, DeploymentCase, EndpointCase, JobCase
from azure_gpu_operations.machine_learning import endpoints, job_log
from azure_gpu_operations.machine_learning.endpoints import (
    API_VERSION,
    DEPLOYMENT_TYPE,
    ENDPOINT_TYPE,
    INFERENCE_SERVER,
    STORAGE_INITIALIZER,
    Endpoint,
    Logged,
)
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import MACHINE_TYPE, get as get_machine

Explained = tuple[Facts, Finding]

COMPUTE_TYPE = "Microsoft.MachineLearningServices/workspaces/computes"
JOB_TYPE = "Microsoft.MachineLearningServices/workspaces/jobs"
LINES = 200  # of a log that are looked through


def named(arm: Arm, name: str, view: StackView | None) -> Explained | None:
    """`endpoint`, `endpoint/deployment`, `compute`, `machine`, by the names of the stack file."""
    if view is None:
        return None
    first, slash, rest = name.partition("/")
    if name in view.endpoints:
        return _explained(arm, ENDPOINT_TYPE, name, view.endpoints[name])
    if slash and first in view.endpoints:
        return _explained(arm, DEPLOYMENT_TYPE, name, f"{view.endpoints[first]}/deployments/{rest}")
    if name in view.vms:
        return _explained(arm, MACHINE_TYPE, name, view.vms[name])
    if name in view.ml_computes and name not in view.clusters:  # an attached cluster has the cluster's own name
        return _explained(arm, COMPUTE_TYPE, name, view.ml_computes[name])
    return None


def by_id(arm: Arm, parsed: ArmId) -> Explained | None:
    arm_type = next((each for each in (ENDPOINT_TYPE, *_KINDS) if parsed.is_type(each)), None)
    within = f"{parsed.scope.rsplit('/', 1)[-1]}/" if arm_type == DEPLOYMENT_TYPE else ""
    return _explained(arm, arm_type, f"{within}{parsed.name}", parsed.text) if arm_type is not None else None


def job_named(arm: Arm, name: str, view: StackView) -> Explained | None:
    found = f"{view.ml_workspace}/jobs/{name}"
    there = "/" not in name and arm.get(found, API_VERSION) is not None
    return _explained(arm, JOB_TYPE, name, found) if there else None


def _explained(arm: Arm, arm_type: str, name: str, resource_id: str) -> Explained:
    if arm_type == ENDPOINT_TYPE:  # or one of its deployments
        return ml_rules.explain(endpoint(arm, name, resource_id))
    read, explain = _KINDS[arm_type]
    case = read(arm, name, resource_id)
    return case.as_facts(), explain(case)


def machine(arm: Arm, name: str, machine_id: str) -> MachineCase:
    return MachineCase(name, machine_id, get_machine(arm, machine_id), activity_log.of_resource(arm, machine_id))


def endpoint(arm: Arm, name: str, endpoint_id: str) -> EndpointCase:
    found = endpoints.get(arm, endpoint_id)
    refused = activity_log.below(arm, endpoint_id)
    cases = [_deployment(arm, name, found, body, refused) for body in _bodies(arm, endpoint_id)] if found else []
    there = {case.id.lower() for case in cases}
    gone = [
        DeploymentCase(f"{name}/{each.rsplit('/', 1)[-1]}", each, found, refusals=refusals)
        for each, refusals in refused.items()
        if each not in there and each.rsplit("/", 2)[-2] == "deployments" and "delete" not in refusals[0].operation.lower()
    ]
    return EndpointCase(name, endpoint_id, found, (*cases, *gone), activity_log.of_resource(arm, endpoint_id))


def deployment(arm: Arm, name: str, deployment_id: str) -> DeploymentCase:
    endpoint_id = deployment_id.rsplit("/", 2)[0]
    found = endpoints.get(arm, endpoint_id)
    body = arm.get(deployment_id, API_VERSION)
    refused = {deployment_id.lower(): activity_log.of_resource(arm, deployment_id)}
    if body is None:
        return DeploymentCase(name, deployment_id, found, refusals=refused[deployment_id.lower()])
    return _deployment(arm, name.rpartition("/")[0], found, body, refused)


def _bodies(arm: Arm, endpoint_id: str) -> list[dict[str, Any]]:
    return list(arm.values(f"{endpoint_id}/deployments", API_VERSION))


def _deployment(arm: Arm, name: str, endpoint: Endpoint | None, body: dict[str, Any], refused: Any) -> DeploymentCase:
    found = endpoints.deployment_of(body)
    system_data = body.get("systemData") or {}
    server = _log(arm, found.id, INFERENCE_SERVER)
    return DeploymentCase(
        f"{name}/{found.name}" if name else found.name,
        found.id,
        endpoint,
        found,
        instant(system_data.get("lastModifiedAt") or system_data.get("createdAt")),
        refused.get(found.id.lower(), ()),
        _log(arm, found.id, STORAGE_INITIALIZER).lines,
        server.lines,
        server.events,
        server.is_down,
    )


def _log(arm: Arm, deployment_id: str, container: str) -> Logged:
    """Empty if it can't be read; the service's messages still count."""
    try:
        found = endpoints.logged(arm, deployment_id, container, LINES)
    except AzureError:
        return Logged()
    return found._replace(lines=tuple(map(endpoints.without_time, found.lines)))


def compute(arm: Arm, name: str, compute_id: str) -> ComputeCase:
    refusals = activity_log.of_resource(arm, compute_id)
    body = arm.get(compute_id, API_VERSION)
    if body is None:
        return ComputeCase(name, compute_id, refusals=refusals)
    outer = body.get("properties") or {}
    inner = outer.get("properties") or {}
    errors = [*(outer.get("provisioningErrors") or []), *(inner.get("errors") or [])]
    return ComputeCase(
        name,
        compute_id,
        exists=True,
        kind=str(outer.get("computeType") or ""),
        state=str(outer.get("provisioningState") or ""),
        size=str(inner.get("vmSize") or inner.get("virtualMachineSize") or ""),
        allocation=str(inner.get("allocationState") or ""),
        nodes={str(state): int(count) for state, count in (inner.get("nodeStateCounts") or {}).items()},
        target=int(inner.get("targetNodeCount") or 0),
        errors=tuple(job_log.words_of(each.get("error") or each) for each in errors),
        attached=str(outer.get("resourceId") or ""),
        refusals=refusals,
    )


def job(arm: Arm, name: str, job_id: str) -> JobCase:
    refusals = activity_log.of_resource(arm, job_id)
    body = arm.get(job_id, API_VERSION)
    if body is None:
        return JobCase(name, job_id, refusals=refusals)
    properties = body.get("properties") or {}
    error = job_log.error_of(properties)
    code = str((properties.get("properties") or {}).get("azureml.exitCode") or "")
    return JobCase(
        name,
        job_id,
        exists=True,
        status=str(properties.get("status") or ""),
        error=error,
        exit_code=int(code) if code.lstrip("-").isdecimal() else None,
        compute=str(properties.get("computeId") or ""),
        nodes=int((properties.get("resources") or {}).get("instanceCount") or 1),
        timeout_seconds=endpoints.seconds_of((properties.get("limits") or {}).get("timeout")),
        log=_written(arm, job_id, name),
        refusals=refusals,
    )


def _written(arm: Arm, job_id: str, name: str) -> tuple[str, ...]:
    """The last lines of the job's log, from the workspace's storage. Nothing where it can't be read."""
    from azure_gpu_operations.batch.blobs import Blobs  # here, because Azure's clients take seconds to load

    try:
        workspace = arm.get(job_id.rsplit("/", 2)[0], API_VERSION) or {}
        account = str((workspace.get("properties") or {}).get("storageAccount") or "")
        if not account:
            return ()
        with closing(Blobs(arm, account)) as blobs:
            content = job_log.Reader(blobs, name).read_from(0)
    except AzureError:
        return ()
    return tuple((content or b"").decode("utf-8", errors="replace").splitlines()[-LINES:])


# How each type but an endpoint is read and explained.
_KINDS: Mapping[str, tuple[Callable[[Arm, str, str], Any], Callable[[Any], Finding]]] = {
    DEPLOYMENT_TYPE: (deployment, ml_rules.explain_deployment),
    COMPUTE_TYPE: (compute, ml_rules.explain_compute),
    JOB_TYPE: (job, ml_rules.explain_job),
    MACHINE_TYPE: (machine, machine_rules.explain),
}
