"""What a part of a stack requests of Azure: its names, its machines and its packages, for the inventory.

Machines: one per GPU of a container group, by its SKU; one per replica of a job, by its workload profile; the maximum number of
nodes of a pool, a compute or a deployment.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from azure_gpu.aks.spec import GpuClusterSpec
from azure_gpu.batch.account.spec import BatchAccountSpec
from azure_gpu.batch.pool.spec import BatchPoolSpec
from azure_gpu.budget.spec import BudgetSpec
from azure_gpu.catalog import regions
from azure_gpu.catalog.services.container_apps import serverless_of
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec
from azure_gpu.container_apps.job.spec import ServerlessGpuJobSpec
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.spec import PARTS, FoundationSpec
from azure_gpu.images.spec import GalleryImageSpec
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec
from azure_gpu.shared.context import Context
from azure_gpu.shared.part import Part
from azure_gpu.vm.spec import GpuVmSpec

Parts = Mapping[str, Mapping[str, Any]]
"""Arguments, specs or components, by section of the stack file and by logical name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name that the stack uses in Azure."""

    arm_type: str
    name: str
    path: str
    kept: bool = False  # an earlier destroy of the stack may have kept the resource


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageUse:
    """An application package for the nodes of a pool."""

    application: str
    version: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesUse:
    """Machines without a GPU, whose sizes aren't in the catalog: of a cluster's system pool, or of Azure Machine Learning."""

    size: str
    region: str
    nodes: int  # maximum
    family: str  # of their vCPU quota; empty: not known
    vcpus: int | None  # of one; None: not known
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentUse:
    """GPUs of one kind that jobs use at the same time in one environment of Container Apps, which has a separate quota."""

    environment: str  # ARM id
    profile: str  # the type of the workload profile
    gpus: int
    path: str


class Requesting(NamedTuple):
    """A part of a plan."""

    name: str
    settings: Parts  # of all parts
    specs: Parts
    context: Context

    def text(self, section: str, key: str) -> str:
        """Returns a text of its settings; empty where it isn't set. In a stack file, inputs are strings."""
        return str(self.settings[section][self.name].get(key, ""))

    def region_path(self, section: str) -> str:
        is_own = "location" in self.settings[section][self.name]
        return f"{section}.{self.name}.location" if is_own else "location"


Item = Name | SizeUse | MachinesUse | EnvironmentUse | PackageUse


def foundation(_: Requesting, planned: tuple[FoundationSpec, object]) -> Iterator[Name]:
    for key, (azure_type, _what) in PARTS.items():
        part: Part | None = getattr(planned[0], key)
        if part is not None and part.existing is None:
            yield _name(azure_type, part.name, f"foundation.{key}")


def budget(_: Requesting, spec: BudgetSpec) -> Iterator[Name]:
    yield _name(azure_types.BUDGET, spec.name, "budget")


def container_group(part: Requesting, spec: ContainerGroupSpec) -> Iterator[Item]:
    path = f"container_groups.{part.name}"
    yield _name(azure_types.CONTAINER_GROUP, spec.group_name, path)
    if spec.gpu is not None:
        yield SizeUse(
            service=Service.CONTAINER_INSTANCES,
            size=spec.gpu["sku"],
            region=spec.location,
            nodes=spec.gpu["count"],
            path=f"{path}.gpu.sku",
            region_path=part.region_path("container_groups"),
        )


def job_environment(part: Requesting, planned: tuple[JobEnvironmentSpec, object]) -> Iterator[Item]:
    """Adds up the GPUs of all jobs of the environment, as they may run at the same time."""
    spec, _ = planned
    region = part.name
    if not spec.existing:
        yield _name(azure_types.MANAGED_ENVIRONMENT, spec.name, "job_environment")
    names = {"resourceGroupName": part.specs["foundation"]["foundation"][0].resource_group.name, "environmentName": spec.name}
    own = azure_types.MANAGED_ENVIRONMENT.id_of(part.context.subscription_id, names)
    jobs = {
        name: part.specs["jobs"][name]
        for name, args in part.settings["jobs"].items()
        if regions.normalise(args.get("location", part.context.location)) == region
    }
    for profile in sorted({serverless_of(job.gpu) for job in jobs.values()}):
        of_profile = {name: job for name, job in jobs.items() if serverless_of(job.gpu) == profile}
        yield EnvironmentUse(
            environment=spec.existing.text if spec.existing else own,
            profile=profile,
            gpus=sum(job.parallelism for job in of_profile.values()),
            path=f"jobs.{next(iter(of_profile))}.gpu",
        )


def job(part: Requesting, spec: ServerlessGpuJobSpec) -> Iterator[Item]:
    yield _name(azure_types.JOB, spec.job_name, f"jobs.{part.name}")
    yield SizeUse(
        service=Service.CONTAINER_APPS,
        size=serverless_of(spec.gpu),
        region=spec.location,
        nodes=spec.parallelism,
        path=f"jobs.{part.name}.gpu",
        region_path=part.region_path("jobs"),
    )


def batch_account(_: Requesting, planned: tuple[BatchAccountSpec, object]) -> Iterator[Name]:
    spec = planned[0]
    if spec.existing is None:
        yield _name(azure_types.BATCH_ACCOUNT, spec.name, "batch_account")


def gallery_image(part: Requesting, spec: GalleryImageSpec) -> Iterator[Name]:
    yield _name(azure_types.GALLERY, spec.gallery_name, f"gallery_images.{part.name}")


def pool(part: Requesting, spec: BatchPoolSpec) -> Iterator[Item]:
    """A custom formula may request any number of nodes; it counts as one."""
    path = f"pools.{part.name}"
    yield _name(azure_types.BATCH_POOL, spec.name(part.text("pools", "subnet_id")), path)
    dedicated, spot = spec.request.most or (1, 0)
    for nodes, is_spot in ((dedicated, False), (spot, True)):
        if nodes:
            yield SizeUse(
                service=Service.BATCH,
                size=spec.size,
                region=spec.request.region,
                nodes=nodes,
                spot=is_spot,
                operating_system=spec.request.operating_system,
                rdma=spec.request.rdma,
                path=f"{path}.size",
                region_path=spec.request.at("region"),
            )
    for application, version in spec.request.package_references:
        yield PackageUse(application=application, version=version, path=f"{path}.packages.{application}")


def cluster(part: Requesting, planned: tuple[GpuClusterSpec, object]) -> Iterator[Item]:
    whole, _ = planned
    spec = whole.cluster
    if spec.existing is None:
        yield _name(azure_types.MANAGED_CLUSTER, spec.name, spec.path)
    for name, pool in whole.pools.items():
        path = f"{spec.path}.gpu_pools.{name}"
        yield _name(azure_types.AGENT_POOL, pool.azure_name(part.text("clusters", "subnet_id")), path)
        yield SizeUse(
            service=Service.AKS,
            size=pool.nodes.size,
            region=spec.location,
            nodes=pool.max_nodes,
            spot=pool.request.spot is not None,
            path=f"{path}.size",
            region_path=spec.location_path,
        )


def ml_workspace(part: Requesting, spec: MlWorkspaceSpec) -> Iterator[Item]:
    """A workspace or a vault without a configured name has none beforehand."""
    if spec.existing is None and spec.name:
        yield _name(azure_types.ML_WORKSPACE, spec.name, "ml_workspace.workspace_name")
    computes = part.settings["ml_workspace"][part.name].get("computes", {})
    for name, compute in spec.computes.items():
        own = spec.machines.get(name)
        subnet = str(computes[name].get("subnet_id", ""))  # in a stack file, inputs are strings
        yield _name(azure_types.ML_COMPUTE, own.azure_name(subnet) if own is not None else name, compute.path)
    yield from map(_of_ml, (machines.use for machines in spec.machines.values()))


def ml_endpoint(part: Requesting, spec: MlEndpointSpec) -> Iterator[Item]:
    yield _name(azure_types.ML_ONLINE_ENDPOINT, spec.name, f"ml_endpoints.{part.name}")
    yield from map(_of_ml, spec.uses)


def _of_ml(use: SizeUse) -> SizeUse | MachinesUse:
    """Returns machines without a GPU with the reserve for upgrades of deployments; those with one as they are."""
    if SIZES.find(use.size) is not None:
        return use
    known = endpoints.managed_cpu(use.size)
    nodes = endpoints.reserved(use.nodes) if use.service is Service.ML_ENDPOINT else use.nodes
    family, vcpus = (known.quota_family, known.vcpus) if known is not None else ("", None)
    return MachinesUse(size=use.size, region=use.region, nodes=nodes, family=family, vcpus=vcpus, path=use.path)


def vm(part: Requesting, spec: GpuVmSpec) -> Iterator[Item]:
    path = f"vms.{part.name}"
    yield _name(azure_types.VIRTUAL_MACHINE, spec.name, path)
    yield from (_name(azure_type, of_network, path) for azure_type, of_network in spec.network_names)
    yield spec.use


def _name(azure_type: AzureType, name: str, path: str) -> Name:
    return Name(arm_type=azure_type.arm_type, name=name, path=path)
