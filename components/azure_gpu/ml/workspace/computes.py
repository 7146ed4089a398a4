"""Computes of an Azure Machine Learning workspace: their defaults and their validation.

The service's own rules are in `catalog.services.machine_learning`; attached computes are resolved in `ml.workspace.attached`.
"""

from collections.abc import Iterator
from datetime import date

from azure_gpu.catalog import names, offers
from azure_gpu.catalog.prices import packaged
from azure_gpu.catalog.prices.hourly_cost import Machines, of_machines
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services.machine_learning import compute
from azure_gpu.catalog.services.machine_learning.compute import DEDICATED, LOW_PRIORITY
from azure_gpu.catalog.size_use import Service, SizeUse
from azure_gpu.catalog.sizes import SIZES
from azure_gpu.formats import azure_types
from azure_gpu.formats.dates import resolve_end
from azure_gpu.ml.workspace.args import DEFAULT_IDLE_MINUTES, DEFAULT_MAX_NODES, DEFAULT_MIN_NODES, ComputeArgs
from azure_gpu.ml.workspace.attached import Attached, machine_problems, resolve_cluster
from azure_gpu.ml.workspace.immutable import HASH_LENGTH, LONGEST_NAME, LONGEST_SIDE_BY_SIDE, default_replace
from azure_gpu.ml.workspace.spec import ComputeSpec, MachinesSpec, MlWorkspaceSpec
from azure_gpu.shared.context import check_tags

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


def resolve(
    name: str, settings: ComputeArgs, workspace: MlWorkspaceSpec, there: Attached, day: date
) -> tuple[ComputeSpec | None, list[Problem]]:
    """Resolves the compute that the stack file calls `name`, with its problems; None without exactly one kind. `there`: the
    clusters and machines that can be attached."""
    path = f"{workspace.path}.computes.{name}"
    kinds = [kind for kind in _OF_KIND if kind in settings]
    if len(kinds) != 1:
        fix = "keep one of them" if kinds else "set `size: Standard_NC4as_T4_v3`, `cluster: <name>` or `vm: <name>`"
        return None, [refused("workspace.kinds_of_compute", path, ", ".join(kinds) or None, fix=fix)]
    [kind] = kinds
    spec = ComputeSpec(name=name, path=path, settings=settings, tags={**workspace.tags, **settings.get("tags", {})})
    problems = [*_keys_of_other_kinds(settings, kind, path), *check_tags(settings.get("tags", {}), f"{path}.tags")]
    if kind == "size":
        machines, of_machines = _machines(spec, workspace, day)
        return machines, [*problems, *of_machines]
    problems += names.check(azure_types.ML_COMPUTE.arm_type, name, path)
    if kind == "cluster":
        cluster, of_cluster = resolve_cluster(spec, there.clusters, workspace, day)
        return cluster, [*problems, *of_cluster]
    return spec, [*problems, *machine_problems(spec, there.vms, day)]


def _keys_of_other_kinds(settings: ComputeArgs, kind: str, path: str) -> Iterator[Problem]:
    for key in settings:
        if key not in _OF_KIND[kind] | _OF_ALL:
            [of] = [other for other, keys in _OF_KIND.items() if key in keys]
            yield refused("workspace.key_of_other_compute", f"{path}.{key}", kind=kind, of=of)


def _machines(of: ComputeSpec, workspace: MlWorkspaceSpec, day: date) -> tuple[MachinesSpec, list[Problem]]:
    settings, path, size_name = of.settings, of.path, of.settings.get("size", "")
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
    without_addresses = workspace.in_managed_network or ("subnet_id" in settings and workspace.reached_privately)
    spec = MachinesSpec(
        name=of.name,
        path=path,
        settings=settings,
        tags={**of.tags, **end.tags},
        size=size.name if size is not None else size_name,
        min_nodes=least,
        max_nodes=most,
        idle_minutes=int(settings.get("idle_minutes", DEFAULT_IDLE_MINUTES)),
        priority=LOW_PRIORITY if spot else DEDICATED,
        public_addresses=settings.get("public_addresses", not without_addresses),
        replace=settings.get("replace", default_replace(of.name)),
        expires_at=end.at,
        use=use,
        cost=of_machines([Machines(size_name, most, spot)], workspace.location, packaged()),
        idle_cost=of_machines([Machines(size_name, least, spot)], workspace.location, packaged()),
    )
    problems += compute.scale_problems(least, most, path)
    if spot:
        problems += compute.spot_problems(f"{path}.spot", day)
    problems += offers.check(use, day, prices=packaged(), until=end.last)
    return spec, [*problems, *_names(spec), *_placement_problems(spec, workspace)]


def _names(spec: MachinesSpec) -> Iterator[Problem]:
    if spec.replace == "side-by-side" and LONGEST_SIDE_BY_SIDE < len(spec.name) <= LONGEST_NAME:
        yield refused(
            "workspace.name_without_hash",
            f"{spec.path}.replace",
            spec.name,
            replace=spec.replace,
            more=LONGEST_NAME - LONGEST_SIDE_BY_SIDE,
            longest=LONGEST_NAME,
            most=LONGEST_SIDE_BY_SIDE,
        )
        return
    behind = f"-x{'0' * HASH_LENGTH}" if spec.replace == "side-by-side" else ""
    for problem in names.check(azure_types.ML_COMPUTE.arm_type, spec.name + behind, spec.path):
        yield problem._replace(value=spec.name, fix=problem.fix.replace(behind, "") if behind else problem.fix)


def _placement_problems(spec: MachinesSpec, workspace: MlWorkspaceSpec) -> Iterator[Problem]:
    in_subnet, path = "subnet_id" in spec.settings, f"{spec.path}.public_addresses"
    if not 1 <= spec.idle_minutes <= MOST_IDLE_MINUTES:
        most, usual = MOST_IDLE_MINUTES, DEFAULT_IDLE_MINUTES
        yield refused("workspace.idle_minutes", f"{spec.path}.idle_minutes", spec.idle_minutes, most=most, usual=usual)
    if workspace.in_managed_network and in_subnet:
        yield refused("workspace.subnet_in_managed_network", f"{spec.path}.subnet_id")
    if spec.public_addresses or workspace.in_managed_network:
        return
    if not in_subnet:
        yield refused("workspace.no_outbound_access", path, False)
    elif not workspace.reached_privately:
        yield refused("workspace.machines_not_reached", path, False)
