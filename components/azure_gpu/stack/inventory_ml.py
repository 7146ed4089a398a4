"""What the parts of Azure Machine Learning, and virtual machines, would use and be called: a part of the inventory.

In: `MlParts`, and the settings of the workspace. Out: uses of sizes, and names with the place where each is written.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.ml.endpoint.args import EndpointIdentity
from azure_gpu.ml.endpoint.spec import identity_of
from azure_gpu.ml.workspace.args import MlWorkspaceSettings
from azure_gpu.stack.settings_ml import MlParts


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesUse:
    """Machines without a GPU, which so aren't among the catalog's sizes: of a cluster's system pool, or of Azure Machine
    Learning."""

    size: str
    region: str
    nodes: int  # that there can be
    family: str  # the quota that their vCPUs count against; empty: not known
    vcpus: int | None  # of one; None: not known
    path: str


def uses(parts: MlParts) -> Iterator[SizeUse]:
    """Machines whose sizes have a GPU: of a compute and of a deployment all that there can be."""
    yield from (use for use in _of_ml(parts) if SIZES.find(use.size) is not None)
    for vm in parts.vms.values():
        yield from vm.uses


def without_gpu(parts: MlParts) -> Iterator[MachinesUse]:
    """Machines of the workspace and its endpoints without a GPU, with those that upgrades of a deployment have to have room
    for."""
    for use in _of_ml(parts):
        if SIZES.find(use.size) is None:
            known = endpoints.managed_cpu(use.size)
            nodes = endpoints.reserved(use.nodes) if use.service is Service.ML_ENDPOINT else use.nodes
            family, vcpus = (known.quota_family, known.vcpus) if known is not None else ("", None)
            yield MachinesUse(size=use.size, region=use.region, nodes=nodes, family=family, vcpus=vcpus, path=use.path)


def _of_ml(parts: MlParts) -> Iterator[SizeUse]:
    if parts.workspace is not None:
        yield from (spec.use for spec in parts.workspace.machines.values())
    for endpoint in parts.endpoints.values():
        yield from endpoint.uses


def names(said: MlWorkspaceSettings | None, parts: MlParts) -> Iterator[tuple[AzureType, str, str]]:
    """Type, name, and where it is written. A workspace or a vault without a name of its own takes none beforehand."""
    workspace = parts.workspace
    if workspace is not None and said is not None:
        if workspace.existing is None and workspace.name:
            yield azure_types.ML_WORKSPACE, workspace.name, "ml_workspace.workspace_name"
        for name, spec in workspace.computes.items():
            # In a stack file, what is wired is text.
            subnet = str(said.get("computes", {})[name].get("subnet_id", ""))
            own = workspace.machines.get(name)
            yield azure_types.ML_COMPUTE, own.azure_name(subnet) if own is not None else name, spec.path
    for name, endpoint in parts.endpoints.items():
        yield azure_types.ML_ONLINE_ENDPOINT, endpoint.name, f"ml_endpoints.{name}"
    for name, vm in parts.vms.items():
        yield azure_types.VIRTUAL_MACHINE, vm.name, f"vms.{name}"
        for azure_type, of_network in vm.network_names:
            yield azure_type, of_network, f"vms.{name}"


def assigns_roles(parts: MlParts, *, identity: bool) -> bool:
    """Whether an identity that the stack creates gets roles: a workspace's, or of machines and endpoints that don't speak as
    the stack's. `identity`: whether the stack has one."""
    created = parts.workspace is not None and parts.workspace.existing is None
    speaking = {identity_of(endpoint, stack_has_one=identity) for endpoint in parts.endpoints.values()}
    return created or EndpointIdentity.SYSTEM in speaking or (bool(parts.vms) and not identity)


def existing_workspace(parts: MlParts) -> str:
    """ARM id of the existing workspace; empty where there is none."""
    return parts.workspace.existing.text if parts.workspace is not None and parts.workspace.existing is not None else ""
