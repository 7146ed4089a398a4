"""The composition root: builds what runs behind the resources, and the kinds with the backends that each uses.

It imports every part of the embedded Azure; only the server, the coverage page and tests import it.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, cast

from localazure import kinds as all_kinds
from localazure.apps.executions import Executions
from localazure.arm.kind import Kind
from localazure.batch.pools import Pools
from localazure.batch.work import Work
from localazure.blobs.service import Blobs
from localazure.containers.runtime import Runtime
from localazure.folder import LocalFolder
from localazure.kinds.managed_cluster_pools import AksRuntime
from localazure.kinds.stored import without_class
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
    """Every resource type that is served: the classes of `localazure.kinds`, and all others of the table of types."""
    given = {each.type: getattr(backends, each.name) for each in fields(backends)}
    given[AksRuntime] = AksRuntime(backends.clusters, backends.cluster_pools)
    active: list[Kind] = []
    for made in _classes():
        needed = inspect.signature(made, eval_str=True).parameters.values()  # by its types
        active.append(made(*(given[each.annotation] for each in needed)))
    return (*active, *without_class(tuple(active)))


def _classes() -> Iterator[Callable[..., Kind]]:
    """Those of one type, each in the module that makes it."""
    for found in pkgutil.iter_modules(all_kinds.__path__, f"{all_kinds.__name__}."):
        module = importlib.import_module(found.name)
        for each in vars(module).values():
            own = isinstance(each, type) and issubclass(each, Kind) and each.__module__ == module.__name__
            if own and "azure_type" in vars(each):
                yield each


def without_backends() -> tuple[Kind, ...]:
    """Every resource type, to read what it serves. Methods that use a backend fail."""
    return kinds(Backends(**{each.name: cast(Any, None) for each in fields(Backends)}))
