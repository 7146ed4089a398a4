"""Look-ups of a foundation: existing parts, role assignments, and the hashes of the workloads' sources."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pulumi

from azure_gpu.catalog import roles
from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.formats import arm_ids
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.formats.build_context import BuildContextError
from azure_gpu.foundation.spec import PARTS, PATH, UPLOAD, FoundationSpec, RoleOn
from azure_gpu.shared import (
    arm_reads,
    assigned_already,
    customer_key,
    existing,
    private_link_scope,
    private_network,
    sdk_types,
    workloads,
)
from azure_gpu.shared.customer_key import KeyFacts
from azure_gpu.shared.look_up import OF_STACK, AskedBy
from azure_gpu.shared.part import Part
from azure_gpu.shared.principals import Principal
from azure_gpu.shared.workloads import Workload

if TYPE_CHECKING:
    from pulumi_azure_native import containerregistry, managedidentity, operationalinsights


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundationLookup:
    """Results of the look-ups: Azure's data of the existing parts, None where there is none, and the hashes of the sources."""

    image_tags: dict[Workload, str]  # the hash of each workload's sources
    identity: "managedidentity.GetUserAssignedIdentityResult | None" = None
    serving_identity: "managedidentity.GetUserAssignedIdentityResult | None" = None
    registry: "containerregistry.GetRegistryResult | None" = None
    log_workspace: "operationalinsights.GetWorkspaceResult | None" = None
    key: KeyFacts | None = None  # of the key that encrypts data
    pull_role: str = roles.ACR_PULL  # allows pulling from the registry
    assigned: frozenset[str] = frozenset()  # the roles that are assigned outside of the stack, by their ends


def look_up(spec: FoundationSpec, asked_by: AskedBy = OF_STACK) -> tuple[FoundationLookup, list[Problem]]:
    """Looks up the existing parts and the hashes of the workloads' sources, with a problem for each missing one."""
    own, path, parts, problems = spec.context.subscription_id, spec.context.path(PATH), dict[str, Any](), list[Problem]()
    for name, (azure_type, _) in PARTS.items():
        part: Part | None = getattr(spec, name)
        if part is not None and part.existing is not None and (name != "resource_group" or spec.group_is_within):
            get, at = sdk_types.look_up(azure_type.token), f"{path}.{name}.existing"
            parts[name], more = existing.get(get, azure_type, part.existing, at, asked_by, own)
            problems += more
    of_path = f"{path}.customer_managed_key"
    key, of_key = customer_key.look_up(spec.key, of_path, asked_by, own, assigns_roles=spec.assign_roles)
    tags, of_tags = _image_tags(spec)
    found = FoundationLookup(
        image_tags=tags,
        key=key,
        identity=parts.get("identity"),
        serving_identity=parts.get("serving_identity"),
        registry=parts.get("registry"),
        log_workspace=parts.get("log_workspace"),
    )
    of_network = private_network.look_up(spec.network, f"{path}.network", asked_by)
    of_scope = private_link_scope.look_up(spec.link_scope, asked_by, own)
    return _with_roles(found, spec, asked_by), [*problems, *of_network, *of_scope, *of_key, *of_tags]


def _with_roles(found: FoundationLookup, spec: FoundationSpec, asked_by: AskedBy) -> FoundationLookup:
    """Adds which roles are assigned already: of existing identities on existing parts. People may also have theirs on an account
    of the stack, assigned by hand before the stack file listed them."""
    own = spec.context.subscription_id
    if spec.registry is not None and spec.registry.existing is not None and found.registry is not None:
        found = replace(found, pull_role=_pull_role(spec.registry.existing, asked_by, own))

    def is_assigned(each: RoleOn) -> bool:
        scope, of_stack_file = arm_ids.parse(each.scope), spec.context.component is None
        if isinstance(each.who, Principal):
            principal_id = each.who.object_id
        else:
            identity = found.identity if each.who is spec.identity else found.serving_identity
            principal_id = identity.principal_id if identity is not None and each.part.existing is not None else ""
        return (
            scope is not None
            and bool(principal_id)
            and assigned_already.outside_of_stack(each.role, scope, principal_id, asked_by, own, of_stack_file=of_stack_file)
        )

    required = spec.assignments(found.pull_role) if spec.assign_roles else ()
    return replace(found, assigned=frozenset(each.end for each in required if is_assigned(each)))


def _pull_role(registry: ArmId, asked_by: AskedBy, own: str) -> str:
    """Returns the GUID of the role that allows pulling from a registry; AcrPull where its mode can't be read."""
    if not asked_by.as_configured:
        return roles.ACR_PULL  # the component has its own provider, whose login isn't known here
    try:
        found = arm_reads.get(registry.text, roles.REGISTRY_MODE_API, asked_by.at(registry, own))
    except arm_reads.UnreadableError as error:
        pulumi.log.debug(f"the mode of {registry.text} can't be read, AcrPull is assumed: {error}")
        return roles.ACR_PULL
    mode = (found.get("properties") or {}).get(roles.REGISTRY_MODE)
    return roles.REPOSITORY_READER if mode == roles.ABAC else roles.ACR_PULL


def _image_tags(spec: FoundationSpec) -> tuple[dict[Workload, str], list[Problem]]:
    tags: dict[Workload, str] = {}
    problems: list[Problem] = []
    if missing := [each for each in spec.workloads if spec.uploads and not workloads.context(each).is_dir()]:
        path = spec.context.own_path("image_source")
        return tags, [refused("foundation.sources_missing", path, UPLOAD, names=", ".join(missing))]
    for workload in spec.workloads:
        try:
            tags[workload] = workloads.tag(workload)
        except BuildContextError as error:
            problems.append(refused("foundation.unbuildable", workloads.source(workload), error=error))
    return tags, problems
