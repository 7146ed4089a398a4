"""Reads what a workspace requires before it is declared: existing Azure resources, which are never changed, and conda files."""

from __future__ import annotations

from dataclasses import replace

import pulumi
from pulumi_azure_native import applicationinsights, keyvault, machinelearningservices as ml

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.ml.dependencies import WorkspaceOfEndpoint
from azure_gpu.ml.workspace import assets as workspace_assets
from azure_gpu.ml.workspace.spec import PATH, MlWorkspaceSpec
from azure_gpu.shared import existing
from azure_gpu.shared.context import known
from azure_gpu.shared.look_up import OF_STACK, AskedBy, told

# As Azure spells them.
ISOLATION = {
    "none": "Disabled",
    "internet_outbound": "AllowInternetOutbound",
    "approved_outbound": "AllowOnlyApprovedOutbound",
}
_BY_ISOLATION = {azures: ours for ours, azures in ISOLATION.items()}


def look_up(spec: MlWorkspaceSpec, asked_by: AskedBy = OF_STACK) -> tuple[MlWorkspaceSpec, list[Problem]]:
    """The spec with what was read, and the problems found."""
    environments, problems = workspace_assets.read_conda(spec.assets.environments)
    spec = replace(spec, assets=replace(spec.assets, environments=environments))
    if spec.existing is not None:
        found, more = _workspace(spec, spec.existing, asked_by)
        return found, [*problems, *more]
    path, own = spec.context.path(PATH), spec.context.subscription_id
    vault, insights = spec.key_vault.existing, spec.insights
    if vault is not None:
        of_vault = f"{path}.key_vault.existing"
        problems += existing.get(keyvault.get_vault, azure_types.KEY_VAULT, vault, of_vault, asked_by, own)[1]
    if insights is not None:
        get, of_insights = applicationinsights.get_component, f"{path}.insights.existing"
        problems += existing.get(get, azure_types.INSIGHTS_COMPONENT, insights, of_insights, asked_by, own)[1]
    return spec, problems


def _workspace(spec: MlWorkspaceSpec, workspace: ArmId, asked_by: AskedBy) -> tuple[MlWorkspaceSpec, list[Problem]]:
    path = f"{spec.context.path(PATH)}.existing"
    own = spec.context.subscription_id
    found, problems = existing.get(ml.get_workspace, azure_types.ML_WORKSPACE, workspace, path, asked_by, own)
    if found is None:
        return spec, problems
    if found.location is not None and regions.normalise(found.location) != spec.location:
        problems.append(_elsewhere(spec, workspace, found.location, path))
    if found.v1_legacy_mode:
        problems.append(
            Problem(
                path=path,
                message="the workspace is in v1 legacy mode, which doesn't have today's endpoints",
                value=workspace.text,
                allowed="a workspace whose v1LegacyMode is false",
                fix="have its owner run: az ml workspace update --v1-legacy-mode false, or create one",
            )
        )
    managed = found.managed_network.isolation_mode if found.managed_network is not None else None
    return (
        replace(
            spec,
            network="private" if found.public_network_access == "Disabled" else "public",
            # pyrefly: ignore[bad-argument-type]
            managed_network=_BY_ISOLATION.get(managed or "", "none"),
            uses=_uses(found),
        ),
        problems,
    )


def _uses(found: ml.GetWorkspaceResult) -> frozenset[str]:
    return frozenset(each.rpartition("/")[2].lower() for each in (found.container_registry, found.storage_account) if each)


def _elsewhere(spec: MlWorkspaceSpec, workspace: ArmId, location: str, path: str) -> Problem:
    return Problem(
        path=path,
        message=f"the workspace is in {location}, but its computes would be in {spec.location}",
        value=workspace.text,
        allowed="a workspace in the region of its computes",
        fix=f"set {spec.context.path(PATH)}.location: {regions.normalise(location)}, or name a workspace in {spec.location}",
    )


def of_id(given: pulumi.Input[str], path: str, asked_by: AskedBy, own: str) -> tuple[WorkspaceOfEndpoint, list[Problem]]:
    """A workspace given by its id, for a program's endpoint. If the id is an output, it isn't read, and is treated as public and
    without computes."""
    parts = existing.parts(given)
    offered = WorkspaceOfEndpoint(
        name=parts.apply(lambda each: each.name),
        id=given,
        resource_group_name=parts.apply(lambda each: each.resource_group),
        location="",
        existing=True,
        public=True,
        reached_privately=False,
        managed_network=False,
        computes={},
        models={},
        environments={},
        code={},
    )
    text = known(given)
    if text is None:
        found = told(
            ml.get_workspace_output(
                resource_group_name=offered["resource_group_name"], workspace_name=offered["name"], opts=asked_by.opts
            )
        )
        offered["located"] = found.location.apply(lambda location: location or "")
        return offered, []
    problems = existing.check_id(text, azure_types.ML_WORKSPACE, path)
    parsed = arm_ids.parse(text)
    if problems or parsed is None:
        return offered, problems
    found, problems = existing.get(ml.get_workspace, azure_types.ML_WORKSPACE, parsed, path, asked_by, own)
    offered["provider"] = asked_by.provider_at(parsed, own) if not problems else None
    if found is not None:
        offered["location"] = regions.normalise(found.location or "")
        offered["uses"] = _uses(found)
        offered["public"] = found.public_network_access != "Disabled"
        offered["reached_privately"] = bool(found.private_endpoint_connections)
        offered["managed_network"] = (
            found.managed_network is not None and found.managed_network.isolation_mode != ISOLATION["none"]
        )
    return offered, problems
