"""The parts of a stack file that belong to Azure Machine Learning, judged together: workspace, endpoints, virtual machines.

In: their settings, and what they stand on. Out: `MlParts`, resolved, with all that is wrong with them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from catalog.problems import Problem
from components import gpu_vm_args, ml_endpoint_args, ml_workspace_args, ml_workspace_assets
from components.context import Context
from components.foundation_args import FoundationSpec
from components.gallery_image_args import ImageOfPool
from components.gpu_cluster_args import GpuClusterSpec
from components.gpu_vm_args import GpuVmSpec
from components.gpu_vm_settings import GpuVmSettings
from components.ml_endpoint_args import MlEndpointSpec
from components.ml_endpoint_settings import MlEndpointSettings
from components.ml_workspace_args import MlWorkspaceSpec
from components.ml_workspace_clusters import of_cluster
from components.ml_workspace_settings import MlWorkspaceSettings
from components.workloads import Workload

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
    return ml_workspace_assets.workloads(workspace) if workspace is not None else set()


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
        of_vms[name], more = gpu_vm_args.resolve(name, vm, context, images)
        problems += more
    spec, offered = None, None
    if workspace is not None:
        spec, more = ml_workspace_args.resolve(
            workspace,
            context,
            {name: of_cluster(each) for name, each in clusters.items()},
            {name: gpu_vm_args.of_workspace(each) for name, each in of_vms.items()},
        )
        problems += more
        spec, more = look_up(spec)
        problems += more
        problems += ml_workspace_args.surroundings_problems(
            spec,
            identity=foundation.identity is not None,
            storage=foundation.storage is not None,
            logs=foundation.log_workspace is not None,
            registry=foundation.registry is not None,
        )
        offered = ml_workspace_args.offer(spec)
    elif endpoints:
        problems.append(_no_workspace())
    of_endpoints: dict[str, MlEndpointSpec] = {}
    for name, endpoint in endpoints.items():
        of_endpoints[name], more = ml_endpoint_args.resolve(name, endpoint, context, offered)
        problems += more
        problems += ml_endpoint_args.surroundings_problems(of_endpoints[name], identity=foundation.identity is not None)
    return MlParts(workspace=spec, endpoints=of_endpoints, vms=of_vms, problems=tuple(problems))


def _no_workspace() -> Problem:
    return Problem(
        path=ml_workspace_args.PATH,
        message="endpoints are in an Azure Machine Learning workspace, and none is said",
        allowed="create, or existing: <id>",
        fix="add ml_workspace: create",
    )
