"""Computes of an Azure Machine Learning workspace: their defaults and their validation.

The service's own rules are in `catalog.services.machine_learning`; attached computes are resolved in `ml.workspace.attached`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from azure_gpu.catalog import lifecycle, names, offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import HourlyCost, Machines, of_machines
from azure_gpu.catalog.problems import Code, Problem
from azure_gpu.catalog.services.machine_learning import compute
from azure_gpu.catalog.services.machine_learning.compute import DEDICATED, LOW_PRIORITY, ClusterRequest
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import resolve_end
from azure_gpu.ml.workspace import attached as workspace_attached
from azure_gpu.ml.workspace.args import DEFAULT_IDLE_MINUTES, DEFAULT_MAX_NODES, DEFAULT_MIN_NODES, ComputeArgs, Replace
from azure_gpu.ml.workspace.attached import KubernetesSpec, MachineSpec, WorkspaceContext
from azure_gpu.ml.workspace.immutable import HASH_LENGTH, LONGEST_NAME, LONGEST_SIDE_BY_SIDE, compute_name, default_replace
from azure_gpu.shared.context import Tags, check_tags

_KINDS = ("size", "cluster", "vm")
_OF_ALL = frozenset({"description", "overrides", "tags"})
_OF_KIND = {
    "size": frozenset(
        {
            "size",
            "min_nodes",
            "max_nodes",
            "idle_minutes",
            "spot",
            "subnet_id",
            "public_addresses",
            "replace",
            "expires_after",
        }
    ),
    "cluster": frozenset({"cluster", "namespace", "instance_types", "default_instance_type", "extension"}),
    "vm": frozenset({"vm", "private_key"}),
}
MOST_IDLE_MINUTES = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesSpec:
    """Machines of the workspace."""

    name: str  # in the stack file
    path: str
    size: str  # as the catalog spells it
    min_nodes: int
    max_nodes: int
    idle_minutes: int
    priority: str
    public_addresses: bool
    replace: Replace
    description: str
    tags: Tags
    expires_at: str | None
    use: SizeUse
    cost: HourlyCost  # with the maximum number of machines
    idle_cost: HourlyCost  # with the minimum number of machines

    @property
    def kept(self) -> dict[str, object]:
        """Properties that the service can't change, by the paths of `ml.workspace.immutable`; the subnet is wired."""
        return {
            "vmSize": self.size.lower(),
            "vmPriority": self.priority if self.priority != DEDICATED else "",
            "without public addresses": not self.public_addresses,
        }

    def azure_name(self, subnet_id: str) -> str:
        """Its name in the workspace."""
        return compute_name(self.name, self.replace, self.kept, subnet_id)

    @property
    def hourly_cost(self) -> float | None:
        return self.cost.number

    @property
    def idle_hourly_cost(self) -> float | None:
        return self.idle_cost.number


ComputeSpec: TypeAlias = MachinesSpec | KubernetesSpec | MachineSpec


def resolve(name: str, settings: ComputeArgs, workspace: WorkspaceContext, day: date) -> tuple[ComputeSpec | None, list[Problem]]:
    """Resolves the compute that the stack file calls `name`, with its problems; None without exactly one kind."""
    path = f"{workspace.path}.computes.{name}"
    kinds = [kind for kind in _KINDS if kind in settings]
    if len(kinds) != 1:
        return None, [
            Problem(
                path=path,
                message="exactly one of `size`, `cluster` and `vm` is required",
                value=", ".join(kinds) or None,
                allowed=f"exactly one of {', '.join(_KINDS)}",
                fix="keep one of them" if kinds else "set `size: Standard_NC4as_T4_v3`, `cluster: <name>` or `vm: <name>`",
            )
        ]
    [kind] = kinds
    problems = [*_keys_of_other_kinds(settings, kind, path), *check_tags(settings.get("tags", {}), f"{path}.tags")]
    resolved: tuple[ComputeSpec, list[Problem]]
    if kind == "size":
        resolved = _machines(name, settings, workspace, path, day)
    elif kind == "cluster":
        resolved = workspace_attached.resolve_cluster(name, settings, workspace, path, day)
    else:
        resolved = workspace_attached.resolve_machine(name, settings, workspace, path, day)
    return resolved[0], [*problems, *resolved[1]]


def _keys_of_other_kinds(settings: ComputeArgs, kind: str, path: str) -> Iterator[Problem]:
    for key in settings:
        if key not in _OF_KIND[kind] | _OF_ALL:
            [of] = [other for other, keys in _OF_KIND.items() if key in keys]
            yield Problem(
                path=f"{path}.{key}",
                message=f"not supported for a compute with `{kind}`",
                allowed=f"only with `{of}`",
                fix="remove it",
            )


def _machines(
    name: str, settings: ComputeArgs, workspace: WorkspaceContext, path: str, day: date
) -> tuple[MachinesSpec, list[Problem]]:
    size_name = settings.get("size", "")
    size = SIZES.find(size_name)
    least, most = int(settings.get("min_nodes", DEFAULT_MIN_NODES)), int(settings.get("max_nodes", DEFAULT_MAX_NODES))
    spot = settings.get("spot", False)
    end, problems = resolve_end(settings.get("expires_after"), day, f"{path}.expires_after", "a cluster", "of GPU machines")
    use = SizeUse(
        service=Service.ML_COMPUTE,
        size=size_name,
        region=workspace.location,
        path=f"{path}.size",
        region_path=workspace.location_path,
        nodes=max(most, 0),
        spot=spot,
    )
    written = size.name if size is not None else size_name
    spec = MachinesSpec(
        name=name,
        path=path,
        size=written,
        min_nodes=least,
        max_nodes=most,
        idle_minutes=int(settings.get("idle_minutes", DEFAULT_IDLE_MINUTES)),
        priority=LOW_PRIORITY if spot else DEDICATED,
        public_addresses=settings.get(
            "public_addresses", not (workspace.managed_network or ("subnet_id" in settings and workspace.reached_privately))
        ),
        replace=settings.get("replace", default_replace(name)),
        description=settings.get("description", ""),
        tags={**workspace.tags, **settings.get("tags", {}), **end.tags},
        expires_at=end.at,
        use=use,
        cost=of_machines([Machines(size_name, most, spot)], workspace.location, packaged()),
        idle_cost=of_machines([Machines(size_name, least, spot)], workspace.location, packaged()),
    )
    request = ClusterRequest(
        minimum_path=f"{path}.min_nodes",
        maximum_path=f"{path}.max_nodes",
        priority_path=f"{path}.spot",
        minimum_nodes=least,
        maximum_nodes=most,
        priority=spec.priority,
    )
    of_cluster = (
        _of_spot(each, path) for each in lifecycle.through(lambda on: compute.cluster_problems(request, on), day, end.last)
    )
    problems += [
        *of_cluster,
        *offers.check(use, day, prices=packaged(), until=end.last),
        *_names(spec),
        *_placement_problems(settings, spec, workspace),
    ]
    return spec, problems


def _of_spot(problem: Problem, path: str) -> Problem:
    """A problem of the priority, with the stack file's value."""
    if problem.path != f"{path}.spot":
        return problem
    return problem._replace(value=True)


def _names(spec: MachinesSpec) -> Iterator[Problem]:
    if spec.replace == "side-by-side" and LONGEST_SIDE_BY_SIDE < len(spec.name) <= LONGEST_NAME:
        yield Problem(
            path=f"{spec.path}.replace",
            message=f"{spec.replace} adds {LONGEST_NAME - LONGEST_SIDE_BY_SIDE} characters to the compute's name, "
            f"which has at most {LONGEST_NAME}",
            value=spec.name,
            allowed=f"a name of at most {LONGEST_SIDE_BY_SIDE} characters",
            fix="shorten the name, or set `replace: drain-first`",
        )
        return
    behind = f"-x{'0' * HASH_LENGTH}" if spec.replace == "side-by-side" else ""
    for problem in names.check(azure_types.ML_COMPUTE.arm_type, spec.name + behind, spec.path):
        yield problem._replace(value=spec.name, fix=problem.fix.replace(behind, "") if behind else problem.fix)


def _placement_problems(settings: ComputeArgs, spec: MachinesSpec, workspace: WorkspaceContext) -> Iterator[Problem]:
    if not 1 <= spec.idle_minutes <= MOST_IDLE_MINUTES:
        yield Problem(
            path=f"{spec.path}.idle_minutes",
            message="idle time is out of range",
            value=spec.idle_minutes,
            allowed=f"1 to {MOST_IDLE_MINUTES}",
            fix=f"write {DEFAULT_IDLE_MINUTES}",
        )
    if workspace.managed_network and "subnet_id" in settings:
        yield Problem(
            path=f"{spec.path}.subnet_id",
            message="can't be combined with the workspace's managed network, which its machines are in",
            allowed="only without `managed_network`",
            fix="remove one of the two",
            source=str(compute.MANAGED_NETWORK),
            code=Code.IMPOSSIBLE,
        )
    if not spec.public_addresses and not workspace.managed_network and "subnet_id" not in settings:
        yield Problem(
            path=f"{spec.path}.public_addresses",
            message="`public_addresses: false` requires a managed network, or `subnet_id` of a subnet with outbound access",
            value=False,
            allowed="with managed_network of the workspace, or with subnet_id",
            fix="set `managed_network: internet_outbound` for the workspace, or remove it",
            source=str(compute.NO_PUBLIC_ADDRESS),
            code=Code.IMPOSSIBLE,
        )
    elif not spec.public_addresses and not workspace.managed_network and not workspace.reached_privately:
        yield Problem(
            path=f"{spec.path}.public_addresses",
            message="`public_addresses: false` requires a private endpoint of the workspace, which has none",
            value=False,
            allowed="with private_endpoint or managed_network of the workspace",
            fix="set `private_endpoint: {subnet_id: <id>}` for the workspace, or remove it",
            source=str(compute.IN_A_NETWORK),
            code=Code.IMPOSSIBLE,
        )
