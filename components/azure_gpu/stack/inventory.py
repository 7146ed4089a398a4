"""What a stack file would declare, without declaring it: what `preflight` asks about.

In: the text of `Pulumi.<stack>.yaml` and the day. Out: an `Inventory`: every problem that can be known without looking Azure up,
and what Azure will be asked for. `python -m azure_gpu.stack.inventory FILE --stack S` prints it as JSON.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from azure_gpu.aks import resolve as cluster_resolve
from azure_gpu.aks.spec import GpuClusterSpec
from azure_gpu.batch.pool.spec import BatchPoolSpec
from azure_gpu.catalog.problems import Problem, as_data
from azure_gpu.catalog.services.aks import system_pools
from azure_gpu.catalog.services.machine_learning import endpoints
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.container_apps.environment import spec as environment_spec
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec
from azure_gpu.container_apps.job import resolve as job_resolve
from azure_gpu.container_apps.job.spec import ServerlessGpuJobSpec
from azure_gpu.container_instances import resolve as group_resolve
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.formats import azure_types, stack_file
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.foundation import spec as foundation_spec
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.ml.endpoint.args import EndpointIdentity
from azure_gpu.ml.endpoint.spec import identity_of
from azure_gpu.ml.workspace.args import MlWorkspaceSettings
from azure_gpu.shared.context import resolve_stack
from azure_gpu.stack.settings import PROJECT, Settings, pure_problems, read
from azure_gpu.stack.settings_batch import BatchParts
from azure_gpu.stack.settings_ml import MlParts


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name that the stack will take in Azure."""

    arm_type: str
    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageUse:
    """An application package that the nodes of a pool get."""

    application: str
    version: str
    path: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    day: date  # at which the stack is judged
    location: str
    subscription_id: str
    problems: tuple[Problem, ...]
    # Machines by service: of a container group one a GPU, by its SKU; of a job one a replica, by its workload profile; of a pool,
    # Batch's or a cluster's, all nodes that there can be.
    uses: tuple[SizeUse, ...]
    system_pools: tuple[MachinesUse, ...]  # of clusters that are created
    ml_machines: tuple[MachinesUse, ...]  # of computes and managed deployments, with a fifth for the upgrades of the latter
    names: tuple[Name, ...]  # of what is created
    batch_account: str  # name of the account of the pools; empty where there is none
    batch_account_id: str  # ARM id of an existing one; empty where it is created
    packages: tuple[PackageUse, ...]
    assigns_roles: bool
    clusters: tuple[str, ...]  # ARM ids of existing ones
    group: str  # name of the existing resource group that everything goes into; empty where one is created
    ml_workspace: str  # ARM id of an existing one; empty where it is created, or there is none


def take(configuration: dict[str, str], project: str, stack: str, today: str) -> Inventory:
    """The inventory of a stack with this configuration. Pure."""
    settings = read(configuration, today)
    context, _ = resolve_stack(settings.stack, project, stack)
    foundation, _ = foundation_spec.resolve(settings.foundation, context)
    groups = {name: group_resolve.resolve(name, group, context)[0] for name, group in settings.container_groups.items()}
    jobs = {name: job_resolve.resolve(name, job, context)[0] for name, job in settings.jobs.items()}
    batch = settings.batch_parts(context)
    clusters = {name: cluster_resolve.resolve(name, each, context)[0] for name, each in settings.clusters.items()}
    environments = [environment_spec.resolve(each, context)[0] for each in settings.job_environments.values()]
    of_ml = settings.ml_parts(context)
    return Inventory(
        day=context.day,
        location=context.location,
        subscription_id=context.subscription_id,
        problems=tuple(pure_problems(settings, project, stack)),
        uses=(
            *_group_uses(settings, groups),
            *_job_uses(settings, jobs),
            *_pool_uses(batch),
            *_cluster_uses(clusters),
            *uses(of_ml),
        ),
        system_pools=tuple(_system_pool(spec) for spec in clusters.values() if spec.existing is None),
        ml_machines=tuple(without_gpu(of_ml)),
        names=(
            *_foundation_names(foundation),
            *_group_names(groups),
            *_job_names(jobs, environments),
            *_batch_names(settings, batch),
            *_cluster_names(settings, clusters),
            *(_name(*each) for each in names(settings.ml_workspace, of_ml)),
        ),
        batch_account=batch.account.name if batch.account else "",
        batch_account_id=batch.account.existing.text if batch.account and batch.account.existing else "",
        packages=tuple(package for name, spec in batch.pools.items() for package in _packages(name, spec)),
        assigns_roles=foundation.assign_roles
        and (
            foundation.identity_pulls
            or foundation.identity_writes_blobs
            or bool(clusters)
            or assigns_roles(of_ml, identity=foundation.identity is not None)
        ),
        clusters=tuple(spec.existing.text for spec in clusters.values() if spec.existing is not None),
        group=foundation.resource_group.name if foundation.resource_group.existing else "",
        ml_workspace=existing_workspace(of_ml),
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


def _pool_uses(batch: BatchParts) -> list[SizeUse]:
    """A formula of one's own may ask for any number: then one node is asked about."""
    uses: list[SizeUse] = []
    for name, spec in batch.pools.items():
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
        subnet = str(settings.clusters[name].get("subnet_id", ""))  # in a stack file, what is wired is text
        names += [
            _name(azure_types.AGENT_POOL, pool.azure_name(subnet), f"{spec.path}.gpu_pools.{each}")
            for each, pool in spec.pools.items()
        ]
    return names


def _batch_names(settings: Settings, batch: BatchParts) -> list[Name]:
    names: list[Name] = []
    if batch.account is not None and batch.account.existing is None:
        names.append(_name(azure_types.BATCH_ACCOUNT, batch.account.name, "batch_account"))
    for name, image in batch.images.items():
        names.append(_name(azure_types.GALLERY, image.gallery_name, f"gallery_images.{name}"))
    for name, spec in batch.pools.items():
        # In a stack file, what is wired is text.
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
        ("registry", azure_types.REGISTRY, spec.registry),
        ("log_workspace", azure_types.LOG_WORKSPACE, spec.log_workspace),
        ("storage", azure_types.STORAGE_ACCOUNT, spec.storage),
    )
    return [
        _name(azure_type, part.name, f"foundation.{key}")
        for key, azure_type, part in parts
        if part is not None and part.existing is None
    ]


def _group_names(groups: Mapping[str, ContainerGroupSpec]) -> list[Name]:
    return [_name(azure_types.CONTAINER_GROUP, spec.group_name, f"container_groups.{name}") for name, spec in groups.items()]


def _job_names(jobs: Mapping[str, ServerlessGpuJobSpec], environments: Sequence[JobEnvironmentSpec]) -> list[Name]:
    created = [_name(azure_types.MANAGED_ENVIRONMENT, spec.name, "job_environment") for spec in environments if not spec.existing]
    return [*created, *(_name(azure_types.JOB, spec.job_name, f"jobs.{name}") for name, spec in jobs.items())]


def _name(azure_type: AzureType, name: str, path: str) -> Name:
    return Name(arm_type=azure_type.arm_type, name=name, path=path)


def as_json(inventory: Inventory) -> dict[str, Any]:
    """The inventory as JSON takes it."""
    return {
        "day": inventory.day.isoformat(),
        "location": inventory.location,
        "subscription_id": inventory.subscription_id,
        "problems": [as_data(problem) for problem in inventory.problems],
        "uses": [
            {
                "service": use.service.value,
                "size": use.size,
                "region": use.region,
                "nodes": use.nodes,
                "spot": use.spot,
                "operating_system": use.operating_system.value,
                "rdma": use.rdma,
                "path": use.path,
                "region_path": use.region_path,
            }
            for use in inventory.uses
        ],
        "system_pools": [dataclasses.asdict(each) for each in inventory.system_pools],
        "ml_machines": [dataclasses.asdict(each) for each in inventory.ml_machines],
        "names": [{"arm_type": name.arm_type, "name": name.name, "path": name.path} for name in inventory.names],
        "batch_account": inventory.batch_account,
        "batch_account_id": inventory.batch_account_id,
        "packages": [
            {"path": each.path, "application": each.application, "version": each.version} for each in inventory.packages
        ],
        "clusters": list(inventory.clusters),
        "assigns_roles": inventory.assigns_roles,
        "group": inventory.group,
        "ml_workspace": inventory.ml_workspace,
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m azure_gpu.stack.inventory", description="Prints what a stack would declare.")
    parser.add_argument("file", type=Path, help="Pulumi.<stack>.yaml")
    parser.add_argument("--stack", required=True, help="the stack's name, which is part of names in Azure")
    parser.add_argument("--as-of", help="the day to judge at, YYYY-MM-DD (default: the stack's own, else today)")
    options = parser.parse_args()
    try:
        configuration = stack_file.configuration(options.file.read_text(encoding="utf-8"))
    except OSError as error:
        print(f"error: {options.file} can't be read: {error.strerror}", file=sys.stderr)
        return 2
    except (UnicodeDecodeError, stack_file.StackFileError) as error:
        print(f"error: {options.file}: {error}", file=sys.stderr)
        return 2
    if options.as_of:
        configuration[f"{PROJECT}:as_of"] = options.as_of
    today = datetime.now(UTC).date().isoformat()
    print(json.dumps(as_json(take(configuration, PROJECT, options.stack, today)), indent=2))
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
