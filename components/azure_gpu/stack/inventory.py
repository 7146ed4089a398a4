"""Inventory of the resources that a stack file requests, for `preflight`, made without declaring them or reading Azure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, NamedTuple

from azure_gpu.aks.gpu_pools import pool_name
from azure_gpu.aks.spec import ClusterSpec, GpuClusterSpec
from azure_gpu.batch.account.spec import BatchAccountSpec
from azure_gpu.batch.pool.spec import BatchPoolSpec
from azure_gpu.budget.spec import BudgetSpec
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.aks import clusters
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec
from azure_gpu.container_apps.job.spec import ServerlessGpuJobSpec
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.images.spec import GalleryImageSpec
from azure_gpu.ml.endpoint.spec import MlEndpointSpec, identity_of
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec
from azure_gpu.stack import other_stacks
from azure_gpu.stack.look_ups import ASSUMED
from azure_gpu.stack.own_source import no_source
from azure_gpu.stack.plan import Plan, plan as make_plan
from azure_gpu.stack.secret_values import NOTHING_ENCRYPTED, Encrypted
from azure_gpu.stack.settings import Settings, read
from azure_gpu.vm.spec import GpuVmSpec


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    day: date  # at which the stack is evaluated
    location: str = ""
    subscription_id: str = ""
    problems: tuple[Problem, ...] = ()
    unchecked: tuple[str, ...] = ()  # what the file insists on
    # Machines by service: one per GPU of a container group, by its SKU; one per replica of a job, by its workload profile; the
    # maximum number of nodes of a Batch or cluster pool.
    uses: tuple[SizeUse, ...] = ()
    system_pools: tuple[MachinesUse, ...] = ()  # of clusters that are created
    ml_machines: tuple[MachinesUse, ...] = ()  # of computes and managed deployments, whose upgrades reserve 20 % more
    environments: tuple[EnvironmentUse, ...] = ()
    names: tuple[Name, ...] = ()  # of what is created
    batch_account: str = ""  # name of the account of the pools; empty where there is none
    batch_account_id: str = ""  # ARM id of an existing one; empty where it is created
    packages: tuple[PackageUse, ...] = ()
    log_workspace: str = ""  # ARM id of the one that is created; empty where none is
    assigns_roles: bool = True
    locks_data: bool = False
    key: str = ""  # ARM id of the key that encrypts data and on which a role is assigned; empty without one
    link_scope: str = ""  # ARM id of an existing private link scope, which resources are added to; empty without one
    azure_policy: bool = False  # whether a cluster has AKS's add-on for Azure Policy
    clusters: tuple[str, ...] = ()  # ARM ids of existing ones
    group: str = ""  # name of the existing resource group; empty where one is created
    ml_workspace: str = ""  # ARM id of an existing one; empty where it is created, or there is none
    monthly_budget: float | None = None  # USD; None: the stack has no budget
    budget_in_azure: bool = False  # whether a budget is created in Azure
    budget_of_subscription: bool = False  # whether the budget is the subscription's; else it is the resource group's


def take(
    configuration: Mapping[str, str],
    project: str,
    stack: str,
    today: str,
    encrypted: Encrypted = NOTHING_ENCRYPTED,
    outputs_of: other_stacks.Reader = other_stacks.unavailable,
    own_source: Callable[[], str] = no_source,
) -> Inventory:
    """Returns the inventory of a stack with this configuration. `encrypted`: which of its values are secrets; `outputs_of` reads
    other stacks, `own_source` finds the sources of the workloads."""
    settings = read(configuration, today, encrypted, project, outputs_of=outputs_of, own_source=own_source)
    return of_plan(settings, make_plan(settings, ASSUMED, project, stack))


def of_plan(settings: Settings, plan: Plan) -> Inventory:
    """Returns the inventory of a plan."""
    foundation = plan.foundation
    clusters: list[ClusterSpec] = [spec.cluster for spec, _ in plan.parts["clusters"].values()]
    accounts: list[BatchAccountSpec] = [spec for spec, _ in plan.parts["batch_account"].values()]
    budgets: list[BudgetSpec] = [*plan.parts["budget"].values()]
    items = [
        item
        for section, requested in _REQUESTED.items()
        if section not in settings.planned_only
        for name, spec in plan.parts[section].items()
        for item in requested(_Planned(settings, plan, name), spec)
    ]
    kept = {(part.azure_type.arm_type, part.name) for part in plan.kept}
    return Inventory(
        day=plan.context.day,
        location=plan.context.location,
        subscription_id=plan.context.subscription_id,
        problems=plan.problems,
        unchecked=tuple(settings.unchecked),
        uses=tuple(each for each in items if isinstance(each, SizeUse)),
        system_pools=tuple(_system_pool(spec) for spec in clusters if spec.existing is None),
        ml_machines=tuple(each for each in items if isinstance(each, MachinesUse)),
        environments=tuple(each for each in items if isinstance(each, EnvironmentUse)),
        names=tuple(replace(each, kept=(each.arm_type, each.name) in kept) for each in items if isinstance(each, Name)),
        batch_account="".join(account.name for account in accounts),
        batch_account_id="".join(account.existing.text for account in accounts if account.existing),
        packages=tuple(each for each in items if isinstance(each, PackageUse)),
        log_workspace=_log_workspace(plan),
        assigns_roles=_assigns_roles(plan),
        locks_data=plan.foundation.context.lock_data,
        key=foundation.key.text if foundation.key is not None and foundation.assign_roles else "",
        link_scope=_link_scope(foundation),
        azure_policy=any(spec.azure_policy for spec in clusters),
        clusters=tuple(spec.existing.text for spec in clusters if spec.existing is not None),
        group=foundation.resource_group.name if foundation.resource_group.existing else "",
        ml_workspace="".join(each.existing.text for each in plan.parts["ml_workspace"].values() if each.existing),
        monthly_budget=budgets[0].monthly_usd if budgets else None,
        budget_in_azure=bool(budgets) and "budget" not in settings.planned_only,
        budget_of_subscription=any(budget.of_subscription for budget in budgets),
    )


class _Planned(NamedTuple):
    """A part of a plan."""

    settings: Settings
    plan: Plan
    name: str

    def text(self, section: str, key: str) -> str:
        """Returns a text of its settings; empty where it isn't set. In a stack file, inputs are strings."""
        return str(self.settings.parts[section][self.name].get(key, ""))

    def region_path(self, section: str) -> str:
        is_own = "location" in self.settings.parts[section][self.name]
        return f"{section}.{self.name}.location" if is_own else "location"


_Item = Name | SizeUse | MachinesUse | EnvironmentUse | PackageUse


def _foundation(_: _Planned, planned: tuple[FoundationSpec, object]) -> Iterator[Name]:
    spec = planned[0]
    parts = (
        ("resource_group", azure_types.RESOURCE_GROUP, spec.resource_group),
        ("identity", azure_types.USER_ASSIGNED_IDENTITY, spec.identity),
        ("serving_identity", azure_types.USER_ASSIGNED_IDENTITY, spec.serving_identity),
        ("registry", azure_types.REGISTRY, spec.registry),
        ("log_workspace", azure_types.LOG_WORKSPACE, spec.log_workspace),
        ("storage", azure_types.STORAGE_ACCOUNT, spec.storage),
    )
    for key, azure_type, part in parts:
        if part is not None and part.existing is None:
            yield _name(azure_type, part.name, f"foundation.{key}")


def _budget(_: _Planned, spec: BudgetSpec) -> Iterator[Name]:
    yield _name(azure_types.BUDGET, spec.name, "budget")


def _container_group(part: _Planned, spec: ContainerGroupSpec) -> Iterator[_Item]:
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


def _job_environment(part: _Planned, planned: tuple[JobEnvironmentSpec, object]) -> Iterator[_Item]:
    """Adds up the GPUs of all jobs of the environment, as they may run at the same time."""
    spec, _ = planned
    plan, region = part.plan, part.name
    if not spec.existing:
        yield _name(azure_types.MANAGED_ENVIRONMENT, spec.name, "job_environment")
    names = {"resourceGroupName": plan.foundation.resource_group.name, "environmentName": spec.name}
    own = azure_types.MANAGED_ENVIRONMENT.id_of(plan.context.subscription_id, names)
    jobs = {
        name: plan.parts["jobs"][name]
        for name, args in part.settings.parts["jobs"].items()
        if regions.normalise(args.get("location", plan.context.location)) == region
    }
    for profile in sorted({job.gpu.profile_type for job in jobs.values()}):
        of_profile = {name: job for name, job in jobs.items() if job.gpu.profile_type == profile}
        yield EnvironmentUse(
            environment=spec.existing.text if spec.existing else own,
            profile=profile,
            gpus=sum(job.parallelism for job in of_profile.values()),
            path=f"jobs.{next(iter(of_profile))}.gpu",
        )


def _job(part: _Planned, spec: ServerlessGpuJobSpec) -> Iterator[_Item]:
    yield _name(azure_types.JOB, spec.job_name, f"jobs.{part.name}")
    yield SizeUse(
        service=Service.CONTAINER_APPS,
        size=spec.gpu.profile_type,
        region=spec.location,
        nodes=spec.parallelism,
        path=f"jobs.{part.name}.gpu",
        region_path=part.region_path("jobs"),
    )


def _batch_account(_: _Planned, planned: tuple[BatchAccountSpec, object]) -> Iterator[Name]:
    spec = planned[0]
    if spec.existing is None:
        yield _name(azure_types.BATCH_ACCOUNT, spec.name, "batch_account")


def _gallery_image(part: _Planned, spec: GalleryImageSpec) -> Iterator[Name]:
    yield _name(azure_types.GALLERY, spec.gallery_name, f"gallery_images.{part.name}")


def _pool(part: _Planned, spec: BatchPoolSpec) -> Iterator[_Item]:
    """A custom formula may request any number of nodes; it counts as one."""
    path = f"pools.{part.name}"
    yield _name(azure_types.BATCH_POOL, spec.name(part.text("pools", "subnet_id")), path)
    dedicated, spot = spec.scale.most or (1, 0)
    for nodes, is_spot in ((dedicated, False), (spot, True)):
        if nodes:
            yield SizeUse(
                service=Service.BATCH,
                size=spec.size,
                region=spec.request.region,
                nodes=nodes,
                spot=is_spot,
                operating_system=spec.operating_system,
                rdma=spec.request.rdma,
                path=f"{path}.size",
                region_path=spec.request.at("region"),
            )
    for application, version in spec.packages:
        yield PackageUse(application=application, version=version, path=f"{path}.packages.{application}")


def _cluster(part: _Planned, planned: tuple[GpuClusterSpec, object]) -> Iterator[_Item]:
    whole, _ = planned
    spec = whole.cluster
    if spec.existing is None:
        yield _name(azure_types.MANAGED_CLUSTER, spec.name, spec.path)
    for name, pool in whole.pools.items():
        path = f"{spec.path}.gpu_pools.{name}"
        yield _name(
            azure_types.AGENT_POOL, pool_name(pool.name, pool.replace, pool.kept, part.text("clusters", "subnet_id")), path
        )
        yield SizeUse(
            service=Service.AKS,
            size=pool.nodes.size,
            region=spec.location,
            nodes=pool.max_nodes,
            spot=pool.request.spot is not None,
            path=f"{path}.size",
            region_path=spec.location_path,
        )


def _system_pool(spec: ClusterSpec) -> MachinesUse:
    return MachinesUse(
        size=spec.system.size,
        region=spec.location,
        nodes=max(spec.system.nodes, spec.system.max_nodes),
        family=clusters.family(spec.system.size),
        vcpus=clusters.vcpus(spec.system.size),
        path=f"{spec.path}.system_pool.size",
    )


def _ml_workspace(part: _Planned, spec: MlWorkspaceSpec) -> Iterator[_Item]:
    """A workspace or a vault without a configured name has none beforehand."""
    if spec.existing is None and spec.name:
        yield _name(azure_types.ML_WORKSPACE, spec.name, "ml_workspace.workspace_name")
    computes = part.settings.parts["ml_workspace"][part.name].get("computes", {})
    for name, compute in spec.computes.items():
        own = spec.machines.get(name)
        subnet = str(computes[name].get("subnet_id", ""))  # in a stack file, inputs are strings
        yield _name(azure_types.ML_COMPUTE, own.azure_name(subnet) if own is not None else name, compute.path)
    yield from map(_of_ml, (machines.use for machines in spec.machines.values()))


def _ml_endpoint(part: _Planned, spec: MlEndpointSpec) -> Iterator[_Item]:
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


def _vm(part: _Planned, spec: GpuVmSpec) -> Iterator[_Item]:
    path = f"vms.{part.name}"
    yield _name(azure_types.VIRTUAL_MACHINE, spec.name, path)
    yield from (_name(azure_type, of_network, path) for azure_type, of_network in spec.network_names)
    yield from spec.uses


# What a part requests, by its section. Machines: one per GPU of a container group, by its SKU; one per replica of a job, by its
# workload profile; the maximum number of nodes of a pool, a compute or a deployment.
_REQUESTED: Mapping[str, Callable[[_Planned, Any], Iterator[_Item]]] = {
    "foundation": _foundation,
    "budget": _budget,
    "container_groups": _container_group,
    "job_environment": _job_environment,
    "jobs": _job,
    "batch_account": _batch_account,
    "gallery_images": _gallery_image,
    "pools": _pool,
    "clusters": _cluster,
    "ml_workspace": _ml_workspace,
    "ml_endpoints": _ml_endpoint,
    "vms": _vm,
}


def _assigns_roles(plan: Plan) -> bool:
    """Whether an identity that the stack creates gets roles: the stack's, a cluster's, a workspace's, or that of machines and
    endpoints which don't use the stack's."""
    foundation = plan.foundation
    has_one = foundation.identity is not None or foundation.serving_identity is not None
    speaking = {identity_of(endpoint, stack_has_one=has_one) for endpoint in plan.parts["ml_endpoints"].values()}
    return foundation.assign_roles and (
        foundation.identity_pulls
        or foundation.identity_writes_blobs
        or foundation.key is not None
        or foundation.serving_identity_pulls
        or foundation.serving_identity_reads_blobs
        or bool(plan.parts["clusters"])
        or any(workspace.existing is None for workspace in plan.parts["ml_workspace"].values())
        or "system" in speaking
        or (bool(plan.parts["vms"]) and foundation.identity is None)
    )


def _link_scope(foundation: FoundationSpec) -> str:
    scope = foundation.link_scope
    return scope.part.existing.text if scope is not None and scope.part.existing is not None else ""


def _log_workspace(plan: Plan) -> str:
    spec = plan.foundation
    if spec.log_workspace is None or spec.log_workspace.existing is not None:
        return ""
    names = {"resourceGroupName": spec.resource_group.name, "workspaceName": spec.log_workspace.name}
    return azure_types.LOG_WORKSPACE.id_of(plan.context.subscription_id, names)


def _name(azure_type: AzureType, name: str, path: str) -> Name:
    return Name(arm_type=azure_type.arm_type, name=name, path=path)
