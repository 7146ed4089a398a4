"""The Azure Monitor private link scope of a stack, by which its network reaches log workspace and Application Insights.

The foundation declares it with its endpoint, or uses an existing one, such as a hub's; other components add what they create by
`link`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NotRequired

import pulumi
from pulumi_azure_native import monitor

from azure_gpu.catalog.problems import Problem
from azure_gpu.catalog.refusals import refused
from azure_gpu.catalog.services import private_link_scopes
from azure_gpu.catalog.services.private_networks import BLOB_ZONE, ENDPOINTS, MONITOR_ZONES
from azure_gpu.formats import azure_types
from azure_gpu.shared import existing, private_network
from azure_gpu.shared.context import Context, LinkScope, PrivateNetwork, after
from azure_gpu.shared.look_up import AskedBy
from azure_gpu.shared.part import Part, PartArgs, resolve_part
from azure_gpu.shared.private_network import PrivateNetworkSpec, Surroundings
from azure_gpu.shared.validation import Choice

Access = Annotated[Literal["open", "private_only"], Choice("LinkScopeAccess", "What is reached by a private link scope.")]


class PrivateLinkScopeArgs(PartArgs):
    """A private link scope of Azure Monitor. `create` is short for all defaults."""

    access: NotRequired[Access]
    """Plain: what is reached by the names of Azure Monitor in a network with the scope. open: also what isn't in the scope, where
    it takes public requests; private_only: of queries and of Application Insights only what is in it, in every network that asks
    the same zones. Not with `existing`. Default: open, since logs of others would be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkScopeSpec:
    """The resolved arguments."""

    part: Part
    access: Access
    path: str


def resolve(
    args: PrivateLinkScopeArgs, context: Context, path: str, network: PrivateNetworkSpec | None, workspace: Part | None
) -> tuple[LinkScopeSpec, list[Problem]]:
    """Resolves and validates the arguments. Pure. `workspace`: the log workspace."""
    part, problems = resolve_part(args, azure_types.PRIVATE_LINK_SCOPE, "", context, path)
    spec = LinkScopeSpec(part=part, access=args.get("access", "open"), path=path)
    if workspace is not None and workspace.existing:
        problems.append(refused("link_scope.existing_workspace", path, dict(args)))
    if "access" in args and "existing" in args:
        problems.append(refused("link_scope.access_of_existing", f"{path}.access", args["access"]))
    if network is None:
        problems.append(refused("link_scope.without_network", path))
    elif part.existing is None:
        problems += _of_new(spec, network)
    return spec, problems


def _of_new(spec: LinkScopeSpec, network: PrivateNetworkSpec) -> list[Problem]:
    if network.existing and ENDPOINTS not in network.existing:
        return [private_network.no_subnet(spec.path, ENDPOINTS)]
    if network.by_policy:
        why = "a new scope beside dns: policy, which registers its names in zones of the company"
    elif any(zone in network.existing_zones for zone in MONITOR_ZONES):
        why = "a new scope in zones that exist"
    elif network.existing:
        why = "a new scope in a network that exists, which can have one"
    else:
        return []
    return [private_link_scopes.shared_names(spec.path, why)]


def look_up(spec: LinkScopeSpec | None, asked_by: AskedBy, own: str) -> list[Problem]:
    """Reads an existing scope. `own`: the subscription of the component."""
    if spec is None or spec.part.existing is None:
        return []
    path = f"{spec.path}.existing"
    get, azure_type = monitor.get_private_link_scope, azure_types.PRIVATE_LINK_SCOPE
    found, problems = existing.get(get, azure_type, spec.part.existing, path, asked_by, own)
    if found is None:
        return problems
    states = [each.private_link_service_connection_state for each in found.private_endpoint_connections or ()]
    approved = sum(each.status == "Approved" for each in states)
    return private_link_scopes.check_existing(approved, path)


def declare(
    spec: LinkScopeSpec,
    workspace_id: pulumi.Output[str],
    at: Surroundings,
    of: PrivateNetwork,
    asked_by: AskedBy,
    context: Context,
    group: str,
) -> LinkScope:
    """Declares the scope with the log workspace in it, and its endpoint after that: an endpoint that is created while a resource
    is added fails. Source: Azure/bicep-registry-modules issue 3208 (2024-09-06). `group`: the name of the resource group."""
    name = context.name(azure_types.PRIVATE_LINK_SCOPED_RESOURCE.arm_type, "logs")
    if spec.part.existing is not None:
        found = spec.part.existing
        scope = LinkScope(
            id=found.text,
            name=found.name,
            resource_group_name=found.resource_group,
            known_id=found.text,
            subscription_id=found.subscription,
        )
        return _after(scope, [link(f"{at.name}-logs", name, scope, workspace_id, at, asked_by, context)])
    mode = private_link_scopes.ACCESS[spec.access]
    created = monitor.PrivateLinkScope(
        f"{at.name}-link-scope",
        scope_name=spec.part.name,
        resource_group_name=at.resource_group_name,
        location="global",
        access_mode_settings=monitor.AccessModeSettingsArgs(ingestion_access_mode=mode, query_access_mode=mode),
        tags=at.tags,
        opts=at.opts,
    )
    names = {"resourceGroupName": group, azure_types.PRIVATE_LINK_SCOPE.name_parameter: spec.part.name}
    scope = LinkScope(
        id=created.id,
        name=created.name,
        resource_group_name=at.resource_group_name,
        known_id=azure_types.PRIVATE_LINK_SCOPE.id_of(context.subscription_id, names),
    )
    linked = link(f"{at.name}-logs", name, scope, workspace_id, at, asked_by, context)
    target = private_network.Target(
        id=after(scope["id"], [linked]), group=private_link_scopes.GROUP, connection=private_link_scopes.GROUP
    )
    endpoint = context.name(azure_types.PRIVATE_ENDPOINT.arm_type, "monitor")
    settings = private_network.endpoint_keys(of, [*MONITOR_ZONES, BLOB_ZONE])
    return _after(scope, private_network.endpoint(f"{at.name}-monitor", endpoint, target, settings, at))


def link(
    prefix: str,
    name: str,
    scope: LinkScope,
    resource_id: pulumi.Output[str],
    at: Surroundings,
    asked_by: AskedBy,
    context: Context,
) -> "monitor.PrivateLinkScopedResource":
    """Adds a resource to the scope; Azure deletes neither of them before it is taken out. `prefix`: of the logical name; `name`:
    in Azure."""
    subscription = scope.get("subscription_id", context.subscription_id)
    elsewhere = subscription.lower() != context.subscription_id.lower()
    provider = asked_by.provider_of(subscription) if elsewhere else None
    return monitor.PrivateLinkScopedResource(
        f"{prefix}-link",
        name=name,
        scope_name=scope["name"],
        resource_group_name=scope["resource_group_name"],
        linked_resource_id=resource_id,
        opts=pulumi.ResourceOptions.merge(
            at.opts,
            # A resource that is replaced has to be taken out before.
            pulumi.ResourceOptions(provider=provider, replace_on_changes=["linkedResourceId"], delete_before_replace=True),
        ),
    )


def _after(scope: LinkScope, declared: Sequence[pulumi.Resource]) -> LinkScope:
    """Returns the scope, whose name is known once these are there: it takes one change at a time. Source:
    hashicorp/terraform-provider-azurerm issue 22236 (2023-06-21)."""
    return LinkScope({**scope, "name": after(scope["name"], declared)})
