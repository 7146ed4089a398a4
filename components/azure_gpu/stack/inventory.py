"""Inventory of the resources that a stack file requests, for `preflight`, made without declaring them or reading Azure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from azure_gpu.aks.spec import GpuClusterSpec
from azure_gpu.batch.pool.spec import BatchPoolSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.services.aks import system_pools
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec
from azure_gpu.container_apps.job.spec import ServerlessGpuJobSpec
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.formats import azure_types
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.ml.endpoint.args import EndpointIdentity
from azure_gpu.ml.endpoint.spec import identity_of
from azure_gpu.ml.workspace.args import MlWorkspaceSettings
from azure_gpu.stack import other_stacks
from azure_gpu.stack.look_ups import ASSUMED
from azure_gpu.stack.own_source import no_source
from azure_gpu.stack.plan import Plan, plan as make_plan
from azure_gpu.stack.secret_values import NOTHING_ENCRYPTED, Encrypted
from azure_gpu.stack.settings import Settings, read


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
    location: str
    subscription_id: str
    problems: tuple[Problem, ...]
    # Machines by service: one per GPU of a container group, by its SKU; one per replica of a job, by its workload profile; the
    # maximum number of nodes of a Batch or cluster pool.
    uses: tuple[SizeUse, ...]
    system_pools: tuple[MachinesUse, ...]  # of clusters that are created
    ml_machines: tuple[MachinesUse, ...]  # of computes and managed deployments, whose upgrades reserve 20 % more
    environments: tuple[EnvironmentUse, ...]
    names: tuple[Name, ...]  # of what is created
    batch_account: str  # name of the account of the pools; empty where there is none
    batch_account_id: str  # ARM id of an existing one; empty where it is created
    packages: tuple[PackageUse, ...]
    log_workspace: str  # ARM id of the one that is created; empty where none is
    assigns_roles: bool
    clusters: tuple[str, ...]  # ARM ids of existing ones
    group: str  # name of the existing resource group; empty where one is created
    ml_workspace: str  # ARM id of an existing one; empty where it is created, or there is none
    monthly_budget: float | None  # USD; None: the stack has no budget
    budget_in_azure: bool  # whether a budget is created in Azure
    budget_of_subscription: bool  # whether the budget is the subscription's; else it is the resource group's


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
    foundation = plan.foundation[0]
    clusters = {name: spec for name, (spec, _) in plan.clusters.items()}
    account = plan.batch_account[0] if plan.batch_account else None
    return Inventory(
        day=plan.context.day,
        location=plan.context.location,
        subscription_id=plan.context.subscription_id,
        problems=plan.problems,
        uses=(
            *_group_uses(settings, plan.container_groups),
            *_job_uses(settings, plan.jobs),
            *_pool_uses(plan.pools),
            *_cluster_uses(clusters),
            *_ml_uses(plan),
        ),
        system_pools=tuple(_system_pool(spec) for spec in clusters.values() if spec.existing is None),
        ml_machines=tuple(_without_gpu(plan)),
        environments=tuple(_environment_uses(settings, plan)),
        names=_with_kept(
            plan,
            *_foundation_names(foundation),
            *([_name(azure_types.BUDGET, plan.budget.name, "budget")] if plan.budget and settings.budget_in_azure else ()),
            *_group_names(plan.container_groups),
            *_job_names(plan.jobs, [spec for spec, _ in plan.environments.values()]),
            *_batch_names(settings, plan),
            *_cluster_names(settings, clusters),
            *(_name(*each) for each in _ml_names(settings.ml_workspace, plan)),
        ),
        batch_account=account.name if account else "",
        batch_account_id=account.existing.text if account and account.existing else "",
        packages=tuple(package for name, spec in plan.pools.items() for package in _packages(name, spec)),
        log_workspace=_log_workspace(plan),
        assigns_roles=foundation.assign_roles
        and (
            foundation.identity_pulls
            or foundation.identity_writes_blobs
            or foundation.serving_identity_pulls
            or foundation.serving_identity_reads_blobs
            or bool(clusters)
            or _ml_assigns_roles(plan, identity=foundation.identity is not None)
        ),
        clusters=tuple(spec.existing.text for spec in clusters.values() if spec.existing is not None),
        group=foundation.resource_group.name if foundation.resource_group.existing else "",
        ml_workspace=_existing_workspace(plan),
        monthly_budget=plan.budget.monthly_usd if plan.budget else None,
        budget_in_azure=settings.budget_in_azure,
        budget_of_subscription=plan.budget is not None and plan.budget.of_subscription,
    )


def _group_uses(settings: Settings, groups: Mapping[str, ContainerGroupSpec]) -> list[SizeUse]:
    uses: list[SizeUse] = []
    for name, spec in groups.items():
        if spec.gpu is not None:
            path = f"container_groups.{name}"
            uses.append(
                SizeUse(
                    service=Service.CONTAINER_INSTANCES,
                    size=spec.gpu.sku,
                    region=spec.location,
                    nodes=spec.gpu.count,
                    path=f"{path}.gpu.sku",
                    region_path=f"{path}.location" if "location" in settings.container_groups[name] else "location",
                )
            )
    return uses


def _job_uses(settings: Settings, jobs: Mapping[str, ServerlessGpuJobSpec]) -> list[SizeUse]:
    return [
        SizeUse(
            service=Service.CONTAINER_APPS,
            size=spec.gpu.profile_type,
            region=spec.location,
            nodes=spec.parallelism,
            path=f"jobs.{name}.gpu",
            region_path=f"jobs.{name}.location" if "location" in settings.jobs[name] else "location",
        )
        for name, spec in jobs.items()
    ]


def _environment_uses(settings: Settings, plan: Plan) -> Iterator[EnvironmentUse]:
    """Adds up the GPUs of all jobs of an environment, as they may run at the same time."""
    for region, (spec, _) in plan.environments.items():
        names = {"resourceGroupName": plan.foundation[0].resource_group.name, "environmentName": spec.name}
        own = azure_types.MANAGED_ENVIRONMENT.id_of(plan.context.subscription_id, names)
        jobs = {name: job for name, job in plan.jobs.items() if settings.environment_of(name) == region}
        for profile in sorted({job.gpu.profile_type for job in jobs.values()}):
            of_profile = {name: job for name, job in jobs.items() if job.gpu.profile_type == profile}
            yield EnvironmentUse(
                environment=spec.existing.text if spec.existing else own,
                profile=profile,
                gpus=sum(job.parallelism for job in of_profile.values()),
                path=f"jobs.{next(iter(of_profile))}.gpu",
            )


def _with_kept(plan: Plan, *names: Name) -> tuple[Name, ...]:
    kept = {(part.azure_type.arm_type, part.name) for part in plan.kept}
    return tuple(replace(each, kept=(each.arm_type, each.name) in kept) for each in names)


def _pool_uses(pools: Mapping[str, BatchPoolSpec]) -> list[SizeUse]:
    """A custom formula may request any number of nodes; it counts as one."""
    uses: list[SizeUse] = []
    for name, spec in pools.items():
        dedicated, spot = spec.scale.most or (1, 0)
        for nodes, is_spot in ((dedicated, False), (spot, True)):
            if nodes:
                uses.append(
                    SizeUse(
                        service=Service.BATCH,
                        size=spec.size,
                        region=spec.request.region,
                        nodes=nodes,
                        spot=is_spot,
                        operating_system=spec.operating_system,
                        rdma=spec.request.rdma,
                        path=f"pools.{name}.size",
                        region_path=spec.request.at("region"),
                    )
                )
    return uses


def _cluster_uses(clusters: Mapping[str, GpuClusterSpec]) -> list[SizeUse]:
    return [
        SizeUse(
            service=Service.AKS,
            size=pool.size,
            region=spec.location,
            nodes=pool.request.max_count,
            spot=pool.request.spot is not None,
            path=f"{spec.path}.gpu_pools.{name}.size",
            region_path=spec.location_path,
        )
        for spec in clusters.values()
        for name, pool in spec.pools.items()
    ]


def _system_pool(spec: GpuClusterSpec) -> MachinesUse:
    return MachinesUse(
        size=spec.system.size,
        region=spec.location,
        nodes=max(spec.system.nodes, spec.system.max_nodes),
        family=system_pools.family(spec.system.size),
        vcpus=system_pools.vcpus(spec.system.size),
        path=f"{spec.path}.system_pool.size",
    )


def _cluster_names(settings: Settings, clusters: Mapping[str, GpuClusterSpec]) -> list[Name]:
    names: list[Name] = []
    for name, spec in clusters.items():
        if spec.existing is None:
            names.append(_name(azure_types.MANAGED_CLUSTER, spec.name, spec.path))
        subnet = str(settings.clusters[name].get("subnet_id", ""))  # in a stack file, inputs are strings
        names += [
            _name(azure_types.AGENT_POOL, pool.azure_name(subnet), f"{spec.path}.gpu_pools.{each}")
            for each, pool in spec.pools.items()
        ]
    return names


def _batch_names(settings: Settings, plan: Plan) -> list[Name]:
    names: list[Name] = []
    if plan.batch_account is not None and plan.batch_account[0].existing is None:
        names.append(_name(azure_types.BATCH_ACCOUNT, plan.batch_account[0].name, "batch_account"))
    for name, image in plan.gallery_images.items():
        names.append(_name(azure_types.GALLERY, image.gallery_name, f"gallery_images.{name}"))
    for name, spec in plan.pools.items():
        # In a stack file, inputs are strings.
        names.append(_name(azure_types.BATCH_POOL, spec.name(str(settings.pools[name].get("subnet_id", ""))), f"pools.{name}"))
    return names


def _packages(name: str, spec: BatchPoolSpec) -> list[PackageUse]:
    return [
        PackageUse(application=application, version=version, path=f"pools.{name}.packages.{application}")
        for application, version in spec.packages
    ]


def _foundation_names(spec: FoundationSpec) -> list[Name]:
    parts = (
        ("resource_group", azure_types.RESOURCE_GROUP, spec.resource_group),
        ("identity", azure_types.USER_ASSIGNED_IDENTITY, spec.identity),
        ("serving_identity", azure_types.USER_ASSIGNED_IDENTITY, spec.serving_identity),
        ("registry", azure_types.REGISTRY, spec.registry),
        ("log_workspace", azure_types.LOG_WORKSPACE, spec.log_workspace),
        ("storage", azure_types.STORAGE_ACCOUNT, spec.storage),
    )
    return [
        _name(azure_type, part.name, f"foundation.{key}")
        for key, azure_type, part in parts
        if part is not None and part.existing is None
    ]


def _log_workspace(plan: Plan) -> str:
    spec = plan.foundation[0]
    if spec.log_workspace is None or spec.log_workspace.existing is not None:
        return ""
    names = {"resourceGroupName": spec.resource_group.name, "workspaceName": spec.log_workspace.name}
    return azure_types.LOG_WORKSPACE.id_of(plan.context.subscription_id, names)


def _group_names(groups: Mapping[str, ContainerGroupSpec]) -> list[Name]:
    return [_name(azure_types.CONTAINER_GROUP, spec.group_name, f"container_groups.{name}") for name, spec in groups.items()]


def _job_names(jobs: Mapping[str, ServerlessGpuJobSpec], environments: Sequence[JobEnvironmentSpec]) -> list[Name]:
    created = [_name(azure_types.MANAGED_ENVIRONMENT, spec.name, "job_environment") for spec in environments if not spec.existing]
    return [*created, *(_name(azure_types.JOB, spec.job_name, f"jobs.{name}") for name, spec in jobs.items())]


def _ml_uses(plan: Plan) -> Iterator[SizeUse]:
    """Yields machines with a GPU: the maximum number of a compute and of a deployment."""
    yield from (use for use in _of_ml(plan) if SIZES.find(use.size) is not None)
    for vm in plan.vms.values():
        yield from vm.uses


def _without_gpu(plan: Plan) -> Iterator[MachinesUse]:
    """Yields machines of the workspace and its endpoints without a GPU, with the reserve for upgrades of deployments."""
    for use in _of_ml(plan):
        if SIZES.find(use.size) is None:
            known = endpoints.managed_cpu(use.size)
            nodes = endpoints.reserved(use.nodes) if use.service is Service.ML_ENDPOINT else use.nodes
            family, vcpus = (known.quota_family, known.vcpus) if known is not None else ("", None)
            yield MachinesUse(size=use.size, region=use.region, nodes=nodes, family=family, vcpus=vcpus, path=use.path)


def _of_ml(plan: Plan) -> Iterator[SizeUse]:
    if plan.ml_workspace is not None:
        yield from (spec.use for spec in plan.ml_workspace.machines.values())
    for endpoint in plan.ml_endpoints.values():
        yield from endpoint.uses


def _ml_names(settings: MlWorkspaceSettings | None, plan: Plan) -> Iterator[tuple[AzureType, str, str]]:
    """Yields type, name and path. A workspace or a vault without a configured name has none beforehand."""
    workspace = plan.ml_workspace
    if workspace is not None and settings is not None:
        if workspace.existing is None and workspace.name:
            yield azure_types.ML_WORKSPACE, workspace.name, "ml_workspace.workspace_name"
        for name, spec in workspace.computes.items():
            # In a stack file, inputs are strings.
            subnet = str(settings.get("computes", {})[name].get("subnet_id", ""))
            own = workspace.machines.get(name)
            yield azure_types.ML_COMPUTE, own.azure_name(subnet) if own is not None else name, spec.path
    for name, endpoint in plan.ml_endpoints.items():
        yield azure_types.ML_ONLINE_ENDPOINT, endpoint.name, f"ml_endpoints.{name}"
    for name, vm in plan.vms.items():
        yield azure_types.VIRTUAL_MACHINE, vm.name, f"vms.{name}"
        for azure_type, of_network in vm.network_names:
            yield azure_type, of_network, f"vms.{name}"


def _ml_assigns_roles(plan: Plan, *, identity: bool) -> bool:
    """Whether an identity that the stack creates gets roles: a workspace's, or that of machines and endpoints which don't use the
    stack's. `identity`: whether the stack has one."""
    created = plan.ml_workspace is not None and plan.ml_workspace.existing is None
    has_one = identity or plan.foundation[0].serving_identity is not None
    speaking = {identity_of(endpoint, stack_has_one=has_one) for endpoint in plan.ml_endpoints.values()}
    return created or EndpointIdentity.SYSTEM in speaking or (bool(plan.vms) and not identity)


def _existing_workspace(plan: Plan) -> str:
    """Returns the ARM id of the existing workspace; empty where there is none."""
    return plan.ml_workspace.existing.text if plan.ml_workspace is not None and plan.ml_workspace.existing is not None else ""


def _name(azure_type: AzureType, name: str, path: str) -> Name:
    return Name(arm_type=azure_type.arm_type, name=name, path=path)
