"""The resource types that the embedded Azure serves, one file a service. ALL is their one list."""

from localazure.arm.kind import Kind
from localazure.kinds.agent_pools import AgentPools
from localazure.kinds.autoscale_settings import AutoscaleSettings
from localazure.kinds.batch_accounts import BatchAccounts
from localazure.kinds.batch_applications import BatchApplicationPackages, BatchApplications
from localazure.kinds.batch_pools import BatchPools
from localazure.kinds.blob_containers import BlobContainers
from localazure.kinds.blob_services import BlobServices
from localazure.kinds.budgets import Budgets
from localazure.kinds.container_groups import ContainerGroups
from localazure.kinds.diagnostic_settings import DiagnosticSettings
from localazure.kinds.federated_credentials import FederatedIdentityCredentials
from localazure.kinds.galleries import Galleries
from localazure.kinds.gallery_images import GalleryImages, GalleryImageVersions
from localazure.kinds.global_schedules import GlobalSchedules
from localazure.kinds.identities import UserAssignedIdentities
from localazure.kinds.insights_components import InsightsComponents
from localazure.kinds.jobs import Jobs
from localazure.kinds.key_vaults import KeyVaults
from localazure.kinds.kubernetes_extensions import KubernetesExtensions
from localazure.kinds.logs import LogWorkspaces
from localazure.kinds.maintenance_configurations import MaintenanceConfigurations
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
from localazure.kinds.registries import Registries
from localazure.kinds.registry_replications import Replications
from localazure.kinds.resource_groups import ResourceGroups
from localazure.kinds.roles import RoleAssignments
from localazure.kinds.storage import StorageAccounts
from localazure.kinds.storage_services import (
    FileServices,
    FileShares,
    ManagementPolicies,
    Queues,
    QueueServices,
    Tables,
    TableServices,
)
from localazure.kinds.task_runs import TaskRuns
from localazure.kinds.virtual_machine_extensions import VirtualMachineExtensions
from localazure.kinds.virtual_machine_run_commands import VirtualMachineRunCommands
from localazure.kinds.virtual_machines import VirtualMachines
from localazure.kinds.vm_disks import Disks

ALL: tuple[Kind, ...] = (
    ResourceGroups(),
    UserAssignedIdentities(),
    RoleAssignments(),
    ManagementLocks(),
    StorageAccounts(),
    BlobServices(),
    BlobContainers(),
    QueueServices(),
    TableServices(),
    FileServices(),
    Queues(),
    Tables(),
    FileShares(),
    ManagementPolicies(),
    LogWorkspaces(),
    Registries(),
    Replications(),
    TaskRuns(),
    ContainerGroups(),
    ManagedEnvironments(),
    Jobs(),
    BatchAccounts(),
    BatchPools(),
    BatchApplications(),
    BatchApplicationPackages(),
    Galleries(),
    GalleryImages(),
    GalleryImageVersions(),
    FederatedIdentityCredentials(),
    ManagedClusters(),
    AgentPools(),
    MaintenanceConfigurations(),
    DiagnosticSettings(),
    Budgets(),
    MlOnlineEndpoints(),
    MlOnlineDeployments(),
    KeyVaults(),
    InsightsComponents(),
    MlWorkspaces(),
    MlDatastores(),
    MlComputes(),
    ModelContainers(),
    ModelVersions(),
    EnvironmentContainers(),
    EnvironmentVersions(),
    CodeContainers(),
    CodeVersions(),
    MlJobs(),
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
    Disks(),
    VirtualMachines(),
    VirtualMachineExtensions(),
    VirtualMachineRunCommands(),
    GlobalSchedules(),
)
