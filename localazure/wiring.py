"""The composition root: builds what runs behind the resources, and the kinds with the backends that each uses.

It imports every part of the embedded Azure; only the server, the coverage page and tests import it.
"""

from dataclasses import dataclass, fields
from typing import Any, cast

from localazure.apps.executions import Executions
from localazure.arm.kind import Kind
from localazure.batch.pools import Pools
from localazure.batch.work import Work
from localazure.blobs.service import Blobs
from localazure.containers.runtime import Runtime
from localazure.folder import LocalFolder
from localazure.kinds.agent_pools import AgentPools
from localazure.kinds.autoscale_settings import AutoscaleSettings
from localazure.kinds.batch_accounts import BatchAccounts
from localazure.kinds.batch_applications import BatchApplicationPackages, BatchApplications
from localazure.kinds.batch_pools import BatchPools
from localazure.kinds.blob_containers import BlobContainers
from localazure.kinds.budgets import Budgets
from localazure.kinds.container_groups import ContainerGroups
from localazure.kinds.diagnostic_settings import DiagnosticSettings
from localazure.kinds.federated_credentials import FederatedIdentityCredentials
from localazure.kinds.gallery_images import GalleryImages, GalleryImageVersions
from localazure.kinds.global_schedules import GlobalSchedules
from localazure.kinds.insights_components import InsightsComponents
from localazure.kinds.jobs import Jobs
from localazure.kinds.key_vaults import KeyVaults
from localazure.kinds.kubernetes_extensions import KubernetesExtensions
from localazure.kinds.logs import LogWorkspaces
from localazure.kinds.maintenance_configurations import MaintenanceConfigurations
from localazure.kinds.managed_cluster_pools import AksRuntime
from localazure.kinds.managed_clusters import ManagedClusters
from localazure.kinds.managed_environments import ManagedEnvironments
from localazure.kinds.management_locks import ManagementLocks
from localazure.kinds.ml_assets import (
    CodeContainers,
    CodeVersions,
    EnvironmentContainers,
    EnvironmentVersions,
    ModelContainers,
    ModelVersions,
)
from localazure.kinds.ml_computes import MlComputes
from localazure.kinds.ml_datastores import MlDatastores
from localazure.kinds.ml_jobs import MlJobs
from localazure.kinds.ml_online_deployments import MlOnlineDeployments
from localazure.kinds.ml_online_endpoints import MlOnlineEndpoints
from localazure.kinds.ml_workspaces import MlWorkspaces
from localazure.kinds.network_interfaces import NetworkInterfaces
from localazure.kinds.network_parts import BastionHosts, NetworkSecurityGroups, PublicAddresses
from localazure.kinds.network_rules import SecurityRules
from localazure.kinds.network_virtual import Subnets, VirtualNetworks
from localazure.kinds.private_dns import PrivateZoneGroups, PrivateZoneLinks, PrivateZones
from localazure.kinds.private_endpoints import PrivateEndpoints
from localazure.kinds.private_link_scopes import PrivateLinkScopes, ScopedResources
from localazure.kinds.registries import Registries
from localazure.kinds.roles import RoleAssignments
from localazure.kinds.storage import StorageAccounts
from localazure.kinds.stored import without_class
from localazure.kinds.task_runs import TaskRuns
from localazure.kinds.vault_keys import VaultKeys
from localazure.kinds.virtual_machine_extensions import VirtualMachineExtensions
from localazure.kinds.virtual_machine_run_commands import VirtualMachineRunCommands
from localazure.kinds.virtual_machines import VirtualMachines
from localazure.kinds.vm_disks import Disks
from localazure.kubernetes import programs
from localazure.kubernetes.clusters import ClusterContext, Clusters
from localazure.kubernetes.pools import ClusterPools
from localazure.machines.machines import Machines
from localazure.machines.ml_jobs import JobRunner
from localazure.ml.service import OnlineEndpoints
from localazure.nothing_runs.parts import Parts
from localazure.services import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Backends:
    """What runs behind the resources. Each kind gets those that it uses."""

    blobs: Blobs
    containers: Runtime  # of container groups
    executions: Executions  # of Container Apps jobs
    batch_work: Work  # jobs and tasks
    batch_pools: Pools  # and their nodes
    clusters: Clusters  # Kubernetes control planes
    cluster_pools: ClusterPools  # and their nodes
    endpoints: OnlineEndpoints  # of Azure ML
    machines: Machines  # virtual machines
    ml_jobs: JobRunner  # of Azure ML, and the nodes that they run on


def backends(services: Services, folder: LocalFolder, made: Parts) -> Backends:
    """Builds all of them. `made`: the classes, which differ where nothing runs."""
    settings, clock = services.settings, services.clock
    blobs = made.blobs(services)
    work = Work(folder.batch_database, clock.now)
    clusters = made.clusters(
        ClusterContext(
            folder=folder.clusters,
            programs=lambda: programs.found(folder),
            url=settings.url,
            authority=folder.authority_certificate,
            bundle=folder.ca_bundle,
            issuer=services.tokens.issuer,
            groups=folder.groups_bin,
        )
    )
    machines = made.machines(services, blobs, folder.machines, folder.machine_containers)
    return Backends(
        blobs=blobs,
        containers=Runtime(folder.containers),
        executions=made.executions(services.store, Runtime(folder.replicas), clock.now, clock.stamp),
        batch_work=work,
        batch_pools=made.batch_pools(services, blobs, work),
        clusters=clusters,
        cluster_pools=made.cluster_pools(services, clusters),
        endpoints=made.endpoints(services, blobs, clusters, folder.ml_endpoints),
        machines=machines,
        ml_jobs=made.ml_jobs(services, blobs, machines, folder.ml_jobs),
    )


def kinds(backends: Backends) -> tuple[Kind, ...]:
    """Every resource type that is served: those that do something, and all others of the table of types."""
    aks = AksRuntime(backends.clusters, backends.cluster_pools)
    active = (
        RoleAssignments(),
        ManagementLocks(),
        StorageAccounts(backends.blobs),
        BlobContainers(backends.blobs),
        LogWorkspaces(),
        Registries(),
        TaskRuns(),
        ContainerGroups(backends.containers),
        ManagedEnvironments(backends.executions),
        Jobs(backends.executions),
        BatchAccounts(backends.batch_work),
        BatchPools(backends.batch_pools),
        BatchApplications(),
        BatchApplicationPackages(backends.blobs),
        GalleryImages(),
        GalleryImageVersions(),
        FederatedIdentityCredentials(),
        ManagedClusters(aks),
        AgentPools(aks),
        MaintenanceConfigurations(),
        DiagnosticSettings(backends.containers),
        Budgets(),
        MlOnlineEndpoints(backends.endpoints),
        MlOnlineDeployments(backends.endpoints),
        KeyVaults(),
        VaultKeys(),
        InsightsComponents(),
        PrivateLinkScopes(),
        ScopedResources(),
        MlWorkspaces(backends.blobs),
        MlDatastores(),
        MlComputes(backends.ml_jobs),
        ModelContainers(),
        ModelVersions(backends.blobs),
        EnvironmentContainers(),
        EnvironmentVersions(),
        CodeContainers(),
        CodeVersions(backends.blobs),
        MlJobs(backends.ml_jobs),
        KubernetesExtensions(),
        AutoscaleSettings(),
        PrivateEndpoints(),
        VirtualNetworks(),
        Subnets(),
        NetworkSecurityGroups(),
        SecurityRules(),
        PrivateZones(),
        PrivateZoneLinks(),
        PrivateZoneGroups(),
        PublicAddresses(),
        NetworkInterfaces(),
        BastionHosts(),
        Disks(backends.machines),
        VirtualMachines(backends.machines),
        VirtualMachineExtensions(backends.machines),
        VirtualMachineRunCommands(backends.machines),
        GlobalSchedules(backends.machines),
    )
    return (*active, *without_class(active))


def without_backends() -> tuple[Kind, ...]:
    """Every resource type, to read what it serves. Methods that use a backend fail."""
    return kinds(Backends(**{each.name: cast(Any, None) for each in fields(Backends)}))
