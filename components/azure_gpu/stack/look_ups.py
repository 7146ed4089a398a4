"""Look-ups of a plan: existing parts in Azure, clusters that must respond, the workloads' folders.

Each look-up takes a spec and returns what it read, with problems. `stack.plan.plan` calls it once for each part, as a blocking
call of the provider, because the values must be known for validation and for what is declared. Components without a plan call the
same functions themselves.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from azure_gpu.aks import current_user, existing as cluster_existing, read_pools
from azure_gpu.aks.existing import ClusterFacts
from azure_gpu.aks.read_pools import InState
from azure_gpu.aks.spec import ClusterSpec
from azure_gpu.batch.account import existing as account_existing
from azure_gpu.batch.account.args import AccountFacts
from azure_gpu.batch.account.spec import BatchAccountSpec
from azure_gpu.catalog.problems import Problem
from azure_gpu.container_apps.environment import existing as environment_existing
from azure_gpu.container_apps.environment.args import profile_name
from azure_gpu.container_apps.environment.spec import JobEnvironmentSpec
from azure_gpu.edge import resolve as edge_resolve
from azure_gpu.edge.spec import EdgeSharingSpec
from azure_gpu.foundation import existing as foundation_existing
from azure_gpu.foundation.existing import FoundationLookup
from azure_gpu.foundation.spec import FoundationSpec
from azure_gpu.ml.endpoint import drift as endpoint_drift
from azure_gpu.ml.endpoint.spec import MlEndpointSpec
from azure_gpu.ml.workspace import existing as workspace_existing
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec
from azure_gpu.shared import own_state
from azure_gpu.stack import keep
from azure_gpu.stack.keep import KeptPart


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUps:
    """One look-up for each kind of part."""

    foundation: Callable[[FoundationSpec], tuple[FoundationLookup, list[Problem]]]
    environment: Callable[[JobEnvironmentSpec], tuple[dict[str, str], list[Problem]]]  # workload profiles by GPU
    account: Callable[[BatchAccountSpec], tuple[AccountFacts, list[Problem]]]
    cluster: Callable[[ClusterSpec], tuple[ClusterFacts, list[Problem]]]
    pools: Callable[[Sequence[str]], Mapping[str, InState]]  # of clusters that the stack has, by their names
    runner: Callable[[str, ClusterSpec, ClusterFacts], tuple[ClusterFacts, list[Problem]]]  # with its administrators
    edge: Callable[[EdgeSharingSpec], list[Problem]]  # problems of a cluster that doesn't respond
    workspace: Callable[[MlWorkspaceSpec], tuple[MlWorkspaceSpec, list[Problem]]]
    endpoints: Callable[[Mapping[str, MlEndpointSpec]], tuple[dict[str, MlEndpointSpec], list[Problem]]]
    deployed: Callable[
        [Collection[tuple[str, str]]], Collection[tuple[str, str]]
    ]  # those of types with logical names in the state
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
    deployed=own_state.deployed,
    kept=keep.look_up,
)
# For a plan without Azure: existing parts are assumed to be as the settings expect.
ASSUMED = LookUps(
    foundation=lambda _: (FoundationLookup(image_tags={}), []),
    environment=lambda spec: ({gpu: profile_name(gpu) for gpu in spec.declared}, []),
    account=lambda spec: (spec.assumed, []),
    cluster=lambda _: (ClusterFacts(), []),
    pools=lambda _: {},
    runner=lambda _name, _spec, facts: (facts, []),
    edge=lambda _: [],
    workspace=lambda spec: (spec, []),
    endpoints=lambda specs: (dict(specs), []),
    deployed=lambda _: frozenset(),
    kept=lambda parts, _project, _stack: (list(parts), []),
)
