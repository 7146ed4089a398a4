"""Creates the resources that a stack refers to by id, with the minimum that their services require.

They are created over ARM, as by any other client, with their resource groups and parents. An identity stands for each person of
the directory.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from azure_gpu.formats import azure_types
from azure_gpu.formats.arm_ids import ArmId, parse
from localazure.arm.kind import merged
from localazure.shapes import default_api_version
from localazure.subscriptions import SUBSCRIPTION

Ask = Callable[[str, str, Any], tuple[int, dict[str, Any]]]  # method, path with its query, body; status and answer

# The embedded Azure takes the id of one of these without looking for it.
NOT_SERVED = ("Microsoft.Compute/snapshots", "Microsoft.Insights/actionGroups")
GROUPS_VERSION = "2024-03-01"
_ELSEWHERE = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/elsewhere/providers"
_PEOPLE = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/people/providers/Microsoft.ManagedIdentity/userAssignedIdentities"
_GATEWAY = f"{_ELSEWHERE}/Microsoft.Network/natGateways/out"
_TYPES = {each.arm_type.lower(): each for each in azure_types.ALL}
_REQUIRED: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("referenced.toml").read_text(encoding="utf-8"))
_GLOBAL = (azure_types.PRIVATE_ZONE, azure_types.PRIVATE_LINK_SCOPE)
# What a subnet has, by the section that names it: a group reaches the internet only by its subnet's NAT gateway.
_SUBNETS: dict[str, dict[str, Any]] = {
    "container_groups": {
        "delegations": [{"name": "groups", "properties": {"serviceName": "Microsoft.ContainerInstance/containerGroups"}}],
        "natGateway": {"id": _GATEWAY},
    }
}


class Expected(NamedTuple):
    """A resource that a stack refers to."""

    id: ArmId
    section: str  # of the stack file that names it
    location: str


class Placed(NamedTuple):
    """What was created."""

    principals: dict[str, str]  # of each person: the object id of the identity that stands for them
    left_out: dict[str, str]  # ids that couldn't be created, with the reason


def around(of: ArmId) -> list[ArmId]:
    """A resource group, what lies in it, and so on, up to the resource itself."""
    parent = None if of.is_type(azure_types.RESOURCE_GROUP.arm_type) else parse(of.scope)
    return [*(around(parent) if parent else ()), of]


def identity_of(person: str) -> ArmId:
    """The identity that stands in the place of somebody in the directory."""
    found = parse(f"{_PEOPLE}/{person}")
    assert found is not None
    return found


def body_of(each: ArmId, expected: Expected, decided: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], str] | None:
    """What a PUT sends, and its api-version; None for what isn't made. `decided`: properties that its owner chose."""
    azure_type = _TYPES.get(each.type.lower())
    if azure_type is None or any(each.is_type(one) for one in NOT_SERVED):
        return None
    placed = (
        {}
        if azure_type in (azure_types.SUBNET, azure_types.KEY_VAULT_KEY)
        else {"location": "global" if azure_type in _GLOBAL else expected.location}
    )
    body = merged(placed, _REQUIRED.get(azure_type.arm_type, {}))
    body = merged(body, {"properties": dict(decided)}) if decided else body
    if azure_type is azure_types.SUBNET:
        body = merged(body, {"properties": _SUBNETS.get(expected.section, {})})
    return body, GROUPS_VERSION if azure_type is azure_types.RESOURCE_GROUP else default_api_version(azure_type)


def place(ask: Ask, resources: Iterable[Expected], people: Iterable[str], location: str) -> Placed:
    """Makes them, and an identity in the place of each of the people. What is there already stays as it is."""
    made: set[str] = set()
    placed = Placed({}, {})
    for expected in resources:
        for each in around(expected.id):
            if each.key not in made:
                made.add(each.key)
                _make(ask, each, expected, placed)
    for person in people:
        identity = identity_of(person)
        for each in around(identity):
            if each.key not in made:
                made.add(each.key)
                _make(ask, each, Expected(identity, "", location), placed)
        _, answer = ask("GET", f"{identity.text}?api-version={default_api_version(azure_types.USER_ASSIGNED_IDENTITY)}", None)
        principal = (answer.get("properties") or {}).get("principalId")
        if principal:
            placed.principals[person] = str(principal)
    return placed


def _make(ask: Ask, each: ArmId, expected: Expected, placed: Placed) -> None:
    requested = body_of(each, expected)
    if requested is None:
        return
    body, version = requested
    path = f"{each.text}?api-version={version}"
    status, _ = ask("GET", path, None)
    if status < 400:
        return
    status, answer = ask("PUT", path, body)
    if status >= 400:
        error = answer.get("error") or {}
        placed.left_out[each.text] = f"{error.get('code')}: {error.get('message')}"
