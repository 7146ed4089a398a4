"""Finds a name or an id among Azure ML resources and virtual machines; returns facts and a finding."""

from azure_gpu.formats.arm_ids import ArmId
from azure_gpu_operations.azure import Arm
from azure_gpu_operations.explain import activity_log, machine_rules, ml_rules, read_ml
from azure_gpu_operations.explain.facts import Facts, Finding
from azure_gpu_operations.explain.machine_rules import MachineCase
from azure_gpu_operations.machine_learning.endpoints import DEPLOYMENT_TYPE, ENDPOINT_TYPE
from azure_gpu_operations.stack_view import StackView
from azure_gpu_operations.virtual_machines import MACHINE_TYPE, get as get_machine

Explained = tuple[Facts, Finding]

COMPUTE_TYPE = "Microsoft.MachineLearningServices/workspaces/computes"
JOB_TYPE = "Microsoft.MachineLearningServices/workspaces/jobs"


def named(arm: Arm, name: str, view: StackView | None) -> Explained | None:
    """`endpoint`, `endpoint/deployment`, `compute`, `machine`, by the names of the stack file."""
    if view is None:
        return None
    first, slash, rest = name.partition("/")
    if name in view.endpoints:
        return _endpoint(arm, name, view.endpoints[name])
    if slash and first in view.endpoints:
        return _deployment(arm, name, f"{view.endpoints[first]}/deployments/{rest}")
    if name in view.vms:
        return _machine(arm, name, view.vms[name])
    if name in view.ml_computes and name not in view.clusters:  # an attached cluster has the cluster's own name
        return _compute(arm, name, view.ml_computes[name])
    return None


def by_id(arm: Arm, parsed: ArmId) -> Explained | None:
    if parsed.is_type(ENDPOINT_TYPE):
        return _endpoint(arm, parsed.name, parsed.text)
    if parsed.is_type(DEPLOYMENT_TYPE):
        return _deployment(arm, f"{parsed.scope.rsplit('/', 1)[-1]}/{parsed.name}", parsed.text)
    if parsed.is_type(COMPUTE_TYPE):
        return _compute(arm, parsed.name, parsed.text)
    if parsed.is_type(JOB_TYPE):
        return _of_job(arm, parsed.name, parsed.text)
    return _machine(arm, parsed.name, parsed.text) if parsed.is_type(MACHINE_TYPE) else None


def job(arm: Arm, name: str, view: StackView) -> Explained | None:
    found = read_ml.job_id(arm, view.ml_workspace, name) if "/" not in name else ""
    return _of_job(arm, name, found) if found else None


def _endpoint(arm: Arm, name: str, endpoint_id: str) -> Explained:
    return ml_rules.explain(read_ml.endpoint(arm, name, endpoint_id))


def _deployment(arm: Arm, name: str, deployment_id: str) -> Explained:
    case = read_ml.deployment(arm, name, deployment_id)
    return case.as_facts(), ml_rules.explain_deployment(case)


def _compute(arm: Arm, name: str, compute_id: str) -> Explained:
    case = read_ml.compute(arm, name, compute_id)
    return case.as_facts(), ml_rules.explain_compute(case)


def _of_job(arm: Arm, name: str, job_id: str) -> Explained:
    case = read_ml.job(arm, name, job_id)
    return case.as_facts(), ml_rules.explain_job(case)


def _machine(arm: Arm, name: str, machine_id: str) -> Explained:
    case = MachineCase(name, machine_id, get_machine(arm, machine_id), activity_log.of_resource(arm, machine_id))
    return case.as_facts(), machine_rules.explain(case)
