"""The Pulumi program: reads the stack file, declares the components and exports the outputs.

`azure_gpu.stack` makes the plan from the configuration and today's date, and the components declare from it. All problems are
raised together, before anything is declared.
"""

import gc
import os
from datetime import UTC, datetime

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env

from azure_gpu.aks.cluster import GpuCluster
from azure_gpu.batch.account.account import BatchAccount
from azure_gpu.batch.pool.pool import BatchPool
from azure_gpu.budget.budget import Budget
from azure_gpu.container_apps.environment.environment import JobEnvironment
from azure_gpu.container_apps.job.job import ServerlessGpuJob
from azure_gpu.container_instances.group import ContainerGroup
from azure_gpu.edge.sharing import EdgeSharing
from azure_gpu.foundation.foundation import Foundation
from azure_gpu.images.gallery_image import GalleryImage
from azure_gpu.ml.endpoint.endpoint import MlEndpoint
from azure_gpu.ml.workspace.workspace import MlWorkspace
from azure_gpu.shared.context import OfStack
from azure_gpu.shared.provider_keys import cloud_from
from azure_gpu.shared.refusal import refuse, warn
from azure_gpu.shared.wired import Wired
from azure_gpu.stack import ended, keep, other_stacks, own_source, secret_values, switches, taken_down, written_by
from azure_gpu.stack.look_ups import BY_PROVIDER
from azure_gpu.stack.plan import plan as make_plan
from azure_gpu.stack.settings import read
from azure_gpu.vm.vm import GpuVm

# Declared resources live until the program ends, and Pulumi's SDK creates millions of objects for them. Garbage collection with
# Python's default thresholds takes three fifths of the CPU time for 250 groups; these thresholds cost 3 MiB of 235.
gc.set_threshold(100_000, 50, 1000)

refuse(written_by.newer())
# All keys, to find misspelt ones; `pulumi.Config` can't list keys. The provider's environment variables have lower precedence.
configuration = {**cloud_from(os.environ), **get_config_env(), **CONFIG.get()}
encrypted = secret_values.of_engine(os.environ, pulumi.get_stack(), pulumi.get_project())
today = datetime.now(UTC).date().isoformat()
settings = read(
    configuration,
    today,
    encrypted,
    pulumi.get_project(),
    outputs_of=other_stacks.by_engine,
    own_source=own_source.find,
    ended_of=taken_down.by_engine,
)
plan = make_plan(settings, BY_PROVIDER, pulumi.get_project(), pulumi.get_stack())
refuse(plan.problems)
warn(plan.problems)
switches.announce(settings.off)
own_source.announce(settings.own_source)


def opts_of(section: str, name: str = "") -> pulumi.ResourceOptions | None:
    """Returns the engine's options of a part: those of the settings, and those that keep it unchanged after its last day."""
    return ended.options(plan.ended, section, name, settings.opts_of(section, name))


foundation = Foundation(
    "foundation", Wired(settings.foundation, plan.foundation), keep.options(plan.kept, "foundation", opts_of("foundation"))
)
shared: OfStack = {**foundation.dependencies, "stack": settings.stack}
budget = None
if settings.budget is not None and settings.budget_in_azure:
    budget = Budget("budget", Wired({**settings.budget, **shared}, plan.budget), opts_of("budget"))
groups = {
    name: ContainerGroup(name, Wired({**settings.container_groups[name], **shared}, spec), opts_of("container_groups", name))
    for name, spec in plan.container_groups.items()
}
environments = {
    region: JobEnvironment(
        region,
        Wired({**settings.job_environments[region], **shared}, planned),
        keep.options(plan.kept, region, opts_of("job_environment")),
    )
    for region, planned in plan.environments.items()
}
jobs = {
    name: ServerlessGpuJob(
        name,
        Wired({**settings.jobs[name], **shared, **environments[settings.environment_of(name)].dependencies}, spec),
        opts_of("jobs", name),
    )
    for name, spec in plan.jobs.items()
}
images = {
    name: GalleryImage(name, Wired({**settings.gallery_images[name], **shared}, spec), opts_of("gallery_images", name))
    for name, spec in plan.gallery_images.items()
}
of_images = {name: image.of_pool for name, image in images.items()}
account = None
pools: dict[str, BatchPool] = {}
if settings.batch_account is not None:
    account = BatchAccount(
        "batch",
        Wired({**settings.batch_account, **shared}, plan.batch_account),
        keep.options(plan.kept, "batch", opts_of("batch_account")),
    )
    pools = {
        name: BatchPool(
            name,
            Wired({**settings.pools[name], **shared, **account.dependencies, "images": of_images}, spec),
            opts_of("pools", name),
        )
        for name, spec in plan.pools.items()
    }
clusters = {
    name: GpuCluster(name, Wired({**settings.clusters[name], **shared}, planned), opts_of("clusters", name))
    for name, planned in plan.clusters.items()
}
edges = {name: EdgeSharing(name, Wired({**settings.edges[name], **shared}, spec)) for name, spec in plan.edges.items()}
vms = {
    name: GpuVm(name, Wired({**settings.vms[name], **shared, "images": of_images}, spec), opts_of("vms", name))
    for name, spec in plan.vms.items()
}
workspace = None
endpoints: dict[str, MlEndpoint] = {}
if settings.ml_workspace is not None:
    of_clusters = {name: cluster.of_workspace for name, cluster in clusters.items()}
    of_vms = {name: vm.of_workspace for name, vm in vms.items()}
    workspace = MlWorkspace(
        "ml",
        Wired({**settings.ml_workspace, **shared, "clusters": of_clusters, "vms": of_vms}, plan.ml_workspace),
        opts_of("ml_workspace"),
    )
    endpoints = {
        name: MlEndpoint(
            name,
            Wired({**settings.ml_endpoints[name], **shared, **workspace.dependencies}, spec),
            opts_of("ml_endpoints", name),
        )
        for name, spec in plan.ml_endpoints.items()
    }
work = {**groups, **jobs, **pools, **clusters, **vms, **endpoints}  # no name is in two of them, or in those of machines
ends = {name: each.expires_at for name, each in work.items()}
costs = {name: each.hourly_cost for name, each in work.items()}
idle_costs = {name: each.idle_cost for name, each in {**clusters, **vms, **endpoints}.items()}

pulumi.export(written_by.OUTPUT, written_by.own_version())  # of the package; an older one refuses the stack from now on
pulumi.export("resource_group", foundation.resource_group_name)  # everything of the stack is in it
pulumi.export("identity", foundation.identity_id)  # ARM id, null: none
pulumi.export("serving_identity", foundation.serving_identity_id)  # ARM id, null: none
pulumi.export("registry", foundation.registry_id)  # ARM id, null: none
pulumi.export("storage", foundation.storage_account_id)  # ARM id, null: none
pulumi.export("budget", budget.budget_id if budget else None)  # ARM id, null: none
pulumi.export("batch_account", account.account_id if account else None)  # ARM id, null: none
pulumi.export("container_groups", {name: group.group_id for name, group in groups.items()})  # ARM ids by name
pulumi.export("job_environments", {region: each.environment_id for region, each in environments.items()})  # ARM ids by region
pulumi.export("jobs", {name: job.job_id for name, job in jobs.items()})  # ARM ids by name
pulumi.export(
    "pools", {name: pool.pool_id for name, pool in pools.items()}
)  # ARM ids by name, which stays when a pool is replaced
pulumi.export("clusters", {name: cluster.cluster_id for name, cluster in clusters.items()})  # ARM ids by name
pulumi.export("gpu_pools", {name: cluster.gpu_pools for name, cluster in clusters.items()})  # by cluster, by pool
pulumi.export("edges", {name: edge.context for name, edge in edges.items()})  # contexts of kubeconfigs by name
pulumi.export("namespaces", {name: each.namespace for name, each in {**clusters, **edges}.items()})  # null: nothing is put there
pulumi.export("vms", {name: vm.vm_id for name, vm in vms.items()})  # ARM ids by name
pulumi.export("ml_workspace", workspace.workspace_id if workspace else None)  # ARM id, null: none
pulumi.export("ml_computes", workspace.computes if workspace else {})  # ARM ids by name, which stays when one is replaced
pulumi.export("ml_models", workspace.models if workspace else {})  # ARM ids of versions by name
pulumi.export("ml_environments", workspace.environments if workspace else {})  # ARM ids of versions by name
pulumi.export("endpoints", {name: endpoint.endpoint_id for name, endpoint in endpoints.items()})  # ARM ids by name
pulumi.export("scoring_uris", {name: endpoint.scoring_uri for name, endpoint in endpoints.items()})  # where requests go, by name
pulumi.export("idle_cost", {**idle_costs, **(workspace.idle_cost if workspace else {})})  # USD an hour, null: not known
pulumi.export("expires_at", {**ends, **(workspace.expires_at if workspace else {})})  # RFC 3339 instants, null: no end
if settings.taken_down:
    pulumi.export(taken_down.OUTPUT, dict(settings.taken_down))  # ends by paths of parts that aren't declared any more
pulumi.export("hourly_cost", {**costs, **(workspace.hourly_cost if workspace else {})})  # USD while it runs, null: not known
