"""Reads a deployed endpoint from Azure and compares it with the declared one.

The state has an endpoint as it was created, since a template makes every later change, and Pulumi doesn't compare a template's
effect with Azure. So changes made outside of Pulumi are found here, and the template is sent again. Each endpoint takes one
request; a stack without endpoints reads nothing.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pulumi_azure_native import machinelearningservices as ml

from azure_gpu.catalog.problems import Problem
from azure_gpu.formats import arm_ids, azure_types
from azure_gpu.formats.arm_ids import ArmId
from azure_gpu.ml.endpoint import stopping
from azure_gpu.ml.endpoint.spec import ActualEndpoint, MlEndpointSpec
from azure_gpu.shared import existing, own_state
from azure_gpu.shared.look_up import OF_STACK, AskedBy
from azure_gpu.shared.own_state import OwnResource

COMPONENT = "azuregpu:index:MlEndpoint"
AT_CREATION = "auth_mode_at_creation"  # the component's output
_IDS = ("endpoint_id", "resource_id")  # the component's output, and its name in states of 0.1.0
_COMPARED = ("authMode", "publicNetworkAccess", "description")


def look_up(
    specs: Mapping[str, MlEndpointSpec], asked_by: AskedBy = OF_STACK, *, of_stack_file: bool = True
) -> tuple[dict[str, MlEndpointSpec], list[Problem]]:
    """The specs of endpoints, by the names of their components, with their state in Azure; stopped ones have no deployments."""
    state = own_state.resources(of_stack_file=of_stack_file) if specs else None
    found: dict[str, MlEndpointSpec] = {}
    problems: list[Problem] = []
    for name, spec in specs.items():
        known = own_state.named(state or {}, COMPONENT, name)
        id_ = arm_ids.parse(str(next((known[each] for each in _IDS if known.get(each)), "")))
        if id_ is None:
            found[name] = spec
            continue
        actual, more = existing.find(
            lambda opts, id_=id_: _read(id_, opts),
            azure_types.ML_ONLINE_ENDPOINT,
            id_.name,
            spec.path,
            AskedBy(opts=asked_by.at(id_, spec.context.subscription_id)),
        )
        problems += more
        found[name] = replace(spec, actual=actual, auth_mode_at_creation=_at_creation(name, known, state or {}))
        instant = stopping.since(id_.text, found[name], stopping.requested(os.environ))
        if instant:
            found[name] = stopping.stopped(found[name], instant)
            problems.append(stopping.warning(name, found[name]))
    return found, problems


def _read(endpoint: ArmId, opts: Any) -> ActualEndpoint:
    answer = ml.get_online_endpoint(
        endpoint_name=endpoint.name,
        workspace_name=endpoint.scope.rsplit("/", 1)[-1],
        resource_group_name=endpoint.resource_group,
        opts=opts,
    )
    properties, identity = answer.properties, answer.identity
    compared = {
        "authMode": properties.auth_mode,
        "publicNetworkAccess": properties.public_network_access,
        "description": properties.description,
    }
    return ActualEndpoint(
        traffic=_without_zero(properties.traffic),
        mirror=_without_zero(properties.mirror_traffic),
        tags=dict(answer.tags or {}),
        properties={name: value for name, value in compared.items() if value},
        compute=(properties.compute or "").rsplit("/", 1)[-1],
        identity_type=(identity.type if identity else "") or "",
        identities=tuple(id_.rsplit("/", 1)[-1] for id_ in (identity.user_assigned_identities if identity else None) or {}),
        changed_at=answer.system_data.last_modified_at or "",
    )


def _at_creation(name: str, component: Mapping[str, Any], state: Mapping[str, OwnResource]) -> str:
    """The endpoint's auth mode at its creation. States without this output have it at the endpoint, which was replaced for
    another auth mode."""
    if component.get(AT_CREATION):
        return str(component[AT_CREATION])
    endpoint = own_state.named(state, azure_types.ML_ONLINE_ENDPOINT.token, f"{name}-endpoint")
    properties: Mapping[str, Any] = endpoint.get("properties") or {}
    return str(properties.get("authMode") or "")


def differences(
    actual: ActualEndpoint | None, body: Mapping[str, Any], traffic: Mapping[str, int], mirror: Mapping[str, int]
) -> str:
    """A text of all differences, with the time of the last change; empty without any. `body`: location, tags, identity and
    properties as declared, of which values that are unknown before an update aren't compared. Tags and properties that aren't
    declared, such as a policy's, are ignored."""
    if actual is None:
        return ""
    found: list[str] = []
    for name, shares, declared_shares in (("traffic", actual.traffic, traffic), ("mirrorTraffic", actual.mirror, mirror)):
        if shares != _without_zero(declared_shares):
            found.append(f"{name} is {_text(shares)}")
    declared: Mapping[str, Any] = body.get("properties") or {}  # overrides may have removed anything
    for name in _COMPARED:
        if _differs(declared.get(name), actual.properties.get(name)):
            found.append(f"{name} is {actual.properties.get(name) or 'not set'}")
    tags: Mapping[str, Any] = body.get("tags") or {}
    for name, value in sorted(tags.items()):
        if _differs(value, actual.tags.get(name)):
            found.append(f"tag {name} is {actual.tags.get(name, 'not set')}")
    return f"{'; '.join(found)} (since {actual.changed_at})" if found else ""


def needs_replacement(spec: MlEndpointSpec, *, system_assigned: bool, identity_name: str) -> bool:
    """Whether compute or identity changed, which needs a new endpoint. `identity_name`: of the stack's, with or without its
    resource group; an unknown one counts as unchanged."""
    actual = spec.actual
    if actual is None:
        return False
    if actual.compute.lower() != spec.compute.lower():
        return True
    if system_assigned or not identity_name:
        return system_assigned and "systemassigned" not in actual.identity_type.lower()
    return identity_name.rsplit("/", 1)[-1].lower() not in {each.lower() for each in actual.identities}


def _differs(declared: Any, actual: str | None) -> bool:
    return isinstance(declared, str) and declared.lower() != (actual or "").lower()


def _without_zero(shares: Mapping[str, Any] | None) -> dict[str, int]:
    """Leaves out shares of 0, which Azure may leave out too."""
    return {name: int(share) for name, share in (shares or {}).items() if share}


def _text(shares: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {share}" for name, share in sorted(shares.items())) or "nothing"
