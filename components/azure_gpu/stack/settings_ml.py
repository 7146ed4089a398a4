"""The parts of a stack file that belong to Azure Machine Learning, judged together: workspace, endpoints, virtual machines.

In: their settings, and what they stand on. Out: `MlParts`, resolved, with all that is wrong with them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from azure_gpu.aks.spec import GpuClusterSpec
from azure_gpu.aks.workspace_offer import of_cluster
from azure_gpu.catalog.problems import Problem
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.images.args import ImageOfPool
from azure_gpu.ml.endpoint import resolve as endpoint_resolve
from azure_gpu.ml.endpoint.args import MlEndpointSettings
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.ml.workspace import assets as workspace_assets, resolve as workspace_resolve, spec as workspace_spec
from azure_gpu.ml.workspace.args import MlWorkspaceSettings
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec
from azure_gpu.shared.context import Context
from azure_gpu.shared.workloads import Workload
from azure_gpu.vm import resolve as vm_resolve, workspace_offer
from azure_gpu.vm.args import GpuVmSettings
from azure_gpu.vm.spec import GpuVmSpec

LookUp = Callable[[MlWorkspaceSpec], tuple[MlWorkspaceSpec, list[Problem]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MlParts:
    """What is declared."""

    workspace: MlWorkspaceSpec | None
    endpoints: dict[str, MlEndpointSpec]
    vms: dict[str, GpuVmSpec]
    problems: tuple[Problem, ...]


def without_looking(spec: MlWorkspaceSpec) -> tuple[MlWorkspaceSpec, list[Problem]]:
    """What can be assumed of a workspace that isn't looked up, and of conda files that aren't read."""
    return spec, []


def workloads(workspace: MlWorkspaceSettings | None) -> set[Workload]:
    """What the registry has to build for its environments."""
    return workspace_assets.workloads(workspace) if workspace is not None else set()


def resolve(
    workspace: MlWorkspaceSettings | None,
    endpoints: Mapping[str, MlEndpointSettings],
    vms: Mapping[str, GpuVmSettings],
    context: Context,
    foundation: FoundationSpec,
    *,
    clusters: Mapping[str, GpuClusterSpec],
    images: Mapping[str, ImageOfPool],
    look_up: LookUp = without_looking,
) -> MlParts:
    """What is declared, and everything that is wrong with it."""
    problems: list[Problem] = []
    of_vms: dict[str, GpuVmSpec] = {}
    for name, vm in vms.items():
        of_vms[name], more = vm_resolve.resolve(name, vm, context, images)
        problems += more
    spec, offered = None, None
    if workspace is not None:
        spec, more = workspace_resolve.resolve(
            workspace,
            context,
            {name: of_cluster(each) for name, each in clusters.items()},
            {name: workspace_offer.of_workspace(each) for name, each in of_vms.items()},
        )
        problems += more
        spec, more = look_up(spec)
        problems += more
        problems += workspace_resolve.surroundings_problems(
            spec,
            identity=foundation.identity is not None,
            storage=foundation.storage is not None,
            logs=foundation.log_workspace is not None,
            registry=foundation.registry is not None,
        )
        offered = workspace_spec.offer(spec)
    elif endpoints:
        problems.append(_no_workspace())
    of_endpoints: dict[str, MlEndpointSpec] = {}
    for name, endpoint in endpoints.items():
        of_endpoints[name], more = endpoint_resolve.resolve(name, endpoint, context, offered)
        problems += more
        problems += endpoint_resolve.surroundings_problems(of_endpoints[name], identity=foundation.identity is not None)
    return MlParts(workspace=spec, endpoints=of_endpoints, vms=of_vms, problems=tuple(problems))


def _no_workspace() -> Problem:
    return Problem(
        path=workspace_spec.PATH,
        message="endpoints are in an Azure Machine Learning workspace, and none is said",
        allowed="create, or existing: <id>",
        fix="add ml_workspace: create",
    )
