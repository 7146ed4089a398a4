"""Resolves the arguments of a workspace: every default filled in, and every problem found. Pure."""

from collections.abc import Mapping

from azure_gpu.catalog import names, regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.ml.workspace import assets as workspace_assets, computes as workspace_computes, rules as workspace_rules
from azure_gpu.ml.workspace.args import (
    DEFAULT_RETENTION_DAYS,
    Firewall,
    KeyVaultArgs,
    ManagedNetwork,
    MlWorkspaceSettings,
    Network,
)
from azure_gpu.ml.workspace.attached import OfWorkspace
from azure_gpu.ml.workspace.computes import ComputeSpec
from azure_gpu.ml.workspace.spec import PATH, KeyVault, MlWorkspaceSpec
from azure_gpu.shared import existing
from azure_gpu.shared.attachable import ClusterOfWorkspace, VmOfWorkspace
from azure_gpu.shared.context import Context, check_tags, resolve_day
from azure_gpu.shared.part import PartArgs, resolve_part


def resolve(
    args: MlWorkspaceSettings,
    context: Context,
    clusters: Mapping[str, ClusterOfWorkspace],
    vms: Mapping[str, VmOfWorkspace],
) -> tuple[MlWorkspaceSpec, list[Problem]]:
    """What is declared, and what is wrong with the arguments. Pure: nothing that exists is looked up, no file is read."""
    as_of, problems = resolve_day(args.get("as_of"), f"{PATH}.as_of")
    day = as_of or context.day
    found, id_problems = _existing(args, context)
    location = regions.normalise(args.get("location", context.location))
    location_path = f"{PATH}.location" if "location" in args else "location"
    tags = {**context.tags(as_of), **args.get("tags", {})}
    network = Network(args.get("network", Network.PUBLIC))
    managed = ManagedNetwork(args.get("managed_network", ManagedNetwork.NONE))
    reached_privately = found is not None or network is Network.PRIVATE or "private_endpoint" in args
    of = OfWorkspace(
        path=PATH,
        location=location,
        location_path=location_path,
        managed_network=managed is not ManagedNetwork.NONE,
        reached_privately=reached_privately,
        tags=tags,
        clusters=clusters,
        vms=vms,
        # The first of them; any other is refused.
        extension_said_by={
            said["cluster"]: name
            for name, said in reversed(args.get("computes", {}).items())
            if "cluster" in said and "extension" in said
        },
    )
    computes: dict[str, ComputeSpec] = {}
    compute_problems: list[Problem] = []
    for name, said in args.get("computes", {}).items():
        spec, more = workspace_computes.resolve(name, said, of, day)
        compute_problems += more
        if spec is not None:
            computes[name] = spec
    assets, asset_problems = workspace_assets.resolve(args, PATH)
    vault, vault_problems = _key_vault(args.get("key_vault", KeyVaultArgs(create=True)), context)
    insights, insights_problems = _part(
        args.get("insights", PartArgs(create=True)), azure_types.INSIGHTS_COMPONENT, context, f"{PATH}.insights"
    )
    whole = MlWorkspaceSpec(
        context=context,
        name=found.name if found else args.get("workspace_name", ""),
        existing=found,
        location=location,
        location_path=location_path,
        network=network,
        reached_privately=reached_privately,
        managed_network=managed,
        outbound_rules=dict(args.get("outbound_rules", {})),
        firewall=Firewall(args.get("firewall", Firewall.BASIC)),
        key_vault=vault,
        insights=insights,
        high_business_impact=args.get("high_business_impact", False),
        friendly_name=args.get("friendly_name", ""),
        description=args.get("description", ""),
        computes=computes,
        assets=assets,
        tags=tags,
        day=day,
    )
    problems += [*id_problems, *vault_problems, *insights_problems]
    if "location" in args:
        problems += regions.check(args["location"], location_path)
    if "workspace_name" in args:
        problems += names.check(azure_types.ML_WORKSPACE.arm_type, args["workspace_name"], f"{PATH}.workspace_name")
    problems += [*workspace_rules.problems_of(args, PATH), *check_tags(args.get("tags", {}), f"{PATH}.tags")]
    return whole, [*problems, *compute_problems, *asset_problems]


def _existing(args: MlWorkspaceSettings, context: Context) -> tuple[ArmId | None, list[Problem]]:
    if "existing" not in args:
        if args.get("create", True):
            return None, []
        return None, resolve_part(PartArgs(create=False), azure_types.ML_WORKSPACE, "", context, PATH)[1]
    given = PartArgs(existing=args["existing"])
    if "create" in args:
        given["create"] = args["create"]
    part, problems = resolve_part(given, azure_types.ML_WORKSPACE, "", context, PATH)
    return part.existing, problems


def _key_vault(said: KeyVaultArgs, context: Context) -> tuple[KeyVault, list[Problem]]:
    found, problems = _part(said, azure_types.KEY_VAULT, context, f"{PATH}.key_vault")
    vault = KeyVault(
        existing=found,
        purge_protection=said.get("purge_protection", True),
        retention_days=int(said.get("retention_days", DEFAULT_RETENTION_DAYS)),
    )
    return vault, problems


def _part(said: PartArgs, azure_type: AzureType, context: Context, path: str) -> tuple[ArmId | None, list[Problem]]:
    """The existing one that a part names. What is said besides is enough to create it."""
    if "existing" not in said or said.get("create", False):
        given = PartArgs(create=said.get("create", True))
        if "existing" in said:
            given["existing"] = said["existing"]
        return None, resolve_part(given, azure_type, "", context, path)[1]
    return existing.resolve_id(said["existing"], azure_type, context.subscription_id, f"{path}.existing")
