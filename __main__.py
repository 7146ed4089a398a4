"""The program: settings in, components, exports out.

It reads the configuration and today's date, once, and decides nothing: what a stack may say is in `components/settings.py`, what
becomes of it in the components. All problems are raised together, before anything is declared.
"""

import os
from datetime import UTC, datetime

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env

from azure_gpu.aks.cluster import GpuCluster
from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.pool.pool import BatchPool
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.container_apps.job.job import ServerlessGpuJob
from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.edge.sharing import EdgeSharing
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.images.gallery_image import GalleryImage
from azure_gpu.ml.endpoint.endpoint import MlEndpoint
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared.refusal import refuse, warn
from azure_gpu.stack.settings import all_problems, read
from azure_gpu.stack.settings_clusters import connection
from azure_gpu.vm.vm import GpuVm

# All keys there are, which `pulumi.Config` doesn't list: a misspelt key can't be found by asking for the right ones. Behind them,
# what the provider takes from the environment.
configuration = {**connection(os.environ), **get_config_env(), **CONFIG.get()}
settings = read(configuration, today=datetime.now(UTC).date().isoformat())
problems = all_problems(settings, pulumi.get_project(), pulumi.get_stack())
refuse(problems)
warn(problems)

foundation = Foundation("foundation", settings.foundation)
groups = {
    name: ContainerGroup(name, {**group, **foundation.surroundings, "stack": settings.stack})
    for name, group in settings.container_groups.items()
}
environments = {
    region: JobEnvironment(region, {**environment, **foundation.surroundings, "stack": settings.stack})
    for region, environment in settings.job_environments.items()
}
jobs = {
    name: ServerlessGpuJob(
        name,
        {**job, **foundation.surroundings, **environments[settings.environment_of(name)].surroundings, "stack": settings.stack},
    )
    for name, job in settings.jobs.items()
}
images = {
    name: GalleryImage(name, {**image, **foundation.surroundings, "stack": settings.stack})
    for name, image in settings.gallery_images.items()
}
account = None
pools: dict[str, BatchPool] = {}
if settings.batch_account is not None:
    account = BatchAccount("batch", {**settings.batch_account, **foundation.surroundings, "stack": settings.stack})
    of_pools = {name: image.of_pool for name, image in images.items()}
    pools = {
        name: BatchPool(
            name, {**pool, **foundation.surroundings, **account.surroundings, "images": of_pools, "stack": settings.stack}
        )
        for name, pool in settings.pools.items()
    }
clusters = {
    name: GpuCluster(name, {**cluster, **foundation.surroundings, "stack": settings.stack})
    for name, cluster in settings.clusters.items()
}
edges = {
    name: EdgeSharing(name, {**edge, **foundation.surroundings, "stack": settings.stack}) for name, edge in settings.edges.items()
}
of_vms = {name: image.of_pool for name, image in images.items()}
vms = {
    name: GpuVm(name, {**vm, **foundation.surroundings, "images": of_vms, "stack": settings.stack})
    for name, vm in settings.vms.items()
}
workspace = None
endpoints: dict[str, MlEndpoint] = {}
if settings.ml_workspace is not None:
    workspace = MlWorkspace(
        "ml",
        {
            **settings.ml_workspace,
            **foundation.surroundings,
            "clusters": {name: cluster.of_workspace for name, cluster in clusters.items()},
            "vms": {name: vm.of_workspace for name, vm in vms.items()},
            "stack": settings.stack,
        },
    )
    endpoints = {
        name: MlEndpoint(name, {**endpoint, **foundation.surroundings, **workspace.surroundings, "stack": settings.stack})
        for name, endpoint in settings.ml_endpoints.items()
    }
work = {**groups, **jobs, **pools, **clusters, **vms, **endpoints}  # no name is in two of them, or in those of machines
ends = {name: each.expires_at for name, each in work.items()}
costs = {name: each.hourly_cost for name, each in work.items()}
idle_costs = {name: each.idle_cost for name, each in {**clusters, **vms, **endpoints}.items()}

pulumi.export("resource_group", foundation.resource_group_name)  # everything of the stack is in it
pulumi.export("registry", foundation.registry_id)  # ARM id, null: none
pulumi.export("storage", foundation.storage_account_id)  # ARM id, null: none
pulumi.export("batch_account", account.resource_id if account else None)  # ARM id, null: none
pulumi.export("container_groups", {name: group.resource_id for name, group in groups.items()})  # ARM ids by name
pulumi.export("jobs", {name: job.resource_id for name, job in jobs.items()})  # ARM ids by name
pulumi.export(
    "pools", {name: pool.resource_id for name, pool in pools.items()}
)  # ARM ids by name, which stays when a pool is replaced
pulumi.export("clusters", {name: cluster.resource_id for name, cluster in clusters.items()})  # ARM ids by name
pulumi.export("gpu_pools", {name: cluster.gpu_pools for name, cluster in clusters.items()})  # by cluster, by pool
pulumi.export("edges", {name: edge.context for name, edge in edges.items()})  # contexts of kubeconfigs by name
pulumi.export("namespaces", {name: each.namespace for name, each in {**clusters, **edges}.items()})  # null: nothing is put there
pulumi.export("vms", {name: vm.resource_id for name, vm in vms.items()})  # ARM ids by name
pulumi.export("ml_workspace", workspace.resource_id if workspace else None)  # ARM id, null: none
pulumi.export("ml_computes", workspace.computes if workspace else {})  # ARM ids by name, which stays when one is replaced
pulumi.export("ml_models", workspace.models if workspace else {})  # ARM ids of versions by name
pulumi.export("ml_environments", workspace.environments if workspace else {})  # ARM ids of versions by name
pulumi.export("endpoints", {name: endpoint.resource_id for name, endpoint in endpoints.items()})  # ARM ids by name
pulumi.export("scoring_uris", {name: endpoint.scoring_uri for name, endpoint in endpoints.items()})  # where requests go, by name
pulumi.export("idle_cost", {**idle_costs, **(workspace.idle_cost if workspace else {})})  # USD an hour, null: not known
pulumi.export("expires_at", {**ends, **(workspace.expires_at if workspace else {})})  # RFC 3339 instants, null: no end
pulumi.export("hourly_cost", {**costs, **(workspace.hourly_cost if workspace else {})})  # USD while it runs, null: not known
