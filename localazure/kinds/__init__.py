"""The resource types that the embedded Azure serves, one file a service. ALL is their one list."""

from localazure.arm.kind import Kind
from localazure.kinds.agent_pools import AgentPools
from localazure.kinds.batch_accounts import BatchAccounts
from localazure.kinds.batch_applications import BatchApplicationPackages, BatchApplications
from localazure.kinds.batch_pools import BatchPools
from localazure.kinds.blob_containers import BlobContainers
from localazure.kinds.container_groups import ContainerGroups
from localazure.kinds.diagnostic_settings import DiagnosticSettings
from localazure.kinds.federated_credentials import FederatedIdentityCredentials
from localazure.kinds.galleries import Galleries
from localazure.kinds.gallery_images import GalleryImages, GalleryImageVersions
from localazure.kinds.identities import UserAssignedIdentities
from localazure.kinds.jobs import Jobs
from localazure.kinds.logs import LogWorkspaces
from localazure.kinds.maintenance_configurations import MaintenanceConfigurations
from localazure.kinds.managed_clusters import ManagedClusters
from localazure.kinds.managed_environments import ManagedEnvironments
from localazure.kinds.registries import Registries
from localazure.kinds.resource_groups import ResourceGroups
from localazure.kinds.roles import RoleAssignments
from localazure.kinds.storage import StorageAccounts
from localazure.kinds.task_runs import TaskRuns

ALL: tuple[Kind, ...] = (
    ResourceGroups(),
    UserAssignedIdentities(),
    RoleAssignments(),
    StorageAccounts(),
    BlobContainers(),
    LogWorkspaces(),
    Registries(),
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
)
