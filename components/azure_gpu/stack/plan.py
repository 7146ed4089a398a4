"""Makes the plan of a stack: all specs of a stack file, resolved once, with the results of the look-ups and every problem.

The program declares from it, and `preflight` uses it through the inventory. Nothing is declared here; the plan depends only on
the settings, the results of the look-ups and the files that the settings name.
"""

from dataclasses import dataclass, replace
from typing import cast

from azure_gpu.aks.existing import ClusterFacts
from azure_gpu.aks.resolve import resolve as resolve_cluster
from azure_gpu.aks.spec import GpuClusterSpec
from azure_gpu.aks.workspace_offer import of_cluster
from azure_gpu.batch.account import spec as account_spec
from azure_gpu.batch.account.spec import AccountFacts, BatchAccountSpec
from azure_gpu.batch.pool import rules as pool_rules
from azure_gpu.batch.pool.resolve import resolve as resolve_pool
from azure_gpu.batch.pool.spec import BatchPoolSpec, PoolDependencies
from azure_gpu.budget import spec as budget_spec
from azure_gpu.budget.args import BudgetSettings
from azure_gpu.budget.spec import BudgetSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_apps.environment import spec as environment_spec
from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec
from azure_gpu.container_apps.job.args import DEFAULT_GPU
from azure_gpu.container_apps.job.resolve import resolve as resolve_job
from azure_gpu.container_apps.job.spec import ServerlessGpuJobSpec
from azure_gpu.container_instances.resolve import resolve as resolve_group
from azure_gpu.container_instances.spec import ContainerGroupSpec
from azure_gpu.edge.resolve import resolve as resolve_edge
from azure_gpu.edge.spec import EdgeSharingSpec
from azure_gpu.foundation import spec as foundation_spec
from azure_gpu.foundation.existing import FoundationLookup
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.images import spec as image_spec
from azure_gpu.images.args import ImageOfPool
from azure_gpu.images.spec import GalleryImageSpec
from azure_gpu.ml.dependencies import WorkspaceOfEndpoint
from azure_gpu.ml.endpoint import resolve as endpoint_resolve, rules as endpoint_rules
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.ml.workspace import resolve as workspace_resolve, rules as workspace_rules
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec, offer
from azure_gpu.shared.context import Context, resolve_stack
from azure_gpu.stack import ended, keep, rules
from azure_gpu.stack.keep import KeptPart
from azure_gpu.stack.look_ups import LookUps
from azure_gpu.stack.settings import Settings
from azure_gpu.vm.resolve import resolve as resolve_vm
from azure_gpu.vm.spec import GpuVmSpec
from azure_gpu.vm.workspace_offer import of_workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The specs of all parts, by their names in the stack file, with the results of their look-ups."""

    context: Context
    foundation: tuple[FoundationSpec, FoundationLookup]
    budget: BudgetSpec | None
    container_groups: dict[str, ContainerGroupSpec]
    environments: dict[str, tuple[JobEnvironmentSpec, dict[str, str]]]  # by region; workload profiles by GPU
    jobs: dict[str, ServerlessGpuJobSpec]
    gallery_images: dict[str, GalleryImageSpec]
    batch_account: tuple[BatchAccountSpec, AccountFacts] | None
    pools: dict[str, BatchPoolSpec]
    clusters: dict[str, tuple[GpuClusterSpec, ClusterFacts]]
    edges: dict[str, EdgeSharingSpec]
    vms: dict[str, GpuVmSpec]
    ml_workspace: MlWorkspaceSpec | None
    ml_endpoints: dict[str, MlEndpointSpec]
    kept: tuple[KeptPart, ...]  # stay in Azure when the stack is destroyed
    ended: frozenset[str]  # paths of parts that stay unchanged, because their last day has passed
    problems: tuple[Problem, ...]


def plan(settings: Settings, look_ups: LookUps, project: str, stack: str) -> Plan:
    """Makes the plan of the stack with these settings. It has all problems, so that nothing is declared unless all of it is
    valid."""
    context, problems = resolve_stack(settings.stack, project, stack)
    planner = _Planner(settings, look_ups, context, problems)
    foundation = planner.foundation()
    of_foundation = foundation[0]
    groups = planner.container_groups()
    jobs = planner.jobs()
    images = planner.gallery_images()
    account = planner.batch_account(of_foundation)
    of_images = {name: image_spec.of_pool(each) for name, each in images.items()}
    pools = planner.pools(of_foundation, account, of_images)
    clusters = planner.clusters(of_foundation)
    budget = planner.budget(clusters)
    edges = planner.edges()
    vms = planner.vms(of_images)
    workspace = planner.ml_workspace(of_foundation, clusters, vms)
    endpoints = planner.ml_endpoints(of_foundation, offer(workspace) if workspace is not None else None)
    planner.add(
        rules.names_taken_twice(
            {
                "container_groups.{}.group_name": {name: spec.group_name for name, spec in groups.items()},
                "jobs.{}.job_name": {name: spec.job_name for name, spec in jobs.items()},
                "pools.{}.pool_name": {name: spec.base_name for name, spec in pools.items()},
                "ml_endpoints.{}.endpoint_name": {name: spec.name for name, spec in endpoints.items()},
                "vms.{}.vm_name": {name: spec.name for name, spec in vms.items()},
            }
        )
    )
    environments = planner.environments(of_foundation)
    kept = planner.kept(of_foundation, environments, account, project, stack)
    planner.add(rules.between_parts(settings))
    planner.add(rules.nothing_serves(of_foundation, clusters, endpoints))
    deployed = look_ups.deployed(ended.ended(planner.problems))
    return Plan(
        context=context,
        foundation=foundation,
        budget=budget,
        container_groups=groups,
        environments=environments,
        jobs=jobs,
        gallery_images=images,
        batch_account=account,
        pools=pools,
        clusters=clusters,
        edges=edges,
        vms=vms,
        ml_workspace=workspace,
        ml_endpoints=endpoints,
        kept=kept,
        ended=deployed,
        problems=tuple(
            rules.with_warnings(
                rules.without_explained(settings.problems, ended.downgraded(planner.problems, deployed)), settings.warnings
            )
        ),
    )


class _Planner:
    """Resolves one kind of part after the other, and collects `problems` without duplicates."""

    def __init__(self, settings: Settings, look_ups: LookUps, context: Context, problems: list[Problem]) -> None:
        self._settings = settings
        self._look_ups = look_ups
        self._context = context
        self.problems = problems

    def add(self, problems: list[Problem]) -> None:
        self.problems += [problem for problem in problems if problem not in self.problems]

    def foundation(self) -> tuple[FoundationSpec, FoundationLookup]:
        spec, problems = foundation_spec.resolve(self._settings.foundation, self._context)
        found, more = self._look_ups.foundation(spec)
        self.add([*problems, *more])
        return spec, found

    def container_groups(self) -> dict[str, ContainerGroupSpec]:
        specs: dict[str, ContainerGroupSpec] = {}
        for name, settings in self._settings.container_groups.items():
            specs[name], problems = resolve_group(name, settings, self._context)
            self.add(problems)
        return specs

    def jobs(self) -> dict[str, ServerlessGpuJobSpec]:
        specs: dict[str, ServerlessGpuJobSpec] = {}
        for name, settings in self._settings.jobs.items():
            existing = "existing" in self._settings.job_environments[self._settings.environment_of(name)]
            specs[name], problems = resolve_job(name, settings, self._context, in_existing_environment=existing)
            self.add(problems)
        return specs

    def environments(self, foundation: FoundationSpec) -> dict[str, tuple[JobEnvironmentSpec, dict[str, str]]]:
        planned: dict[str, tuple[JobEnvironmentSpec, dict[str, str]]] = {}
        for region, settings in self._settings.job_environments.items():
            spec, problems = environment_spec.resolve(settings, self._context, foundation.resource_group.name)
            profiles, more = self._look_ups.environment(spec)
            planned[region] = spec, profiles
            of_jobs = {
                GpuModel(job.get("gpu", DEFAULT_GPU)) for job in self._settings.jobs.values()
            }  # problems of these are reported at the jobs
            self.add([*problems, *environment_spec.not_sold(spec, set(spec.needed) - of_jobs), *more])
        return planned

    def kept(
        self,
        foundation: FoundationSpec,
        environments: dict[str, tuple[JobEnvironmentSpec, dict[str, str]]],
        account: tuple[BatchAccountSpec, AccountFacts] | None,
        project: str,
        stack: str,
    ) -> tuple[KeptPart, ...]:
        specs = {region: spec for region, (spec, _) in environments.items()}
        kept_parts = list(keep.parts(self._settings.kept, foundation, specs, account[0] if account else None))
        found, problems = self._look_ups.kept(kept_parts, project, stack)
        self.add(problems)
        return tuple(found)

    def gallery_images(self) -> dict[str, GalleryImageSpec]:
        specs: dict[str, GalleryImageSpec] = {}
        for name, settings in self._settings.gallery_images.items():
            specs[name], problems = image_spec.resolve(name, settings, self._context)
            self.add(problems)
        return specs

    def batch_account(self, foundation: FoundationSpec) -> tuple[BatchAccountSpec, AccountFacts] | None:
        if self._settings.batch_account is None:
            if self._settings.pools:
                self.add([rules.no_batch_account()])
            return None
        spec, problems = account_spec.resolve(self._settings.batch_account, self._context)
        facts, more = self._look_ups.account(spec)
        self.add([*problems, *more])
        if spec.existing is None:
            available = {"identity": foundation.identity is not None, "storage": foundation.storage is not None}
            self.add(account_spec.missing_dependencies(spec, **available))
        return spec, facts

    def pools(
        self,
        foundation: FoundationSpec,
        account: tuple[BatchAccountSpec, AccountFacts] | None,
        images: dict[str, ImageOfPool],
    ) -> dict[str, BatchPoolSpec]:
        dependencies = PoolDependencies(
            account=account[1] if account else AccountFacts(location=self._context.location),
            identity=foundation.identity_name,
            registry=foundation.registry.name if foundation.registry else "",
            storage=foundation.storage.name if foundation.storage else "",
            own_storage=foundation.storage is not None and foundation.storage.existing is None,
            images=images,
        )
        available = {"identity": foundation.identity is not None, "storage": foundation.storage is not None}
        specs: dict[str, BatchPoolSpec] = {}
        for name, settings in self._settings.pools.items():
            specs[name], problems = resolve_pool(name, settings, self._context, dependencies)
            self.add([*problems, *pool_rules.missing_dependencies(f"pools.{name}", settings, **available)])
        return specs

    def clusters(self, foundation: FoundationSpec) -> dict[str, tuple[GpuClusterSpec, ClusterFacts]]:
        planned: dict[str, tuple[GpuClusterSpec, ClusterFacts]] = {}
        in_state = self._look_ups.pools(list(self._settings.clusters))
        for name, settings in self._settings.clusters.items():
            spec, problems = resolve_cluster(name, settings, self._context)
            facts, more = self._look_ups.cluster(spec)
            admin, of_runner = self._look_ups.runner(name, spec, facts)
            planned[name] = spec, replace(facts, pools=in_state.get(name, facts.pools), admin=admin)
            self.add([*problems, *rules.missing_for_cluster(name, settings, spec, foundation), *more, *of_runner])
        return planned

    def budget(self, clusters: dict[str, tuple[GpuClusterSpec, ClusterFacts]]) -> BudgetSpec | None:
        """Includes the node resource groups of clusters that the stack creates, where their machines are billed."""
        settings = self._settings.budget
        if settings is None:
            return None
        of_nodes = [spec.node_resource_group for spec, _ in clusters.values() if spec.existing is None]
        whole = {"resource_groups": of_nodes, **settings}
        spec, problems = budget_spec.resolve(cast(BudgetSettings, whole), self._context)
        self.add(problems)
        return spec

    def edges(self) -> dict[str, EdgeSharingSpec]:
        specs: dict[str, EdgeSharingSpec] = {}
        for name, settings in self._settings.edges.items():
            specs[name], problems = resolve_edge(name, settings, self._context)
            self.add([*problems, *self._look_ups.edge(specs[name])])
        return specs

    def vms(self, images: dict[str, ImageOfPool]) -> dict[str, GpuVmSpec]:
        specs: dict[str, GpuVmSpec] = {}
        for name, settings in self._settings.vms.items():
            specs[name], problems = resolve_vm(name, settings, self._context, images)
            self.add(problems)
        return specs

    def ml_workspace(
        self,
        foundation: FoundationSpec,
        clusters: dict[str, tuple[GpuClusterSpec, ClusterFacts]],
        vms: dict[str, GpuVmSpec],
    ) -> MlWorkspaceSpec | None:
        if self._settings.ml_workspace is None:
            if self._settings.ml_endpoints:
                self.add([rules.no_ml_workspace()])
            return None
        offered = {name: of_cluster(spec) for name, (spec, _) in clusters.items()}
        machines = {name: of_workspace(spec) for name, spec in vms.items()}
        spec, problems = workspace_resolve.resolve(self._settings.ml_workspace, self._context, offered, machines)
        spec, more = self._look_ups.workspace(spec)
        missing = workspace_rules.missing_dependencies(
            spec,
            identity=foundation.identity is not None,
            storage=foundation.storage is not None,
            logs=foundation.log_workspace is not None,
            registry=foundation.registry is not None,
        )
        public = workspace_rules.public_parts(
            self._settings.ml_workspace,
            self._context.path(workspace_rules.PATH),
            storage=foundation.storage is not None and foundation.storage.existing is None,
            registry=foundation.registry is not None and foundation.registry.existing is None,
        )
        self.add([*problems, *more, *missing, *public])
        return spec

    def ml_endpoints(self, foundation: FoundationSpec, workspace: WorkspaceOfEndpoint | None) -> dict[str, MlEndpointSpec]:
        specs: dict[str, MlEndpointSpec] = {}
        for name, settings in self._settings.ml_endpoints.items():
            spec, problems = endpoint_resolve.resolve(name, settings, self._context, workspace)
            specs[name] = spec
            missing = endpoint_rules.missing_dependencies(spec, identity=rules.speaks_as(foundation) is not None)
            self.add([*problems, *missing])
        found, problems = self._look_ups.endpoints(specs)
        self.add(problems)
        return found
