"""Resolves a part of each kind with its look-ups: one function for each row of `kinds`.

Each takes the arguments of a part and returns its spec, with what was looked up where the component takes both. Problems are
collected in `Planning`, among them those of clusters that require a part of the foundation that is missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from azure_gpu.aks.resolve import resolve as resolve_cluster
from azure_gpu.aks.rules import elsewhere
from azure_gpu.aks.spec import ClusterSpec, of_cluster
from azure_gpu.batch.account import spec as account_spec
from azure_gpu.batch.account.spec import AccountFacts
from azure_gpu.batch.pool import rules as pool_rules
from azure_gpu.batch.pool.resolve import resolve as resolve_pool
from azure_gpu.batch.pool.spec import PoolDependencies
from azure_gpu.budget import spec as budget_spec
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_apps.environment import spec as environment_spec
from azure_gpu.container_apps.environment.args import GpuModel
from azure_gpu.container_apps.job.args import DEFAULT_GPU
from azure_gpu.container_apps.job.resolve import resolve as resolve_job
from azure_gpu.container_instances.resolve import resolve as resolve_group
from azure_gpu.edge.resolve import resolve as resolve_edge
from azure_gpu.foundation import spec as foundation_spec
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.images import spec as image_spec
from azure_gpu.images.args import ImageOfPool
from azure_gpu.kubernetes.gpu_objects import declare as gpu_objects_declare
from azure_gpu.ml.endpoint import resolve as endpoint_resolve, rules as endpoint_rules
from azure_gpu.ml.workspace import resolve as workspace_resolve, rules as workspace_rules
from azure_gpu.ml.workspace.spec import offer
from azure_gpu.shared import private_network
from azure_gpu.shared.context import Context
from azure_gpu.shared.part import Part
from azure_gpu.stack.look_ups import LookUps
from azure_gpu.vm.resolve import resolve as resolve_vm
from azure_gpu.vm.spec import of_workspace

Parts = Mapping[str, Mapping[str, Any]]
"""Arguments, specs or components, by section of the stack file and by logical name."""
Spec = TypeVar("Spec")


@dataclass(slots=True, kw_only=True, repr=False)
class Planning:
    """A plan while it is made: what it is made from, and the specs and problems so far."""

    settings: Parts
    look_ups: LookUps
    context: Context
    problems: list[Problem]
    specs: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    def add(self, *problems: Problem) -> None:
        """Adds problems without duplicates."""
        self.problems += [problem for problem in problems if problem not in self.problems]

    def found(self, resolved: tuple[Spec, list[Problem]]) -> Spec:
        """Adds the problems of a resolved part, and returns its spec."""
        spec, problems = resolved
        self.add(*problems)
        return spec

    @property
    def foundation(self) -> FoundationSpec:
        return self.specs["foundation"]["foundation"][0]

    def whole(self, component: str, args: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Returns the arguments of a part with those that it gets by a private network of the stack. `path`: of the part."""
        spec = self.foundation.network if self.specs.get("foundation") else None
        planned = private_network.planned(spec) if spec is not None else None
        self.add(*private_network.missing(component, args, planned, path))
        return {**args, **private_network.keys_of(component, args, planned)}

    @property
    def has(self) -> dict[str, bool]:
        """Whether the foundation has an identity, and a storage account."""
        return {"identity": self.foundation.identity is not None, "storage": self.foundation.storage is not None}

    @property
    def images(self) -> dict[str, ImageOfPool]:
        return {name: image_spec.of_pool(each) for name, each in self.specs["gallery_images"].items()}


def foundation(planning: Planning, _: str, args: Any) -> Any:
    spec = planning.found(foundation_spec.resolve(args, planning.context))
    return spec, planning.found(planning.look_ups.foundation(spec))


def budget(planning: Planning, _: str, args: Any) -> Any:
    """Includes the node resource groups of clusters that the stack creates, where their machines are billed."""
    of_nodes = [
        spec.cluster.node_resource_group for spec, _ in planning.specs["clusters"].values() if spec.cluster.existing is None
    ]
    whole: Any = {"resource_groups": of_nodes, **args}
    return planning.found(budget_spec.resolve(whole, planning.context))


def container_group(planning: Planning, name: str, args: Any) -> Any:
    return planning.found(resolve_group(name, args, planning.context))


def region_of(job: Mapping[str, Any], stacks: str) -> str:
    """Returns the region of a job, which identifies its environment. `stacks`: the stack's region."""
    return regions.normalise(job.get("location", stacks))


def job_environment(planning: Planning, _: str, args: Any) -> Any:
    """Returns also the workload profiles by GPU. Problems of GPUs that jobs use are reported at the jobs."""
    spec = planning.found(environment_spec.resolve(args, planning.context, planning.foundation.resource_group.name))
    of_jobs = {GpuModel(job.get("gpu", DEFAULT_GPU)) for job in planning.settings["jobs"].values()}
    planning.add(*environment_spec.not_sold(spec, set(spec.needed) - of_jobs))
    return spec, planning.found(planning.look_ups.environment(spec))


def job(planning: Planning, name: str, args: Any) -> Any:
    environment = planning.settings["job_environment"][region_of(args, planning.context.location)]
    existing = "existing" in environment
    return planning.found(resolve_job(name, args, planning.context, in_existing_environment=existing))


def gallery_image(planning: Planning, name: str, args: Any) -> Any:
    return planning.found(image_spec.resolve(name, args, planning.context))


def batch_account(planning: Planning, _: str, args: Any) -> Any:
    spec = planning.found(account_spec.resolve(args, planning.context))
    facts = planning.found(planning.look_ups.account(spec))
    if spec.existing is None:
        planning.add(*account_spec.missing_dependencies(spec, **planning.has))
    return spec, facts


def pool(planning: Planning, name: str, args: Any) -> Any:
    of_stack = planning.foundation
    facts = [facts for _, facts in planning.specs["batch_account"].values()]
    dependencies = PoolDependencies(
        account=facts[0] if facts else AccountFacts(location=planning.context.location),
        identity=of_stack.identity_name,
        registry=of_stack.registry.name if of_stack.registry else "",
        storage=of_stack.storage.name if of_stack.storage else "",
        own_storage=of_stack.storage is not None and of_stack.storage.existing is None,
        images=planning.images,
    )
    spec = planning.found(resolve_pool(name, args, planning.context, dependencies))
    planning.add(*pool_rules.missing_dependencies(f"pools.{name}", args, **planning.has))
    return spec


def cluster(planning: Planning, name: str, args: Any) -> Any:
    spec, problems = resolve_cluster(name, args, planning.context)
    facts, more = planning.look_ups.cluster(spec.cluster)
    facts, of_runner = planning.look_ups.runner(name, spec.cluster, facts)
    of_foundation = _missing_for_cluster(
        f"clusters.{name}",
        spec.cluster,
        planning.foundation,
        logs=args.get("monitoring") == "logs",
        workload_identity=args.get("workload_identity", False),
    )
    of_key = planning.specs["foundation"]["foundation"][1].key
    of_disks = elsewhere(of_key.location, spec.cluster) if of_key is not None else []
    planning.add(*problems, *of_foundation, *of_disks, *more, *of_runner)
    pools = planning.look_ups.pools([name]).get(name, facts.pools)
    return spec, replace(facts, pools=pools)


def edge(planning: Planning, name: str, args: Any) -> Any:
    spec = planning.found(resolve_edge(name, args, planning.context))
    planning.add(*planning.look_ups.edge(spec))
    return spec


def vm(planning: Planning, name: str, args: Any) -> Any:
    return planning.found(resolve_vm(name, args, planning.context, planning.images))


def ml_workspace(planning: Planning, _: str, args: Any) -> Any:
    of_stack = planning.foundation
    offered = {name: of_cluster(spec.cluster) for name, (spec, _) in planning.specs["clusters"].items()}
    machines = {name: of_workspace(spec) for name, spec in planning.specs["vms"].items()}
    spec = planning.found(workspace_resolve.resolve(args, planning.context, offered, machines))
    spec = planning.found(planning.look_ups.workspace(spec))
    planning.add(
        *workspace_rules.missing_dependencies(
            spec, **planning.has, logs=of_stack.log_workspace is not None, registry=of_stack.registry is not None
        ),
        *workspace_rules.public_parts(
            args,
            planning.context.path(workspace_rules.PATH),
            storage=of_stack.network is None and of_stack.storage is not None and of_stack.storage.existing is None,
            registry=of_stack.network is None and of_stack.registry is not None and of_stack.registry.existing is None,
        ),
    )
    return spec


def ml_endpoint(planning: Planning, name: str, args: Any) -> Any:
    workspaces = [offer(each) for each in planning.specs["ml_workspace"].values()]
    spec = planning.found(endpoint_resolve.resolve(name, args, planning.context, workspaces[0] if workspaces else None))
    planning.add(*endpoint_rules.missing_dependencies(spec, identity=_serving_identity(planning.foundation) is not None))
    return planning.found(planning.look_ups.endpoints({name: spec}))[name]


def _serving_identity(foundation: FoundationSpec) -> Part | None:
    """Returns the identity for serving; None: the stack has none."""
    return foundation.serving_identity or foundation.identity


def _missing_for_cluster(
    path: str, spec: ClusterSpec, foundation: FoundationSpec, *, logs: bool, workload_identity: bool
) -> list[Problem]:
    """Returns problems for parts of the foundation that the cluster at `path` requires and that are missing. `logs`,
    `workload_identity`: whether its settings ask for them."""
    missing: list[Problem] = []
    if logs and foundation.log_workspace is None:
        missing.append(
            Problem(
                path=f"{path}.monitoring",
                message="`monitoring: logs` requires `foundation.log_workspace`",
                value="logs",
                allowed="only with foundation.log_workspace",
                fix="add log_workspace: create to the foundation",
            )
        )
    identities = (foundation.identity, foundation.serving_identity)
    own = any(identity is not None and identity.existing is None for identity in identities)
    if workload_identity and not own:
        missing.append(
            Problem(
                path=f"{path}.workload_identity",
                message="requires an identity that the stack creates; an existing one isn't changed",
                value=True,
                allowed="only with foundation.identity: create",
                fix="add identity: create to the foundation, or remove it",
            )
        )
    serving = _serving_identity(foundation)
    of_services = gpu_objects_declare.missing_of_services(
        spec.objects,
        identity=serving is not None and serving.existing is None and spec.pods_can_use_identity,
        storage=foundation.storage is not None,
        serving=foundation.serving_identity is not None,
    )
    return [*missing, *of_services]
