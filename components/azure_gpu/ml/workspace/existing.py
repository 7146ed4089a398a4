"""Reads what a workspace requires before it is declared: existing Azure resources, which are never changed, and conda files."""

from __future__ import annotations

from dataclasses import replace

import pulumi
from pulumi_azure_native import applicationinsights, keyvault, machinelearningservices as ml

from azure_gpu.catalog import regions
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.ml.dependencies import WorkspaceOfEndpoint
from azure_gpu.ml.workspace import assets as workspace_assets
from azure_gpu.ml.workspace.spec import MlWorkspaceSpec
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
    for key, get, azure_type, part in (
        ("key_vault", keyvault.get_vault, azure_types.KEY_VAULT, spec.vault),
        ("insights", applicationinsights.get_component, azure_types.INSIGHTS_COMPONENT, spec.insights),
    ):
        if part is not None:
            at = f"{spec.path}.{key}.existing"
            problems += existing.get(get, azure_type, part, at, asked_by, spec.context.subscription_id)[1]
    return spec, problems


def _workspace(spec: MlWorkspaceSpec, workspace: ArmId, asked_by: AskedBy) -> tuple[MlWorkspaceSpec, list[Problem]]:
    path, own, here = f"{spec.path}.existing", spec.context.subscription_id, spec.location
    found, problems = existing.get(ml.get_workspace, azure_types.ML_WORKSPACE, workspace, path, asked_by, own)
    if found is None:
        return spec, problems
    there = found.location
    if there is not None and regions.normalise(there) != here:
        region = regions.normalise(there)
        problems.append(
            refused("workspace.elsewhere", path, workspace.text, there=there, here=here, section=spec.path, region=region)
        )
    if found.v1_legacy_mode:
        problems.append(refused("workspace.v1_legacy", path, workspace.text))
    managed = _BY_ISOLATION.get(_isolation(found), "none")
    network = "private" if found.public_network_access == "Disabled" else "public"
    # pyrefly: ignore[bad-argument-type]
    return replace(spec, network=network, managed_network=managed, uses=_uses(found)), problems


def _isolation(found: ml.GetWorkspaceResult) -> str:
    return (found.managed_network.isolation_mode if found.managed_network is not None else None) or ISOLATION["none"]


def _uses(found: ml.GetWorkspaceResult) -> frozenset[str]:
    return frozenset(each.rpartition("/")[2].lower() for each in (found.container_registry, found.storage_account) if each)


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
        offered["managed_network"] = _isolation(found) != ISOLATION["none"]
    return offered, problems
