"""Resolves the arguments of a workspace: fills in all defaults and finds all problems. Pure."""

from collections.abc import Mapping

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.dates import resolve_day
from azure_gpu.ml.workspace import assets as workspace_assets, computes as workspace_computes, rules as workspace_rules
from azure_gpu.ml.workspace.args import DEFAULT_RETENTION_DAYS, KeyVaultArgs, MlWorkspaceSettings
from azure_gpu.ml.workspace.attached import WorkspaceContext
from azure_gpu.ml.workspace.computes import ComputeSpec
from azure_gpu.ml.workspace.spec import PATH, KeyVault, MlWorkspaceSpec
from azure_gpu.shared import existing
from azure_gpu.shared.attachable import ClusterOfWorkspace, VmOfWorkspace
from azure_gpu.shared.context import Context, check_region, check_tags, known
from azure_gpu.shared.part import PartArgs, not_changed, resolve_part
from azure_gpu.shared.validation import written


def resolve(
    args: MlWorkspaceSettings,
    context: Context,
    clusters: Mapping[str, ClusterOfWorkspace],
    vms: Mapping[str, VmOfWorkspace],
) -> tuple[MlWorkspaceSpec, list[Problem]]:
    """Resolves the workspace, with its problems. Pure: existing resources aren't looked up and no file is read."""
    path = context.path(PATH)
    as_of, problems = resolve_day(args.get("as_of"), f"{path}.as_of")
    day = as_of or context.day
    found, id_problems = _existing(args, context)
    location = context.region(args.get("location"))
    location_path = f"{path}.location" if "location" in args else context.own_path("location")
    tags = {**context.tags(as_of), **args.get("tags", {})}
    network = args.get("network", "public")
    managed = args.get("managed_network", "none")
    reached_privately = found is not None or network == "private" or "private_endpoint" in args
    workspace = WorkspaceContext(
        path=path,
        location=location,
        location_path=location_path,
        managed_network=managed != "none",
        reached_privately=reached_privately,
        tags=tags,
        clusters=clusters,
        vms=vms,
        # The first of them; any other is rejected.
        extension_owner={
            str(settings["cluster"]): name
            for name, settings in reversed(list(args.get("computes", {}).items()))
            if "cluster" in settings and "extension" in settings
        },
    )
    computes: dict[str, ComputeSpec] = {}
    compute_problems: list[Problem] = []
    for name, settings in args.get("computes", {}).items():
        spec, more = workspace_computes.resolve(name, settings, workspace, day)
        compute_problems += more
        if spec is not None:
            computes[name] = spec
    assets, asset_problems = workspace_assets.resolve(args, path)
    vault, vault_problems = _key_vault(written(args.get("key_vault", KeyVaultArgs(create=True))), context)
    insights, insights_problems = _part(
        # pyrefly: ignore[bad-specialization]
        written(args.get("insights", PartArgs(create=True))),
        azure_types.INSIGHTS_COMPONENT,
        context,
        f"{path}.insights",
    )
    whole = MlWorkspaceSpec(
        context=context,
        name=found.name if found else known(args.get("workspace_name")) or "",
        existing=found,
        location=location,
        location_path=location_path,
        network=network,
        reached_privately=reached_privately,
        managed_network=managed,
        outbound_rules=dict(args.get("outbound_rules", {})),
        firewall=args.get("firewall", "basic"),
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
    problems += check_region(args.get("location"), location_path)
    workspace_name = known(args.get("workspace_name"))
    if workspace_name is not None:
        problems += names.check(azure_types.ML_WORKSPACE.arm_type, workspace_name, f"{path}.workspace_name")
    problems += [*workspace_rules.problems_of(args, path), *check_tags(args.get("tags", {}), f"{path}.tags")]
    return whole, [*problems, *compute_problems, *asset_problems]


def _existing(args: MlWorkspaceSettings, context: Context) -> tuple[ArmId | None, list[Problem]]:
    if "existing" not in args:
        if args.get("create", True):
            return None, []
        return None, resolve_part(PartArgs(create=False), azure_types.ML_WORKSPACE, "", context, context.path(PATH))[1]
    given = PartArgs(existing=args["existing"])
    if "create" in args:
        given["create"] = args["create"]
    part, problems = resolve_part(given, azure_types.ML_WORKSPACE, "", context, context.path(PATH))
    return part.existing, [*problems, *not_changed(args, context.path(PATH))]


def _key_vault(settings: KeyVaultArgs, context: Context) -> tuple[KeyVault, list[Problem]]:
    found, problems = _part(settings, azure_types.KEY_VAULT, context, f"{context.path(PATH)}.key_vault")
    vault = KeyVault(
        existing=found,
        purge_protection=settings.get("purge_protection", True),
        retention_days=int(settings.get("retention_days", DEFAULT_RETENTION_DAYS)),
    )
    return vault, problems


def _part(settings: PartArgs, azure_type: AzureType, context: Context, path: str) -> tuple[ArmId | None, list[Problem]]:
    """The existing resource of a part. Any other setting creates one."""
    if "existing" not in settings or settings.get("create", False):
        given = PartArgs(create=settings.get("create", True))
        if "existing" in settings:
            given["existing"] = settings["existing"]
        return None, resolve_part(given, azure_type, "", context, path)[1]
    found, problems = existing.resolve_id(settings["existing"], azure_type, context.subscription_id, f"{path}.existing")
    return found, [*problems, *not_changed(settings, path)]
