"""What a plan reads beside the settings: existing parts in Azure, clusters that have to answer, the workloads' folders.

Each look-up takes what was resolved, and returns what was read and the problems of it. Each is called once for each part of a
plan, only by `stack.plan.plan`, as a plain call of the provider that blocks: what it reads decides or is checked, and so has to
be known.
Components that are used without a plan call the same functions themselves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from azure_gpu.aks import current_user, existing as cluster_existing, read_pools
from azure_gpu.aks.existing import ClusterFacts
from azure_gpu.aks.read_pools import InState
from azure_gpu.aks.spec import GpuClusterSpec
from azure_gpu.batch.account import existing as account_existing
from azure_gpu.batch.account.spec import AccountFacts, BatchAccountSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_apps.environment import existing as environment_existing
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec
from azure_gpu.edge import resolve as edge_resolve
from azure_gpu.edge.spec import EdgeSharingSpec
from azure_gpu.foundation import existing as foundation_existing
from azure_gpu.foundation.existing import Found
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.ml.endpoint import drift as endpoint_drift
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.ml.workspace import existing as workspace_existing
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec
from azure_gpu.stack import ended, keep
from azure_gpu.stack.keep import KeptPart


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUps:
    """One function for each part that may have to be read."""

    foundation: Callable[[FoundationSpec], tuple[Found, list[Problem]]]
    environment: Callable[[JobEnvironmentSpec], tuple[dict[str, str], list[Problem]]]  # workload profiles by GPU
    account: Callable[[BatchAccountSpec], tuple[AccountFacts, list[Problem]]]
    cluster: Callable[[GpuClusterSpec], tuple[ClusterFacts, list[Problem]]]
    pools: Callable[[Sequence[str]], Mapping[str, InState]]  # of clusters that the stack has, by their names
    runner: Callable[[str, GpuClusterSpec, ClusterFacts], tuple[str, list[Problem]]]  # the default administrator in the state
    edge: Callable[[EdgeSharingSpec], list[Problem]]  # a cluster that doesn't answer
    workspace: Callable[[MlWorkspaceSpec], tuple[MlWorkspaceSpec, list[Problem]]]
    endpoints: Callable[[Mapping[str, MlEndpointSpec]], tuple[dict[str, MlEndpointSpec], list[Problem]]]
    standing: Callable[[Sequence[str]], frozenset[str]]  # parts that the stack has, of those whose last day has passed
    kept: Callable[[Sequence[KeptPart], str, str], tuple[list[KeptPart], list[Problem]]]  # with project and stack


BY_PROVIDER = LookUps(
    foundation=foundation_existing.look_up,
    environment=environment_existing.look_up,
    account=account_existing.look_up,
    cluster=cluster_existing.look_up,
    pools=read_pools.look_up,
    runner=current_user.look_up,
    edge=edge_resolve.unanswered,
    workspace=workspace_existing.look_up,
    endpoints=endpoint_drift.look_up,
    standing=ended.standing,
    kept=keep.look_up,
)
# For a plan without Azure: what exists is taken to be as the settings expect it.
ASSUMED = LookUps(
    foundation=lambda _: (Found(image_tags={}), []),
    environment=lambda spec: ({gpu.value: gpu.profile_name for gpu in spec.declared}, []),
    account=lambda spec: (spec.assumed, []),
    cluster=lambda _: (ClusterFacts(), []),
    pools=lambda _: {},
    runner=lambda _name, _spec, _facts: ("", []),
    edge=lambda _: [],
    workspace=lambda spec: (spec, []),
    endpoints=lambda specs: (dict(specs), []),
    standing=lambda _: frozenset(),
    kept=lambda parts, _project, _stack: (list(parts), []),
)
