"""Resolves the arguments of a workspace: fills in all defaults and finds all problems. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from azure_gpu.catalog import names
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.azure_types import AzureType
from azure_gpu.formats.dates import resolve_day
from azure_gpu.ml.workspace import assets as workspace_assets, computes as workspace_computes, rules as workspace_rules
from azure_gpu.ml.workspace.args import KeyVaultArgs, MlWorkspaceSettings
from azure_gpu.ml.workspace.attached import Attached
from azure_gpu.ml.workspace.spec import PATH, ComputeSpec, MlWorkspaceSpec
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
    assets, asset_problems = workspace_assets.resolve(args, path)
    key_vault = written(args.get("key_vault", KeyVaultArgs(create=True)))
    vault, vault_problems = _part(key_vault, azure_types.KEY_VAULT, context, f"{path}.key_vault")
    insights, insights_problems = _part(
        # pyrefly: ignore[bad-specialization]
        written(args.get("insights", PartArgs(create=True))),
        azure_types.INSIGHTS_COMPONENT,
        context,
        f"{path}.insights",
    )
    name = known(args.get("workspace_name"))
    spec = MlWorkspaceSpec(
        context=context,
        settings=args,
        name=found.name if found else name or "",
        existing=found,
        location=context.region(args.get("location")),
        network=args.get("network", "public"),
        managed_network=args.get("managed_network", "none"),
        outbound_rules=dict(args.get("outbound_rules", {})),
        vault=vault,
        insights=insights,
        assets=assets,
        tags={**context.tags(as_of), **args.get("tags", {})},
        day=day,
    )
    computes: dict[str, ComputeSpec] = {}
    compute_problems: list[Problem] = []
    for key, settings in args.get("computes", {}).items():
        compute, more = workspace_computes.resolve(key, settings, spec, Attached(clusters, vms), day)
        compute_problems += more
        if compute is not None:
            computes[key] = compute
    problems += [*id_problems, *vault_problems, *insights_problems, *check_region(args.get("location"), spec.location_path)]
    if name is not None:
        problems += names.check(azure_types.ML_WORKSPACE.arm_type, name, f"{path}.workspace_name")
    problems += [*workspace_rules.problems_of(args, path), *check_tags(args.get("tags", {}), f"{path}.tags")]
    return replace(spec, computes=computes), [*problems, *compute_problems, *asset_problems]


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


def _part(settings: PartArgs, azure_type: AzureType, context: Context, path: str) -> tuple[ArmId | None, list[Problem]]:
    """The existing resource of a part. Any other setting creates one."""
    if "existing" not in settings or settings.get("create", False):
        given = PartArgs(create=settings.get("create", True))
        if "existing" in settings:
            given["existing"] = settings["existing"]
        return None, resolve_part(given, azure_type, "", context, path)[1]
    found, problems = existing.resolve_id(settings["existing"], azure_type, context.subscription_id, f"{path}.existing")
    return found, [*problems, *not_changed(settings, path)]
