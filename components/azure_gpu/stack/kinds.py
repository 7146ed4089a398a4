"""The kinds of parts that a stack file can have: one row for each, in the order in which the program declares them.

What reads, plans, declares, exports, keeps or ends parts iterates over `KINDS`. A row's keys in the stack file are those of
`StackFile` in `file`, its arguments those of its component. A row's function resolves a part with its look-ups: it takes the
arguments of the part and returns its spec, with what was looked up where the component takes both. Problems are collected in
`Planning`, among them those of clusters that require a part of the foundation that is missing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pulumi

import azure_gpu
from azure_gpu.aks.resolve import resolve as resolve_cluster
from azure_gpu.aks.rules import elsewhere
from azure_gpu.aks.spec import ClusterSpec, of_cluster
from azure_gpu.batch.account import spec as account_spec
from azure_gpu.batch.account.args import AccountFacts
from azure_gpu.batch.pool import rules as pool_rules
from azure_gpu.batch.pool.args import BatchPoolSettings, ContainersArgs
from azure_gpu.batch.pool.resolve import resolve as resolve_pool
from azure_gpu.batch.pool.spec import PoolDependencies
from azure_gpu.budget import spec as budget_spec
from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.container_apps.environment import spec as environment_spec
from azure_gpu.container_apps.job.args import DEFAULT_GPU
from azure_gpu.container_apps.job.spec import resolve as resolve_job
from azure_gpu.container_instances import resolve as group_resolve
from azure_gpu.container_instances.resolve import resolve as resolve_group
from azure_gpu.edge import resolve as edge_resolve
from azure_gpu.edge.resolve import resolve as resolve_edge
from azure_gpu.formats import parts
from azure_gpu.formats.parts import PartKind
from azure_gpu.foundation import spec as foundation_spec
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.images import spec as image_spec
from azure_gpu.images.args import ImageOfPool
from azure_gpu.kubernetes import services
from azure_gpu.kubernetes.gpu_objects import resolve as gpu_objects_resolve
from azure_gpu.ml.endpoint import resolve as endpoint_resolve, rules as endpoint_rules
from azure_gpu.ml.workspace import assets as workspace_assets, resolve as workspace_resolve, rules as workspace_rules
from azure_gpu.ml.workspace.spec import offer
from azure_gpu.shared import private_network
from azure_gpu.shared.context import Context, PrivateNetwork, StackArgs
from azure_gpu.shared.part import Part
from azure_gpu.shared.validation import written
from azure_gpu.shared.wired import Wired
from azure_gpu.shared.workloads import Workload
from azure_gpu.stack import requests
from azure_gpu.stack.look_ups import LookUps
from azure_gpu.stack.requests import Item, Parts, Requesting
from azure_gpu.vm.resolve import resolve as resolve_vm
from azure_gpu.vm.spec import of_workspace

Args = Mapping[str, Any]
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

    @property
    def network(self) -> PrivateNetwork | None:
        """The private network of the stack; None without one, and for the foundation itself."""
        spec = self.foundation.network if self.specs.get("foundation") else None
        return private_network.planned(spec) if spec is not None else None

    @property
    def has(self) -> dict[str, bool]:
        """Whether the foundation has an identity, and a storage account."""
        return {"identity": self.foundation.identity is not None, "storage": self.foundation.storage is not None}

    @property
    def images(self) -> dict[str, ImageOfPool]:
        return {name: image_spec.of_pool(each) for name, each in self.specs["gallery_images"].items()}


@dataclass(frozen=True, kw_only=True)
class Kind(PartKind):
    """A kind of part with what its package knows to do."""

    resolve: Callable[[Planning, str, Any], Any]  # logical name and arguments to spec
    planned_last: bool = False
    spec_name: str = ""  # the attribute of its spec with the name in Azure that `name_key` sets
    requests: Callable[[Requesting, Any], Iterable[Item]]  # what its spec requests of names and quotas, for `preflight`
    workloads: Callable[[Any], Iterable[Workload]] = lambda _: ()  # that the registry builds for one, by its arguments
    depends_on: Callable[[Args, Parts, str], Args] = lambda _args, _declared, _location: {}  # what else the constructor takes
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])  # the stack's outputs, with the component's attribute
    mapped_outputs: Mapping[str, str] = field(default_factory=dict[str, str])  # the same of attributes that are maps by name

    def declare(
        self, name: str, args: Args, spec: Any, declared: Parts, stack: StackArgs, opts: pulumi.ResourceOptions | None
    ) -> pulumi.ComponentResource:
        """Declares a part with what it depends on. `declared`: the components before it. Its class is loaded now, as only those
        that a stack uses have to be."""
        found: dict[str, Any] = {}
        for part in declared["foundation"].values():
            found |= {**part.dependencies, "stack": stack}
        for part in declared.get(self.requires, {}).values():
            found |= part.dependencies
        if "private_network" in found:
            found |= private_network.keys_of(self.component, args, found["private_network"])
        wired = Wired({**args, **found, **self.depends_on(args, declared, stack["location"])}, spec)
        return getattr(azure_gpu, self.component)(name, wired, opts)


def _foundation(planning: Planning, _: str, args: Any) -> Any:
    spec = planning.found(foundation_spec.resolve(args, planning.context))
    return spec, planning.found(planning.look_ups.foundation(spec))


def _budget(planning: Planning, _: str, args: Any) -> Any:
    """Includes the node resource groups of clusters that the stack creates, where their machines are billed."""
    of_nodes = [
        spec.cluster.node_resource_group for spec, _ in planning.specs["clusters"].values() if spec.cluster.existing is None
    ]
    whole: Any = {"resource_groups": of_nodes, **args}
    return planning.found(budget_spec.resolve(whole, planning.context))


def _job_environment(planning: Planning, _: str, args: Any) -> Any:
    """Returns also the workload profiles by GPU. Problems of GPUs that jobs use are reported at the jobs."""
    spec = planning.found(environment_spec.resolve(args, planning.context, planning.foundation.resource_group.name))
    of_jobs = {job.get("gpu", DEFAULT_GPU) for job in planning.settings["jobs"].values()}
    planning.add(*environment_spec.not_sold(spec, set(spec.needed) - of_jobs))
    return spec, planning.found(planning.look_ups.environment(spec))


def _job(planning: Planning, name: str, args: Any) -> Any:
    environment = planning.settings["job_environment"][regions.normalise(args.get("location", planning.context.location))]
    existing = "existing" in environment
    return planning.found(resolve_job(name, args, planning.context, in_existing_environment=existing))


def _batch_account(planning: Planning, _: str, args: Any) -> Any:
    spec = planning.found(account_spec.resolve(args, planning.context))
    facts = planning.found(planning.look_ups.account(spec))
    if spec.existing is None:
        planning.add(*account_spec.missing_dependencies(spec, **planning.has))
    return spec, facts


def _pool(planning: Planning, name: str, args: Any) -> Any:
    of_stack = planning.foundation
    [(account, facts)] = planning.specs["batch_account"].values() or [(None, AccountFacts(location=planning.context.location))]
    dependencies = PoolDependencies(
        account=facts,
        location_path=account.location_path if account is not None else "location",
        identity=of_stack.identity_name,
        registry=of_stack.registry.name if of_stack.registry else "",
        storage=of_stack.storage.name if of_stack.storage else "",
        own_storage=of_stack.storage is not None and of_stack.storage.existing is None,
        images=planning.images,
    )
    spec = planning.found(resolve_pool(name, args, planning.context, dependencies))
    planning.add(*pool_rules.missing_dependencies(f"pools.{name}", args, **planning.has))
    return spec


def _cluster(planning: Planning, name: str, args: Any) -> Any:
    spec, problems = resolve_cluster(name, args, planning.context)
    facts, more = planning.look_ups.cluster(spec.cluster)
    facts, of_runner = planning.look_ups.runner(name, spec.cluster, facts)
    of_foundation = _missing_for_cluster(f"clusters.{name}", args, spec.cluster, planning.foundation)
    of_key = planning.specs["foundation"]["foundation"][1].key
    of_disks = elsewhere(of_key.location, spec.cluster) if of_key is not None else []
    planning.add(*problems, *of_foundation, *of_disks, *more, *of_runner)
    pools = planning.look_ups.pools([name]).get(name, facts.pools)
    return spec, replace(facts, pools=pools)


def _edge(planning: Planning, name: str, args: Any) -> Any:
    spec = planning.found(resolve_edge(name, args, planning.context))
    planning.add(*planning.look_ups.edge(spec))
    return spec


def _ml_workspace(planning: Planning, _: str, args: Any) -> Any:
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
            spec,
            storage=of_stack.network is None and of_stack.storage is not None and of_stack.storage.existing is None,
            registry=of_stack.network is None and of_stack.registry is not None and of_stack.registry.existing is None,
        ),
    )
    return spec


def _ml_endpoint(planning: Planning, name: str, args: Any) -> Any:
    workspaces = [offer(each) for each in planning.specs["ml_workspace"].values()]
    spec = planning.found(endpoint_resolve.resolve(name, args, planning.context, workspaces[0] if workspaces else None))
    planning.add(*endpoint_rules.missing_dependencies(spec, identity=_serving_identity(planning.foundation) is not None))
    return planning.found(planning.look_ups.endpoints({name: spec}))[name]


def _serving_identity(foundation: FoundationSpec) -> Part | None:
    """Returns the identity for serving; None: the stack has none."""
    return foundation.serving_identity or foundation.identity


def _missing_for_cluster(path: str, args: Args, spec: ClusterSpec, foundation: FoundationSpec) -> Iterator[Problem]:
    """Yields problems for parts of the foundation that the cluster at `path` requires and that are missing."""
    if args.get("monitoring") == "logs" and foundation.log_workspace is None:
        yield refused("stack.cluster_without_logs", f"{path}.monitoring", "logs")
    identities = (foundation.identity, foundation.serving_identity)
    own = any(identity is not None and identity.existing is None for identity in identities)
    if args.get("workload_identity", False) and not own:
        yield refused("stack.cluster_without_own_identity", f"{path}.workload_identity", True)
    serving = _serving_identity(foundation)
    yield from services.missing(
        spec.objects.services,
        f"{path}.services",
        identity=serving is not None and serving.existing is None and spec.pods_can_use_identity,
        storage=foundation.storage is not None,
        serving=foundation.serving_identity is not None,
    )


def _of_all(declared: Parts, section: str, attribute: str) -> Args:
    return {name: getattr(each, attribute) for name, each in declared[section].items()}


def _environment_of(job: Args, declared: Parts, location: str) -> Args:
    return declared["job_environment"][regions.normalise(job.get("location", location))].dependencies


def _images(_: Args, declared: Parts, _location: str) -> Args:
    return {"images": _of_all(declared, "gallery_images", "of_pool")}


def _of_pool(pool: BatchPoolSettings) -> Iterable[Workload]:
    return written(pool.get("containers", ContainersArgs())).get("workloads", [])


def _facts(section: str) -> dict[str, Any]:
    return vars(parts.BY_SECTION[section])


_WORK = {"expires_at": "expires_at", "hourly_cost": "hourly_cost"}
_IDLE = {**_WORK, "idle_cost": "idle_cost"}
KINDS = (
    Kind(
        **_facts("foundation"),
        resolve=_foundation,
        requests=requests.foundation,
        outputs={
            "resource_group": "resource_group_name",  # everything of the stack is in it
            "identity": "identity_id",
            "serving_identity": "serving_identity_id",
            "registry": "registry_id",
            "storage": "storage_account_id",
        },
    ),
    Kind(
        **_facts("budget"),
        resolve=_budget,
        requests=requests.budget,
        planned_last=True,  # it includes the machines of clusters
        outputs={"budget": "budget_id"},
    ),
    Kind(
        **_facts("container_groups"),
        resolve=lambda planning, name, args: planning.found(resolve_group(name, args, planning.context)),
        requests=requests.container_group,
        workloads=group_resolve.workloads,
        spec_name="group_name",
        outputs={"container_groups": "group_id", **_WORK},
    ),
    Kind(
        **_facts("job_environment"),
        resolve=_job_environment,
        requests=requests.job_environment,
        outputs={"job_environments": "environment_id"},
    ),
    Kind(
        **_facts("jobs"),
        resolve=_job,
        requests=requests.job,
        depends_on=_environment_of,
        workloads=lambda job: (job["workload"],) if "workload" in job else (),
        spec_name="job_name",
        outputs={"jobs": "job_id", **_WORK},
    ),
    Kind(
        **_facts("gallery_images"),
        resolve=lambda planning, name, args: planning.found(image_spec.resolve(name, args, planning.context)),
        requests=requests.gallery_image,
    ),
    Kind(
        **_facts("batch_account"),
        resolve=_batch_account,
        requests=requests.batch_account,
        outputs={"batch_account": "account_id"},
    ),
    Kind(
        **_facts("pools"),
        resolve=_pool,
        requests=requests.pool,
        depends_on=_images,
        workloads=_of_pool,
        spec_name="base_name",
        outputs={"pools": "pool_id", **_WORK},  # by a name which stays when a pool is replaced
    ),
    Kind(
        **_facts("clusters"),
        resolve=_cluster,
        requests=requests.cluster,
        workloads=gpu_objects_resolve.workloads,
        outputs={"clusters": "cluster_id", "gpu_pools": "gpu_pools", "namespaces": "namespace", **_IDLE},
    ),
    Kind(
        **_facts("edges"),
        resolve=_edge,
        requests=lambda _part, _spec: (),
        workloads=edge_resolve.workloads,
        outputs={"edges": "context", "namespaces": "namespace"},
    ),
    Kind(
        **_facts("vms"),
        resolve=lambda planning, name, args: planning.found(resolve_vm(name, args, planning.context, planning.images)),
        requests=requests.vm,
        depends_on=_images,
        spec_name="name",
        outputs={"vms": "vm_id", **_IDLE},
    ),
    Kind(
        **_facts("ml_workspace"),
        resolve=_ml_workspace,
        requests=requests.ml_workspace,
        depends_on=lambda _workspace, declared, _location: {
            section: _of_all(declared, section, "of_workspace") for section in ("clusters", "vms")
        },
        workloads=workspace_assets.workloads,
        outputs={"ml_workspace": "workspace_id"},
        mapped_outputs={"ml_computes": "computes", "ml_models": "models", "ml_environments": "environments", **_IDLE},
    ),
    Kind(
        **_facts("ml_endpoints"),
        resolve=_ml_endpoint,
        requests=requests.ml_endpoint,
        spec_name="name",
        outputs={"endpoints": "endpoint_id", "scoring_uris": "scoring_uri", **_IDLE},
    ),
)
BY_SECTION: Mapping[str, Kind] = {kind.section: kind for kind in KINDS}


def outputs(declared: Parts) -> dict[str, Any]:
    """Returns the outputs of a stack with these components: ARM ids and the like, null where there is no such part; where there
    may be several, by their names. `expires_at`: RFC 3339 instants, null: no end. Costs: USD an hour, null: not known."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        components = declared[kind.section]
        for output, attribute in kind.outputs.items():
            values = {name: getattr(part, attribute) for name, part in components.items()}
            found[output] = values.get(kind.name) if kind.name else {**found.get(output, {}), **values}
        for output, attribute in kind.mapped_outputs.items():
            found.setdefault(output, {}).update(*(getattr(part, attribute) for part in components.values()))
    return found
